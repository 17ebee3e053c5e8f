/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The grants are read before the first list of jobs, so that a job that begins
 * meanwhile has none of them; they are released by their ids, so that one that
 * its job gets later is not meant. A list that is empty says nothing: a
 * controller that has lost its state has such a list, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/config_path.h"
#include "lanes/cli/output.h"
#include "lanes/cli/reconcile/reconcile.h"
#include "lanes/cli/remote.h"
#include "lanes/cli/slurm/expect.h"
#include "lanes/proto/names.h"

/* --- what was found --- */

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

/* Print what was found and done. Exit code, of the printing. */
static int reconcile_report(const struct reconcile *reconcile)
{
	if (cli_flag(reconcile->cli, "json"))
		return print_json(reconcile);
	print(reconcile);
	return EXIT_DONE;
}

/* --- what is done --- */

static const struct option_spec options[] = {
	{ .name = "slurm", .help = "compare with the jobs of Slurm" },
	{ .name = "flux", .help = "compare with the jobs of Flux" },
	OPTION_DRY_RUN,
	{ .name = "force",
	  .help = "release even many grants of jobs that are not listed" },
	OPTION_CONFIG,
	OPTION_JSON,
	OPTION_NO_HEADER,
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

/* --- what is compared --- */

static int load_config(struct reconcile *reconcile)
{
	_auto_(freep) char *errors = NULL;

	if (config_read(reconcile->cli, CONFIG_ROLE_CLIENT, &reconcile->config,
			&errors) < 0)
		return cli_fail(reconcile->cli, EXIT_FAILED, "%s", errors);
	reconcile->section = reconcile->source->section(reconcile->config);
	reconcile->cli->manager =
		config_manager_of(reconcile->config, reconcile->section);
	return EXIT_DONE;
}

/* Keep whose jobs have a grant, in whatever state: one may just have ended. */
static int read_grants(struct reconcile *reconcile, json_t *ret_live)
{
	json_auto_t *answer = NULL;
	json_t *grant;
	struct request_key key;
	size_t i;
	int code = remote_ask(reconcile->cli, REMOTE_MANAGER, REMOTE_TIMEOUT_MS,
			      "list", NULL, &answer);

	json_array_foreach (json_object_get(answer, "jobs"), i, grant)
		if (request_key_parse(output_text(grant, "key"), &key, NULL) ==
			    0 &&
		    strcmp(key.submitter, reconcile->section->submitter) == 0) {
			json_object_set_new(reconcile->with_grant, key.job,
					    json_true());
			if (output_is_live(grant))
				json_array_append(ret_live, grant);
		}
	return code;
}

/* A job manager that is down is as a daemon of ours that is. */
static int fail_list(struct reconcile *reconcile,
		     const struct fairlead_error *error)
{
	int code = cli_exit_code(error->code);

	if (error->code == -ECHILD)
		code = EXIT_LATER;
	cli_fail(reconcile->cli, code, "%s", error->text);
	cli_hint(
		reconcile->cli,
		"nothing was released; retry when the job manager answers. "
		"'fairlead list' shows grants, and 'fairlead release' releases "
		"one whose job is over");
	return code;
}

static int read_lists(struct reconcile *reconcile)
{
	const struct reconcile_source *source = reconcile->source;
	struct fairlead_error error;
	int result = 0;

	for (size_t i = 0; result == 0 && i < 2; i++)
		result = source->list(reconcile->section, &reconcile->lists[i],
				      &error);
	return result == 0 ? EXIT_DONE : fail_list(reconcile, &error);
}

/* --- what is found --- */

/* By the more that one of the lists knows of its job. */
static void sort_grant(struct reconcile *reconcile, json_t *grant)
{
	struct job_listing *const *lists = reconcile->lists;
	enum listed_state state, second;
	struct request_key key;

	request_key_parse(output_text(grant, "key"), &key, NULL);
	state = listing_state(lists[0], key.job);
	second = listing_state(lists[1], key.job);
	if (second > state)
		state = second;
	if (!reconcile->source->is_name(key.job)) {
		json_array_append(reconcile->foreign, grant);
		return;
	}
	if (state == LISTED_OVER)
		json_array_append(reconcile->over, grant);
	if (state == LISTED_NOT)
		reconcile->forgotten_count++;
	if (state < LISTED_LIVE)
		json_array_append(reconcile->forgotten, grant);
}

static void sort_grants(struct reconcile *reconcile)
{
	json_t *grant;
	size_t i;

	json_array_foreach (reconcile->grants, i, grant)
		sort_grant(reconcile, grant);
}

static void compare_running(struct reconcile *reconcile)
{
	const struct job_listing *first = reconcile->lists[0];

	json_array_clear(reconcile->without_grant);
	for (size_t i = 0; i < first->count; i++) {
		const char *name = first->jobs[i].name;

		if (listing_is_running(first, reconcile->lists[1], name) &&
		    !json_object_get(reconcile->with_grant, name))
			json_array_append_new(reconcile->without_grant,
					      json_string(name));
	}
}

/*
 * Running jobs without a grant, where a job without options has one. A job may
 * have begun since grants were read: they are read once more.
 */
static int find_without_grant(struct reconcile *reconcile)
{
	json_auto_t *ignored = json_array();
	int code;

	if (lane_expect(reconcile->config, NULL, "") == LANE_NONE)
		return EXIT_DONE;
	compare_running(reconcile);
	if (json_array_size(reconcile->without_grant) == 0)
		return EXIT_DONE;
	code = read_grants(reconcile, ignored);
	if (code == EXIT_DONE)
		compare_running(reconcile);
	return code;
}

static void mark(json_t *grants, const char *done)
{
	json_t *grant;
	size_t i;

	json_array_foreach (grants, i, grant)
		json_object_set_new(grant, "done", json_string(done));
}

/* --- what is done --- */

/* Nothing where one list has no job at all. */
static int refuse_empty(struct reconcile *reconcile)
{
	if (reconcile->lists[0]->line_count > 0 &&
	    reconcile->lists[1]->line_count > 0)
		return EXIT_DONE;
	reconcile->refusal = "an empty list of jobs proves nothing";
	mark(reconcile->forgotten, "not released");
	cli_fail(reconcile->cli, EXIT_FAILED,
		 "%s lists no job at all: it has none, or has lost them; "
		 "nothing is released",
		 reconcile->source->title);
	cli_hint(reconcile->cli,
		 "if no job runs, 'fairlead release GRANT' for each; or retry "
		 "when there is a job");
	return EXIT_FAILED;
}

/*
 * Of jobs that are not listed; who loses his list loses those that are over,
 * too.
 */
static int refuse_many(struct reconcile *reconcile)
{
	if (cli_flag(reconcile->cli, "force") ||
	    !listing_is_much(reconcile->forgotten_count,
			     json_array_size(reconcile->grants)))
		return EXIT_DONE;
	reconcile->refusal = "these are too many";
	if (cli_flag(reconcile->cli, "dry-run")) {
		mark(reconcile->forgotten, "would need --force");
		mark(reconcile->over, "would be released");
		return EXIT_DONE;
	}
	mark(reconcile->forgotten, "not released");
	cli_fail(reconcile->cli, EXIT_FAILED,
		 "%zu of %zu grants, which are all or more than %d and %d %%, "
		 "are of jobs that %s does not know: they are not released",
		 reconcile->forgotten_count, json_array_size(reconcile->grants),
		 LISTING_MOST, 100 / LISTING_SHARE, reconcile->source->title);
	cli_hint(reconcile->cli,
		 "check that this is the right job manager, and that it has "
		 "its jobs; --force releases them");
	return EXIT_FAILED;
}

static int release_some(struct reconcile *reconcile, json_t *grants)
{
	return json_array_size(grants) > 0
		       ? reconcile_release(reconcile->cli, grants)
		       : EXIT_DONE;
}

static int release(struct reconcile *reconcile)
{
	int code;

	mark(reconcile->foreign, "left alone");
	if (json_array_size(reconcile->forgotten) == 0)
		return EXIT_DONE;
	mark(reconcile->forgotten, "would be released");
	code = refuse_empty(reconcile);
	if (code != EXIT_DONE)
		return code;
	code = refuse_many(reconcile);
	if (cli_flag(reconcile->cli, "dry-run"))
		return code;
	/* Of those that are never asked for. */
	mark(reconcile->forgotten, "not released");
	if (code == EXIT_DONE)
		return release_some(reconcile, reconcile->forgotten);
	release_some(reconcile, reconcile->over);
	return code;
}

/* --- the command --- */

static int work(struct reconcile *reconcile)
{
	struct fairlead_error error;
	int code = load_config(reconcile);

	if (code == EXIT_DONE &&
	    reconcile->source->check(
		    reconcile->section,
		    remote_socket(reconcile->cli, REMOTE_MANAGER), &error) < 0)
		code = fail_list(reconcile, &error);
	if (code == EXIT_DONE)
		code = read_grants(reconcile, reconcile->grants);
	if (code == EXIT_DONE)
		code = read_lists(reconcile);
	if (code != EXIT_DONE)
		return code;
	sort_grants(reconcile);
	code = find_without_grant(reconcile);
	if (code != EXIT_DONE)
		return code;
	code = release(reconcile);
	if (reconcile_report(reconcile) != EXIT_DONE)
		return EXIT_FAILED;
	return code;
}

static const struct reconcile_source *choose_source(const struct cli *cli)
{
	const struct reconcile_source *chosen = NULL;

	for (size_t i = 0; reconcile_sources[i]; i++) {
		if (!cli_flag(cli, reconcile_sources[i]->option))
			continue;
		if (chosen)
			return NULL;
		chosen = reconcile_sources[i];
	}
	return chosen;
}

static int reconcile_run(struct cli *cli)
{
	struct reconcile reconcile = { .cli = cli,
				       .source = choose_source(cli) };
	int code;

	if (!reconcile.source)
		return cli_misuse(cli,
				  "give one of --slurm and --flux, the job "
				  "manager to compare with");
	reconcile.grants = json_array();
	reconcile.over = json_array();
	reconcile.forgotten = json_array();
	reconcile.foreign = json_array();
	reconcile.with_grant = json_object();
	reconcile.without_grant = json_array();
	code = work(&reconcile);
	listing_destroy(reconcile.lists[0]);
	listing_destroy(reconcile.lists[1]);
	json_decref(reconcile.grants);
	json_decref(reconcile.over);
	json_decref(reconcile.forgotten);
	json_decref(reconcile.foreign);
	json_decref(reconcile.with_grant);
	json_decref(reconcile.without_grant);
	cli->manager = NULL;
	config_destroy(reconcile.config);
	return code;
}

const struct subcommand command_reconcile = {
	.name = "reconcile",
	.summary = "Release grants of jobs that the job manager has forgotten",
	.details =
		"Compares live grants of the job manager's submitter with two "
		"lists of its jobs, and\nreleases those whose jobs are over or "
		"in neither list. It needs --force for more than\n8 grants of "
		"unlisted jobs that are more than 5 % of all, and releases "
		"nothing after a\nlist that fails or is empty. Running jobs "
		"without a grant are reported.",
	.options = options,
	.run = reconcile_run,
};
