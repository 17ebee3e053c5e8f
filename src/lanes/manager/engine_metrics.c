/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for Prometheus: the engine's own, then those of the core. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/manager/clients.h"
#include "lanes/manager/live.h"
#include "lanes/manager/session.h"

#define LINE_MAX_BYTES 512

static void line(struct writer *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void line(struct writer *out, const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (size > 0 && (size_t)size < sizeof(text)) {
		write_bytes(out, text, (size_t)size);
		write_u8(out, '\n');
	}
}

static void family(struct writer *out, const char *name, const char *type,
		   const char *help)
{
	line(out, "# HELP fairlead_%s %s", name, help);
	line(out, "# TYPE fairlead_%s %s", name, type);
}

static void number(struct writer *out, const char *name, const char *type,
		   const char *help, uint64_t value)
{
	family(out, name, type, help);
	line(out, "fairlead_%s %" PRIu64, name, value);
}

/* The samples of one histogram; label: `name="value"`, or "". */
static void histogram(struct writer *out, const char *name, const char *label,
		      const struct times *times)
{
	static const uint64_t bounds[] = TIME_BUCKETS;
	const char *comma = *label == 0 ? "" : ",";
	const char *open = *label == 0 ? "" : "{";
	const char *close = *label == 0 ? "" : "}";

	for (size_t i = 0; i < BUCKETS_MAX; i++)
		line(out, "fairlead_%s_bucket{%s%sle=\"%g\"} %" PRIu64, name,
		     label, comma, (double)bounds[i] / 1000, times->buckets[i]);
	line(out, "fairlead_%s_bucket{%s%sle=\"+Inf\"} %" PRIu64, name, label,
	     comma, times->count);
	line(out, "fairlead_%s_sum%s%s%s %.3f", name, open, label, close,
	     (double)times->sum_ms / 1000);
	line(out, "fairlead_%s_count%s%s%s %" PRIu64, name, open, label, close,
	     times->count);
}

static void write_requests(const struct engine *engine, struct writer *out)
{
	char label[64];

	family(out, "request_seconds", "histogram",
	       "Time from a client's request to its answer, by operation.");
	for (size_t i = 0; i < op_count; i++) {
		snprintf(label, sizeof(label), "operation=\"%s\"", ops[i].name);
		histogram(out, "request_seconds", label,
			  &engine->counters.ops[i].times);
	}
	family(out, "request_failures_total", "counter",
	       "Requests that were answered with an error, by "
	       "operation.");
	for (size_t i = 0; i < op_count; i++)
		line(out,
		     "fairlead_request_failures_total{operation=\"%s\"} "
		     "%" PRIu64,
		     ops[i].name, engine->counters.ops[i].failed_count);
}

static void write_refusals(const struct engine *engine, struct writer *out)
{
	static const char *const names[] = {
		[REFUSAL_MALFORMED] = "malformed",
		[REFUSAL_KEY] = "key",
		[REFUSAL_REPLAYED] = "replayed",
		[REFUSAL_UNKNOWN] = "unknown-node",
		[REFUSAL_PROOF] = "unproven-epoch",
		[REFUSAL_STALE] = "stale",
		[REFUSAL_CROWDED] = "crowded",
		[REFUSAL_ADDRESS] = "no-address",
	};

	family(out, "node_refusals_total", "counter",
	       "Messages of nodes that were not taken, by reason.");
	for (size_t i = 0; i < REFUSAL_COUNT; i++)
		line(out, "fairlead_node_refusals_total{why=\"%s\"} %" PRIu64,
		     names[i], engine->counters.refusals[i]);
}

static void write_commits(const struct counters *counters, struct writer *out)
{
	static const uint64_t bounds[] = ROW_BUCKETS;

	family(out, "commit_seconds", "histogram",
	       "Time that transactions took to be on disk.");
	histogram(out, "commit_seconds", "", &counters->commits);

	family(out, "commit_rows", "histogram",
	       "Rows of the transactions written to the journal.");
	for (size_t i = 0; i < ROW_BUCKETS_MAX; i++)
		line(out,
		     "fairlead_commit_rows_bucket{le=\"%" PRIu64 "\"} %" PRIu64,
		     bounds[i], counters->row_buckets[i]);
	line(out, "fairlead_commit_rows_bucket{le=\"+Inf\"} %" PRIu64,
	     counters->commits.count);
	line(out, "fairlead_commit_rows_sum %" PRIu64, counters->row_count);
	line(out, "fairlead_commit_rows_count %" PRIu64,
	     counters->commits.count);
	number(out, "commit_bytes_total", "counter",
	       "Keys and bodies of the rows written to the journal.",
	       counters->byte_count);
}

static void write_journal(const struct engine *engine, struct writer *out)
{
	const struct counters *counters = &engine->counters;

	write_commits(counters, out);
	number(out, "commit_failures_total", "counter",
	       "Transactions that could not be written.",
	       counters->commit_failed_count);
	number(out, "journal_replays_total", "counter",
	       "Times that the journal was read again after a failure.",
	       counters->replay_count);
	number(out, "journal_available", "gauge",
	       "1 when the journal can be written.", engine->core != NULL);
}

static void write_nodes(const struct engine *engine, struct writer *out)
{
	number(out, "node_connections", "gauge", "Connections of nodes.",
	       HASH_COUNT(engine->sessions));
	number(out, "nodes_up", "gauge",
	       "Nodes that registered, or confirmed a lease, within it.",
	       HASH_COUNT(engine->live_nodes));
	number(out, "node_leases_lost_total", "counter",
	       "Nodes that did not confirm a lease in time.",
	       engine->counters.lease_count);
}

static void write_rounds(const struct engine *engine, struct writer *out)
{
	const struct round_counters *counters =
		engine->rounds.ops->counters(engine->rounds.ctx);

	number(out, "collectives_open", "gauge", "Collectives under way.",
	       counters->round_count);
	number(out, "collectives_bulk_total", "counter",
	       "Commands that did not fit in a message, and went beside it.",
	       counters->bulk_count);
	number(out, "groups", "gauge", "Groups of nodes that are kept.",
	       counters->group_count);
	number(out, "groups_made_total", "counter",
	       "Groups that were made, also for one command.",
	       counters->made_count);
	number(out, "groups_populated_total", "counter",
	       "Groups that were made before the first command.",
	       counters->populate_count);
	number(out, "groups_failed_total", "counter",
	       "Of these, those that could not be made.",
	       counters->failed_count);
}

static void write_fanouts(const struct engine *engine, struct writer *out)
{
	const struct counters *counters = &engine->counters;
	const struct fanout_counters *fanouts =
		fanouts_counters(engine->fanouts);

	number(out, "fanouts_open", "gauge", "Commands under way.",
	       fanouts_count(engine->fanouts));
	number(out, "commands_total", "counter", "Commands that were signed.",
	       counters->command_count);
	number(out, "collectives_total", "counter",
	       "Collectives that commands were sent by.", fanouts->round_count);
	number(out, "commands_repeated_total", "counter",
	       "Nodes that were asked once more.", fanouts->repeat_count);
	number(out, "answers_total", "counter", "Answers of nodes to commands.",
	       counters->answer_count);
	number(out, "answers_false_total", "counter",
	       "Answers that were changed on the way.", fanouts->false_count);
	number(out, "answers_omitted_total", "counter",
	       "Answers that a relay left out without a reason.",
	       fanouts->omitted_count);
	number(out, "answer_timeouts_total", "counter",
	       "Commands that a node which is up did not answer in time.",
	       fanouts->timeout_count);
}

static void on_core_line(void *arg, const char *text)
{
	size_t size = strlen(text);

	write_bytes(arg, text, size);
	if (size == 0 || text[size - 1] != '\n')
		write_u8(arg, '\n');
}

char *engine_metrics(const struct engine *engine)
{
	struct writer out = { 0 };
	uint64_t uptime_ms = engine_now_ms(engine) - engine->started_ms;

	number(&out, "epoch", "gauge", "Epoch of the manager.", engine->epoch);
	number(&out, "halted", "gauge",
	       "1 when a newer manager was met and this one has stopped.",
	       engine->halted_epoch != 0);
	number(&out, "uptime_seconds", "gauge", "Since the start.",
	       uptime_ms / 1000);
	number(&out, "client_connections", "gauge", "Connections of clients.",
	       HASH_COUNT(engine->clients));
	number(&out, "requests_open", "gauge", "Requests without an answer.",
	       HASH_COUNT(engine->requests));
	number(&out, "requests_refused_total", "counter",
	       "Requests that could not be read or were not allowed.",
	       engine->counters.client_refused_count);
	write_requests(engine, &out);
	write_journal(engine, &out);
	write_nodes(engine, &out);
	write_fanouts(engine, &out);
	write_rounds(engine, &out);
	write_refusals(engine, &out);
	if (engine->core != NULL)
		core_metrics(engine->core, on_core_line, &out);
	write_u8(&out, 0);
	return memory_have((char *)writer_take(&out, NULL));
}
