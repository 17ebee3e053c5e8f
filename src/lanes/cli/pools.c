/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets for people who look for one identifier; `status` has the counts. */
#include "lanes/cli/remote.h"
#include "lanes/cli/show.h"

static const struct option_spec options[] = {
	OPTION_JSON, OPTION_NO_HEADER, OPTION_SOCKET, OPTION_TIMEOUT, { 0 },
};

static int run(struct cli *cli)
{
	json_auto_t *answer = NULL;
	int code = remote_ask(cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS, "pools",
			      NULL, &answer);

	if (code != EXIT_DONE)
		return code;
	if (cli_flag(cli, "json"))
		return output_json(cli, answer);
	show_pools(cli, json_object_get(answer, "pools"));
	return EXIT_DONE;
}

const struct subcommand command_pools = {
	.name = "pools",
	.summary = "Show which identifiers are free, held and quarantined",
	.arguments = "",
	.options = options,
	.run = run,
};
