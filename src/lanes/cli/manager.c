/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done with the manager as a whole. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"

static const struct option_spec waive_options[] = {
	OPTION_FORCE, OPTION_JSON, OPTION_SOCKET, OPTION_TIMEOUT, { 0 },
};

static const char how_to_recover[] =
	"to begin a recovery, stop fairleadd on the manager and start it as "
	"'fairleadd --role manager --recover': every identifier then counts as "
	"used until each node has registered, or was waived by name";

static void print_state(struct cli *cli, const json_t *status)
{
	long long epoch = output_number(status, "epoch");

	if (json_is_true(json_object_get(status, "recovering")))
		fprintf(cli->out, "recovering in epoch %lld; waiting for: %s\n",
			epoch, output_text(status, "awaited"));
	else if (json_is_true(json_object_get(status, "halted")))
		fprintf(cli->out,
			"halted in epoch %lld: a node has obeyed a manager "
			"with a higher epoch\n",
			epoch);
}

static void print_awaited(struct cli *cli, const json_t *answer)
{
	const char *awaited = output_text(answer, "awaited");

	if (json_is_false(json_object_get(answer, "was_recovering")))
		fprintf(cli->out, "no recovery is in progress\n");
	else if (*awaited)
		fprintf(cli->out, "still waiting for: %s\n", awaited);
	else
		fprintf(cli->out, "the recovery is complete\n");
}

/* Only a start begins a recovery. */
static int run_recover(struct cli *cli)
{
	json_auto_t *status = NULL;
	int code = remote_ask(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS, "status",
			      NULL, &status);

	if (code == EXIT_DONE)
		code = output_answer(cli, status, print_state);
	if (code == EXIT_DONE &&
	    json_is_true(json_object_get(status, "recovering")))
		return EXIT_DONE;
	if (code == EXIT_DONE) {
		code = EXIT_FAILED;
		if (!json_is_true(json_object_get(status, "halted")))
			cli_fail(cli, code,
				 "no recovery is in progress, and none is "
				 "needed");
	}
	cli_hint(cli, how_to_recover);
	return code;
}

static void print_changes(struct cli *cli, const json_t *answer)
{
	const char *changes = output_text(answer, "changes");

	fprintf(cli->out, "%s\n", *changes ? changes : "nothing has changed");
}

static const struct subcommand recover_command = {
	.name = "recover",
	.summary = "Show the progress of a recovery, or how to begin one",
	.details =
		"Needed after an old backup was restored, or the journal was "
		"lost. The manager then counts\nevery identifier as used until "
		"each configured node has reported what it holds.",
	.options = cli_options_ask,
	.run = run_recover,
};

static const struct subcommand waive_command = {
	.name = "waive",
	.summary = "Continue a recovery without these nodes",
	.arguments = "NODES",
	.details = "Only for nodes that hold nothing. More than 8 nodes and "
		   "5 % of all need --force.",
	.options = waive_options,
	.run = remote_run,
	.op = "recover-waive",
	.members = remote_node_members,
	.show = print_awaited,
};

static const struct subcommand reconfigure_command = {
	.name = "reconfigure",
	.summary = "Make the manager reread its configuration",
	.details = "All of it, or nothing after an error. Prints the changes, "
		   "and what needs a restart.",
	.options = cli_options_ask,
	.run = remote_run,
	.op = "reconfigure",
	.show = print_changes,
};

static const struct subcommand *const commands[] = {
	&recover_command,
	&waive_command,
	&reconfigure_command,
	NULL,
};

const struct subcommand command_manager = {
	.name = "manager",
	.summary = "Recover and reconfigure the manager",
	.commands = commands,
};
