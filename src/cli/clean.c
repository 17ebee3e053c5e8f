/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/output.h"
#include "cli/remote.h"

static const struct option_spec options[] = {
	{ .name = "all",
	  .letter = 'a',
	  .help = "also what Fairlead did not make" },
	OPTION_DRY_RUN,
	OPTION_JSON,
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

static void print_objects(struct cli *cli, const char *verb,
			  const json_t *objects)
{
	const json_t *object;
	size_t i;

	json_array_foreach (objects, i, object) {
		_auto_(freep) char *ids =
			output_ids(json_object_get(object, "ids"));
		const char *text = output_text(object, "text");

		fprintf(cli->out, "%s %s %s %lld, ids %s%s%s\n", verb,
			output_text(object, "interconnect"),
			output_text(object, "device"),
			(long long)output_number(object, "id"), ids,
			*text ? ": " : "", text);
	}
}

static int run(struct cli *cli)
{
	bool is_dry_run = cli_flag(cli, "dry-run");
	json_auto_t *answer = NULL;
	int code;

	code = remote_ask(cli, REMOTE_NODE, REMOTE_TIMEOUT_NONE, "clean",
			  json_pack("{s:b, s:b}", "all", cli_flag(cli, "all"),
				    "dry_run", is_dry_run),
			  &answer);
	if (cli_flag(cli, "json"))
		return code == EXIT_DONE ? output_json(cli, answer) : code;
	print_objects(cli, is_dry_run ? "would destroy" : "destroyed",
		      json_object_get(answer, "destroyed"));
	print_objects(cli, "left", json_object_get(answer, "left"));
	return code;
}

const struct subcommand command_clean = {
	.name = "clean",
	.summary = "Destroy what is left on this node's devices",
	.arguments = "",
	.details = "What Fairlead made and no live grant owns; with --all "
		   "everything but what the system has\nmade for itself: that "
		   "ends the network of every job on this node.",
	.options = options,
	.run = run,
};
