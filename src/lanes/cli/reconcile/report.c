/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/output.h"
#include "lanes/cli/reconcile/reconcile.h"

#define NAMES_SHOWN 16

static char *done_text(const json_t *grant)
{
	const char *done = output_text(grant, "done");
	const char *error = output_text(grant, "error");
	_auto_(freep) char *ids =
		output_ids(json_object_get(grant, "quarantined"));
	_auto_(freep) char *nodes =
		output_join(json_object_get(grant, "waits_for"));

	if (*error)
		return memory_format("%s: %s", done, error);
	if (json_object_get(grant, "quarantined"))
		return memory_format("%s; %s stays in quarantine until %s has "
				     "confirmed",
				     done, ids, nodes);
	if (strcmp(done, "left alone") == 0)
		return memory_format("%s: no job of the job manager has such a "
				     "name",
				     done);
	return memory_text(done);
}

static const struct column columns[] = {
	{ "GRANT", COLUMN_RIGHT, "grant_id" },
	{ "KEY", 0, "key" },
	{ "STATE", COLUMN_STATE, "state" },
	{ "NODES", COLUMN_WRAP, "nodes" },
	{ "SINCE", 0, "since", output_moment },
	{ "DONE", COLUMN_WRAP, NULL, done_text },
	{ 0 },
};

static void print_without_grant(const struct reconcile *reconcile)
{
	FILE *out = reconcile->cli->out;
	size_t count = json_array_size(reconcile->without_grant);
	const json_t *name;
	size_t i;

	if (count == 0)
		return;
	fprintf(out,
		"%zu running jobs have no grant: they asked for none, their "
		"hooks did not run, or it was released:",
		count);
	json_array_foreach (reconcile->without_grant, i, name)
		if (i < NAMES_SHOWN)
			fprintf(out, "%s %s", i > 0 ? "," : "",
				json_string_value(name));
	if (count > NAMES_SHOWN)
		fprintf(out, " and %zu more", count - NAMES_SHOWN);
	fputs("\n", out);
}

static void print(const struct reconcile *reconcile)
{
	struct cli *cli = reconcile->cli;
	json_auto_t *rows = json_copy(reconcile->forgotten);

	json_array_extend(rows, reconcile->foreign);
	output_table(cli, columns, rows);
	fprintf(cli->out,
		"%zu grants of '%s' are live; %zu are of jobs that are over or "
		"unknown to %s\n",
		json_array_size(reconcile->grants),
		reconcile->section->submitter,
		json_array_size(reconcile->forgotten),
		reconcile->source->title);
	print_without_grant(reconcile);
}

static int print_json(const struct reconcile *reconcile)
{
	json_auto_t *json =
		json_pack("{s:s, s:s, s:b, s:i, s:[i, i], s:O, s:O, s:O, s:s}",
			  "job_manager", reconcile->source->option, "submitter",
			  reconcile->section->submitter, "dry_run",
			  cli_flag(reconcile->cli, "dry-run"), "live",
			  (int)json_array_size(reconcile->grants), "listed",
			  (int)reconcile->lists[0]->line_count,
			  (int)reconcile->lists[1]->line_count, "forgotten",
			  reconcile->forgotten, "foreign", reconcile->foreign,
			  "without_grant", reconcile->without_grant, "refusal",
			  reconcile->refusal ? reconcile->refusal : "");

	return output_json(reconcile->cli, json);
}

int reconcile_report(const struct reconcile *reconcile)
{
	if (cli_flag(reconcile->cli, "json"))
		return print_json(reconcile);
	print(reconcile);
	return EXIT_DONE;
}
