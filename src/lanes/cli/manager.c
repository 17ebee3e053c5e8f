/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done with the manager as a whole. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/cli/config_path.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"

static const struct option_spec waive_options[] = {
	OPTION_FORCE, OPTION_JSON, OPTION_SOCKET, OPTION_TIMEOUT, { 0 },
};

static const struct option_spec recover_options[] = {
	{ .name = "waive",
	  .letter = 'w',
	  .value = "NODES",
	  .help = "continue without these nodes" },
	OPTION_FORCE,
	OPTION_JSON,
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

static const struct option_spec check_options[] = {
	OPTION_CONFIG,
	{ 0 },
};

static const char how_to_recover[] =
	"a recovery is begun by stopping fairleadd on the manager and starting "
	"it as 'fairleadd --role manager --recover': every identifier then "
	"counts as used until each node has registered, or was waived by name";

static void print_state(struct cli *cli, const json_t *status)
{
	bool is_halted = json_is_true(json_object_get(status, "halted"));
	bool is_recovering =
		json_is_true(json_object_get(status, "recovering"));
	char uptime[OUTPUT_DURATION_MAX];

	output_duration(output_real(status, "uptime_s"), uptime);
	fprintf(cli->out, "epoch %lld, version %s, up for %s: %s\n",
		(long long)output_number(status, "epoch"),
		output_text(status, "version"), uptime,
		is_halted       ? "halted, it has met a higher epoch"
		: is_recovering ? "recovering"
				: "at work");
	if (is_recovering)
		fprintf(cli->out, "awaited: %s\n",
			output_text(status, "awaited"));
	if (is_halted)
		cli_hint(cli, how_to_recover);
}

static int run_status(struct cli *cli)
{
	return remote_show(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS, "status",
			   NULL, print_state);
}

static void print_awaited(struct cli *cli, const json_t *answer)
{
	const char *awaited = output_text(answer, "awaited");

	fprintf(cli->out, "%s%s\n",
		*awaited ? "still awaited: " : "the recovery is complete",
		awaited);
}

static int waive(struct cli *cli, const char *nodes)
{
	return remote_show(
		cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS, "recover-waive",
		json_pack("{s:s, s:o*}", "nodes", nodes, "force",
			  cli_flag(cli, "force") ? json_true() : NULL),
		print_awaited);
}

static int run_waive(struct cli *cli)
{
	return waive(cli, cli_argument(cli, 0));
}

/* Only a start begins a recovery: see how far one is, or how it is begun. */
static int run_recover(struct cli *cli)
{
	json_auto_t *status = NULL;
	int code;

	if (cli_option(cli, "waive"))
		return waive(cli, cli_option(cli, "waive"));
	code = remote_ask(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS, "status",
			  NULL, &status);
	if (code == EXIT_DONE)
		code = output_answer(cli, status, print_state);
	if (code == EXIT_DONE &&
	    json_is_true(json_object_get(status, "recovering")))
		return EXIT_DONE;
	if (code == EXIT_DONE &&
	    !json_is_true(json_object_get(status, "halted")))
		code = cli_fail(cli, EXIT_FAILED,
				"no recovery is under way, and none is "
				"needed");
	else if (code == EXIT_DONE)
		return EXIT_FAILED;
	cli_hint(cli, how_to_recover);
	return code;
}

static void print_changes(struct cli *cli, const json_t *answer)
{
	const char *changes = output_text(answer, "changes");

	fprintf(cli->out, "%s\n", *changes ? changes : "nothing has changed");
}

static int run_reconfigure(struct cli *cli)
{
	return remote_show(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS,
			   "reconfigure", NULL, print_changes);
}

static int run_check(struct cli *cli)
{
	_auto_(config_destroyp) struct config *config = NULL;
	_auto_(freep) char *path = config_path(cli);
	_auto_(freep) char *errors = NULL;

	if (config_read(cli, CONFIG_ROLE_MANAGER, &config, &errors) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", errors);
	fprintf(cli->out, "%s is good\n", path);
	cli_hint(cli, "as root, 'fairleadd --check-config' tries the files "
		      "that it names too, and --check-journal the journal");
	return EXIT_DONE;
}

static const struct subcommand status_command = {
	.name = "status",
	.summary = "Show the manager's epoch, and whether it is recovering",
	.arguments = "",
	.options = cli_options_ask,
	.run = run_status,
};

static const struct subcommand recover_command = {
	.name = "recover",
	.summary = "Show the progress of a recovery, or how to begin one",
	.arguments = "",
	.details =
		"After an old backup was put back, or a journal was lost, "
		"nobody knows what is in use.\nA manager in recovery takes "
		"every identifier as used until each configured node has\n"
		"said what it holds. --waive is for nodes that will not come: "
		"whoever gives it says that\nthey hold nothing.",
	.options = recover_options,
	.run = run_recover,
};

static const struct subcommand waive_command = {
	.name = "waive",
	.summary = "Continue a recovery without these nodes",
	.arguments = "NODES",
	.details = "Whoever does this says that they hold nothing. More than 8 "
		   "nodes and 5 % of them\ntake a --force.",
	.options = waive_options,
	.arguments_min = 1,
	.arguments_max = 1,
	.run = run_waive,
};

static const struct subcommand reconfigure_command = {
	.name = "reconfigure",
	.summary = "Let the manager read its configuration again",
	.arguments = "",
	.details = "All of it, or, where there is an error, nothing. Prints "
		   "what has changed, and what\nwaits for a restart.",
	.options = cli_options_ask,
	.run = run_reconfigure,
};

static const struct subcommand check_command = {
	.name = "check",
	.summary = "Check a configuration file, without a daemon",
	.arguments = "",
	.details = "All errors are reported at once, each with its line.",
	.options = check_options,
	.run = run_check,
};

static const struct subcommand *const commands[] = {
	&status_command,      &recover_command, &waive_command,
	&reconfigure_command, &check_command,   NULL,
};

const struct subcommand command_manager = {
	.name = "manager",
	.summary = "Show, recover and reconfigure the manager",
	.arguments = "COMMAND",
	.commands = commands,
};
