/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is asked of this node's daemon around a job: prolog, epilog,
 * housekeeping; and clean.
 *
 * The job is named by whoever calls, never guessed from what a job manager
 * puts into a hook's environment: which attempt is meant, and whose, would be
 * a guess too. --timeout goes to the daemon, and we wait a little longer.
 */
#include <stdlib.h>

#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"
#include "lanes/cli/show.h"

enum hook_job {
	HOOK_JOB_NEEDED,
	HOOK_JOB_OPTIONAL,
	HOOK_JOB_OR_GRANT, /* of a prolog */
};

#define HOOK_DETAILS                                                     \
	"Asks the daemon of this node. JOB is SUBMITTER/JOB[/ATTEMPT]; " \
	"default: the environment\nvariable FAIRLEAD_JOB."

#define HOOK_OPTIONS                                                   \
	OPTION_DRY_RUN, OPTION_JSON, OPTION_SOCKET,                    \
	{                                                              \
		.name = "timeout", .letter = 't', .value = "SECONDS",  \
		.help = "how long to try (default: the daemon's time)" \
	}

#define GRACE_MS 5000  /* for the answer, after the daemon's time is up */
#define DRAIN_MS 60000 /* and, of housekeeping, for the node's drain */

static const struct option_spec hook_options[] = { HOOK_OPTIONS, { 0 } };

static int make_members(struct cli *cli, enum hook_job need,
			uint32_t timeout_ms, json_t **ret_members)
{
	const char *argument = cli_argument(cli, 0);
	bool is_grant = need == HOOK_JOB_OR_GRANT && argument &&
			remote_is_grant_text(argument);
	const char *job = NULL;
	uint64_t cores = 1;
	int code = cli_number(cli, "cores", 1, UINT16_MAX, &cores);

	if (code == EXIT_DONE && !is_grant &&
	    (need != HOOK_JOB_OPTIONAL || argument || getenv("FAIRLEAD_JOB")))
		code = remote_job(cli, argument, &job);
	if (code != EXIT_DONE)
		return code;
	*ret_members = json_pack("{s:s*, s:b}", "job", job, "dry_run",
				 cli_flag(cli, "dry-run"));
	if (is_grant)
		json_object_update_new(
			*ret_members, json_pack("{s:s, s:I}", "grant", argument,
						"cores", (json_int_t)cores));
	if (timeout_ms > 0)
		json_object_set_new(*ret_members, "timeout_ms",
				    json_integer(timeout_ms));
	return EXIT_DONE;
}

/* Call the op with the job and the options; with --json print the answer. */
static int ask(struct cli *cli, const char *op, enum hook_job job,
	       json_t **ret_answer)
{
	struct fairlead *handle;
	json_t *members = NULL;
	uint32_t timeout_ms = 0;
	int code = cli_timeout(cli, &timeout_ms);

	if (code == EXIT_DONE)
		code = make_members(cli, job, timeout_ms, &members);
	if (code != EXIT_DONE) {
		json_decref(members);
		return code;
	}
	code = remote_open(cli, REMOTE_NODE, REMOTE_TIMEOUT_NONE, &handle);
	if (code != EXIT_DONE) {
		json_decref(members);
		return code;
	}
	if (timeout_ms > 0)
		timeout_ms +=
			GRACE_MS + (job == HOOK_JOB_OPTIONAL ? DRAIN_MS : 0);
	fairlead_set_timeout(handle, timeout_ms);
	code = remote_call(cli, handle, op, members, ret_answer);
	fairlead_close(handle);
	if (code == EXIT_DONE && cli_flag(cli, "json"))
		code = output_json(cli, *ret_answer);
	return code;
}

static void show_warnings(struct cli *cli, const json_t *answer)
{
	const json_t *warning;
	size_t i;

	json_array_foreach (json_object_get(answer, "warnings"), i, warning)
		if (json_is_string(warning))
			output_lines(cli, "", json_string_value(warning));
}

/* What was taken back, and what is busy. */
static int run_teardown(struct cli *cli, const char *op, enum hook_job job)
{
	const char *verb =
		cli_flag(cli, "dry-run") ? "would revoke" : "revoked";
	json_auto_t *answer = NULL;
	int code = ask(cli, op, job, &answer);
	const json_t *grant_id;
	size_t i;

	show_warnings(cli, answer);
	if (cli_flag(cli, "json"))
		return code;
	json_array_foreach (json_object_get(answer, "revoked"), i, grant_id)
		fprintf(cli->out, "%s %lld\n", verb,
			(long long)json_integer_value(grant_id));
	show_busy(cli, answer);
	return code;
}

/* --- prolog --- */

static const struct option_spec prolog_options[] = {
	{ .name = "cores",
	  .letter = 'c',
	  .value = "COUNT",
	  .help = "cores on this node, for a dry run of a grant (default: 1)" },
	HOOK_OPTIONS,
	OPTION_NO_HEADER,
	{ 0 },
};

static int prolog_run(struct cli *cli)
{
	json_auto_t *answer = NULL;
	int code = ask(cli, "prolog", HOOK_JOB_OR_GRANT, &answer);

	if (code == EXIT_DONE)
		show_warnings(cli, answer);
	if (code == EXIT_DONE && !cli_flag(cli, "json"))
		show_grants(cli, answer);
	return code;
}

const struct subcommand command_prolog = {
	.name = "prolog",
	.summary = "Before a job's tasks: wait for its lane on this node",
	.arguments = "[JOB|GRANT]",
	.details = HOOK_DETAILS
	"\nGRANT is what 'fairlead reserve --grant' printed: with it nothing "
	"is "
	"waited for where\nthe job has no lane, and --dry-run shows the lane "
	"that is to come.",
	.options = prolog_options,
	.run = prolog_run,
};

/* --- epilog --- */

static int epilog_run(struct cli *cli)
{
	return run_teardown(cli, "epilog", HOOK_JOB_NEEDED);
}

const struct subcommand command_epilog = {
	.name = "epilog",
	.summary = "After a job's tasks: revoke its lane here, with short "
		   "retries",
	.arguments = "[JOB]",
	.details = HOOK_DETAILS
	"\nWhat is still in use is printed, and the exit code is 75: "
	"the daemon goes on trying,\nand 'fairlead housekeeping' "
	"waits for it.",
	.options = hook_options,
	.run = epilog_run,
};

/* --- housekeeping --- */

static int housekeeping_run(struct cli *cli)
{
	return run_teardown(cli, "housekeeping", HOOK_JOB_OPTIONAL);
}

const struct subcommand command_housekeeping = {
	.name = "housekeeping",
	.summary = "Revoke what an epilog left, with long retries",
	.arguments = "[JOB]",
	.details = HOOK_DETAILS
	"\nWithout a job it is everything that waits to be taken back. "
	"What is still in use at the\nend is printed, the node is "
	"drained, and the exit code is 75. It returns when the drain\nis in "
	"force (drain_command has succeeded), or after 60 more seconds.",
	.options = hook_options,
	.run = housekeeping_run,
};

/* --- clean --- */

static const struct option_spec clean_options[] = {
	{ .name = "all",
	  .letter = 'a',
	  .help = "also destroy what Fairlead did not make" },
	{ .name = "object",
	  .value = "DEVICE/ID",
	  .help = "destroy only this one, of no grant of this node" },
	{ .name = "force", .help = "with --all: lanes that jobs use, too" },
	OPTION_DRY_RUN,
	OPTION_JSON,
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

/* What was destroyed and is left is printed beside an error, too. */
static int clean_run(struct cli *cli)
{
	bool is_dry_run = cli_flag(cli, "dry-run");
	json_auto_t *answer = NULL;
	int code;

	if (cli_flag(cli, "all") && cli_option(cli, "object"))
		return cli_misuse(cli, "--all and --object exclude each other");
	if (cli_flag(cli, "force") && !cli_flag(cli, "all"))
		return cli_misuse(cli, "--force needs --all");
	code = remote_ask(cli, REMOTE_NODE, REMOTE_TIMEOUT_NONE, "clean",
			  json_pack("{s:b, s:o*, s:s*, s:b}", "all",
				    cli_flag(cli, "all"), "force",
				    cli_flag(cli, "force") ? json_true() : NULL,
				    "object", cli_option(cli, "object"),
				    "dry_run", is_dry_run),
			  &answer);
	if (cli_flag(cli, "json"))
		return code == EXIT_DONE ? output_json(cli, answer) : code;
	show_cleaned(cli, answer, is_dry_run);
	return code;
}

const struct subcommand command_clean = {
	.name = "clean",
	.summary = "Destroy what is left on this node's devices",
	.details =
		"Retries pending revokes. --all destroys everything on the "
		"devices but the system's own\nobjects. It refuses while jobs "
		"have lanes here; with --force they lose their network.\n"
		"--object destroys a single one, such as cxi0/3; first check "
		"that 'fairlead node list' at\nthe manager names no job for "
		"it. What cannot be destroyed is printed, and the exit\ncode "
		"is 75.",
	.options = clean_options,
	.run = clean_run,
};
