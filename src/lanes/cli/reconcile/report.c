/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "lanes/cli/output.h"
#include "lanes/cli/reconcile/reconcile.h"

#define NAMES_SHOWN 16

static const struct column columns[] = {
	{ .name = "GRANT", .flags = COLUMN_RIGHT },
	{ .name = "KEY" },
	{ .name = "STATE", .flags = COLUMN_STATE },
	{ .name = "NODES", .flags = COLUMN_WRAP },
	{ .name = "SINCE" },
	{ .name = "DONE", .flags = COLUMN_WRAP },
	{ 0 },
};

static char *done_text(const json_t *grant, const struct reconcile *reconcile)
{
	const char *done = output_text(grant, "done");
	const char *error = output_text(grant, "error");
	_auto_(freep) char *ids =
		output_ids(json_object_get(grant, "quarantined"));
	_auto_(freep) char *nodes =
		output_join(json_object_get(grant, "waits_for"));
	char *text = NULL;
	int size;

	if (*error)
		size = asprintf(&text, "%s: %s", done, error);
	else if (json_object_get(grant, "quarantined"))
		size = asprintf(&text,
				"%s; %s stays in quarantine until %s has "
				"confirmed",
				done, ids, nodes);
	else if (strcmp(done, "left alone") == 0)
		size = asprintf(&text, "%s: its name is none of %s's", done,
				reconcile->source->title);
	else
		size = asprintf(&text, "%s", done);
	return size < 0 ? NULL : text;
}

static void add_rows(struct table *table, const json_t *grants,
		     const struct reconcile *reconcile)
{
	char since[OUTPUT_TIME_MAX];
	const json_t *grant;
	size_t i;

	json_array_foreach (grants, i, grant) {
		table_row(table);
		table_number(table, output_number(grant, "grant_id"));
		table_text(table, output_text(grant, "key"));
		table_text(table, output_text(grant, "state"));
		table_text(table, output_text(grant, "nodes"));
		output_time(output_real(grant, "since"), since);
		table_text(table, since);
		table_owned(table, done_text(grant, reconcile));
	}
}

static void print_without_grant(const struct reconcile *reconcile)
{
	FILE *out = reconcile->cli->out;
	size_t count = json_array_size(reconcile->without_grant);
	const json_t *name;
	size_t i;

	if (count == 0)
		return;
	fprintf(out,
		"%zu running jobs have no grant: they asked for none, or "
		"their hooks did not run:",
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
	struct table *table = table_create(cli, columns);

	add_rows(table, reconcile->forgotten, reconcile);
	add_rows(table, reconcile->foreign, reconcile);
	table_finish(table);
	fprintf(cli->out,
		"%zu grants of '%s' are live; of %zu the job is not known to "
		"%s\n",
		reconcile->count, reconcile->section->submitter,
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
			  (int)reconcile->count, "listed",
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
