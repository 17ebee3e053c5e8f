/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was destroyed and what is left is printed also when the daemon's answer
 * is an error.
 */
#include "lanes/cli/remote.h"
#include "lanes/cli/show.h"

static const struct option_spec options[] = {
	{ .name = "all",
	  .letter = 'a',
	  .help = "also destroy what Fairlead did not make" },
	{ .name = "object",
	  .value = "DEVICE/ID",
	  .help = "destroy only this one, of no grant of this node" },
	OPTION_DRY_RUN,
	OPTION_JSON,
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

static int clean_run(struct cli *cli)
{
	bool is_dry_run = cli_flag(cli, "dry-run");
	json_auto_t *answer = NULL;
	int code;

	if (cli_flag(cli, "all") && cli_option(cli, "object"))
		return cli_misuse(cli, "--all and --object exclude each other");
	code = remote_ask(cli, REMOTE_NODE, REMOTE_TIMEOUT_NONE, "clean",
			  json_pack("{s:b, s:s*, s:b}", "all",
				    cli_flag(cli, "all"), "object",
				    cli_option(cli, "object"), "dry_run",
				    is_dry_run),
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
		"devices but the system's own\nobjects: every job on this node "
		"loses its network. --object destroys a single one, such\nas "
		"cxi0/3; first check that 'fairlead node list' at the manager "
		"names no job for it. What\ncannot be destroyed is printed, "
		"and the exit code is 75.",
	.options = options,
	.run = clean_run,
};
