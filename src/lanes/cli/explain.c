/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * explain, the answer to "why is it not going on?": sentences about the grant,
 * a table of its nodes by state, and a sentence for each thing that is awaited.
 *
 * eventlog: events go out as they are, one JSON object a line, for jq. With
 * --human the same in words: moment, time since the first one, name, and the
 * context's members as name=value.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"

/* --- explain --- */

static void format_age(double since, char text[OUTPUT_DURATION_MAX])
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	output_duration(now.tv_sec + now.tv_nsec / 1e9 - since, text);
}

static void print_moment(FILE *out, double since)
{
	char moment[OUTPUT_TIME_MAX];
	char age[OUTPUT_DURATION_MAX];

	output_time(since, moment);
	format_age(since, age);
	fprintf(out, " %s (%s ago)", moment, age);
}

/* The grant may be over. */
static void print_external(FILE *out, const json_t *external)
{
	static const struct {
		const char *state, *words;
	} known[] = {
		{ "wanted", "is awaited" },
		{ "held", "is held" },
		{ "lost", "has vanished from the fabric manager" },
		{ "refused", "was refused" },
		{ "over", "is over" },
	};
	const char *state = output_text(external, "state");
	const char *request = output_text(external, "request");
	const char *reason = output_text(external, "reason");
	char age[OUTPUT_DURATION_MAX];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].state, state) != 0)
			continue;
		fprintf(out, "Its external reservation%s%s%s %s%s%s.\n",
			*request ? " (" : "", request, *request ? ")" : "",
			known[i].words, *reason ? ": " : "", reason);
	}
	if (!json_is_true(json_object_get(external, "debt")))
		return;
	output_duration(output_real(external, "age_s"), age);
	fprintf(out,
		"It is to be released at the fabric manager, for %s now; see "
		"'fairlead status'.\n",
		age);
}

static void print_head(FILE *out, const json_t *grant)
{
	const char *with = output_text(grant, "options");
	const char *reason = output_text(grant, "reason");
	const char *lost = output_text(grant, "lost");
	_auto_(freep) char *ids = output_ids(json_object_get(grant, "ids"));
	_auto_(freep) char *user = output_user(output_number(grant, "uid"));

	fprintf(out, "Grant %lld, for %s, is %s. It was reserved",
		(long long)output_number(grant, "grant_id"),
		output_text(grant, "key"), output_text(grant, "state"));
	print_moment(out, output_real(grant, "since"));
	fprintf(out, ".\n");
	fprintf(out, "It belongs to %s and asks for %s", user,
		output_text(grant, "interconnect"));
	if (*with)
		fprintf(out, " (%s)", with);
	fprintf(out, " on %s.\n", output_text(grant, "nodes"));
	if (json_object_size(json_object_get(grant, "ids")) > 0)
		fprintf(out, "It holds %s.\n", ids);
	else
		fprintf(out, "It holds no identifiers.\n");
	if (*lost)
		fprintf(out, "Its lane is lost on %s.\n", lost);
	if (*reason)
		fprintf(out, "Reason: %s.\n", reason);
	print_external(out, json_object_get(grant, "external"));
}

static void print_holds(struct cli *cli, const json_t *holds)
{
	static const struct column columns[] = {
		{ "NODES", 0, "nodes" },
		{ "STATE", COLUMN_STATE, "state" },
		{ 0 },
	};

	output_table(cli, columns, holds);
}

static void print_waits(FILE *out, const json_t *waits)
{
	const json_t *wait;
	size_t i;

	if (json_array_size(waits) == 0)
		fprintf(out, "It waits for nothing.\n");
	json_array_foreach (waits, i, wait) {
		double since = output_real(wait, "since");
		const char *nodes = output_text(wait, "nodes");
		const char *why = output_text(wait, "why");
		char age[OUTPUT_DURATION_MAX];

		fprintf(out, "It waits for %s%s%s", output_text(wait, "what"),
			*nodes ? " from " : "", nodes);
		if (since > 0) {
			format_age(since, age);
			fprintf(out, ", for %s now", age);
		}
		fprintf(out, "%s%s.\n", *why ? ": " : "", why);
	}
}

/* How it came to its end, in words. */
static const char *past_words(const json_t *grant)
{
	static const struct {
		const char *reason, *words;
	} known[] = {
		{ "request", "was released as its job manager asked" },
		{ "operator", "was released by an operator" },
		{ "apply-failed",
		  "failed: not every node could make its lane" },
		{ "reserve-failed", "failed: it could not be reserved" },
	};
	const char *reason = output_text(grant, "reason");

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].reason, reason) == 0)
			return known[i].words;
	return strcmp(output_text(grant, "outcome"), "failed") == 0
		       ? "failed"
		       : "was released";
}

static void print_late(FILE *out, const json_t *confirmed)
{
	const json_t *late;
	size_t i;

	json_array_foreach (confirmed, i, late) {
		const char *how = output_text(late, "how");

		fprintf(out, "After its end %s %s", output_text(late, "nodes"),
			strcmp(how, "fenced") == 0   ? "was fenced"
			: strcmp(how, "waived") == 0 ? "was waived"
						     : "confirmed");
		print_moment(out, output_real(late, "since"));
		fprintf(out, ".\n");
	}
}

/* A grant that is over, and of which nothing is left. */
static void print_past(FILE *out, const json_t *grant)
{
	const json_t *had = json_object_get(grant, "had");
	const char *key = output_text(grant, "key");
	const char *with = output_text(grant, "options");
	const char *failure = output_text(grant, "failure");
	_auto_(freep) char *user = output_user(output_number(grant, "uid"));
	_auto_(freep) char *ids = output_ids(had);

	fprintf(out, "Grant %lld", (long long)output_number(grant, "grant_id"));
	if (*key)
		fprintf(out, ", for %s,", key);
	if (output_real(grant, "ended") == 0) {
		fprintf(out,
			" of %s is over; its events are not kept any "
			"more.\n",
			user);
		return;
	}
	fprintf(out, " %s,", past_words(grant));
	print_moment(out, output_real(grant, "ended"));
	fprintf(out, ".\nIt belonged to %s and asked for %s", user,
		output_text(grant, "interconnect"));
	if (*with)
		fprintf(out, " (%s)", with);
	fprintf(out, " on %s,", output_text(grant, "nodes"));
	print_moment(out, output_real(grant, "since"));
	fprintf(out, ".\n");
	if (*failure)
		fprintf(out, "Reason: %s.\n", failure);
	if (json_object_size(had) > 0)
		fprintf(out, "It had %s.\n", ids);
	print_late(out, json_object_get(grant, "confirmed"));
	fprintf(out, "It holds nothing and waits for nothing any more.\n");
}

static void print_grant(struct cli *cli, const json_t *grant)
{
	const json_t *quarantined = json_object_get(grant, "quarantined");

	print_head(cli->out, grant);
	if (json_is_false(json_object_get(grant, "has_lane")))
		fprintf(cli->out, "It has no lane: there is nothing to apply "
				  "on its nodes.\n");
	else
		print_holds(cli, json_object_get(grant, "holds"));
	print_waits(cli->out, json_object_get(grant, "waits"));
	if (json_object_size(quarantined) > 0) {
		_auto_(freep) char *ids = output_ids(quarantined);

		fprintf(cli->out,
			"In quarantine until the nodes have confirmed: %s.\n",
			ids);
	}
}

static void print_grants(struct cli *cli, const json_t *answer)
{
	const json_t *grant;
	size_t i;

	json_array_foreach (json_object_get(answer, "grants"), i, grant) {
		if (i > 0)
			putc('\n', cli->out);
		if (strcmp(output_text(grant, "state"), "gone") != 0) {
			print_grant(cli, grant);
			continue;
		}
		print_past(cli->out, grant);
		print_external(cli->out, json_object_get(grant, "external"));
	}
	if (json_is_true(json_object_get(answer, "more")))
		cli_hint(cli, "the job has more grants than one answer; ask "
			      "for SUBMITTER/JOB/ATTEMPT");
}

const struct subcommand command_explain = {
	.name = "explain",
	.summary = "Show what a grant or a job holds, where, and what it "
		   "waits for",
	.arguments = "GRANT|KEY|JOB",
	.details = "Of a job that is over: when and how it ended, while its "
		   "events "
		   "are kept.",
	.options = cli_options_table,
	.run = remote_run,
	.op = "explain",
	.members = remote_selector_members,
	.show = print_grants,
};

/* --- eventlog --- */

static const struct option_spec eventlog_options[] = {
	{ .name = "human", .letter = 'H', .help = "print sentences, not JSON" },
	OPTION_SOCKET,
	OPTION_TIMEOUT,
	{ 0 },
};

static void print_context(FILE *out, const json_t *context)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)context, name, value) {
		_auto_(freep) char *text = NULL;

		if (json_is_string(value)) {
			text = memory_text(json_string_value(value));
			text_clean(text);
			fprintf(out, " %s=\"%s\"", name, text);
			continue;
		}
		text = memory_have(
			json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY));
		fprintf(out, " %s=%s", name, text);
	}
}

/* *first is the moment of the first event, 0 before it. */
static void print_human(struct cli *cli, const char *line, double *first)
{
	json_auto_t *event = json_loads(line, 0, NULL);
	/* To the nearest millisecond. */
	double moment = output_real(event, "timestamp") + 0.0005;
	char time[OUTPUT_TIME_MAX];

	if (!event) {
		fprintf(cli->out, "%s\n", line);
		return;
	}
	if (*first == 0)
		*first = moment;
	output_time(moment, time);
	fprintf(cli->out, "%s.%03d %+12.3f s  %s", time,
		(int)((moment - (long long)moment) * 1000), moment - *first,
		output_text(event, "name"));
	print_context(cli->out, json_object_get(event, "context"));
	putc('\n', cli->out);
}

static void print_events(struct cli *cli, const json_t *answer)
{
	const json_t *event;
	double first = 0;
	size_t i;

	json_array_foreach (json_object_get(answer, "events"), i, event) {
		const char *line = json_string_value(event);

		if (line && cli_flag(cli, "human"))
			print_human(cli, line, &first);
		else if (line)
			fprintf(cli->out, "%s\n", line);
	}
}

const struct subcommand command_eventlog = {
	.name = "eventlog",
	.summary = "Print the events of a grant or a job, one JSON object a "
		   "line",
	.arguments = "GRANT|KEY|JOB",
	.options = eventlog_options,
	.run = remote_run,
	.op = "eventlog",
	.members = remote_selector_members,
	.show = print_events,
};
