/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for Prometheus: the engine's own, then those of the core. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/manager/clients.h"
#include "lanes/manager/live.h"
#include "lanes/manager/session.h"

static void write_requests(const struct engine *engine, struct writer *out)
{
	char label[64];

	metrics_family(
		out, "request_seconds", "histogram",
		"Time from a client's request to its answer, by operation.");
	for (size_t i = 0; i < op_count; i++) {
		snprintf(label, sizeof(label), "operation=\"%s\"", ops[i].name);
		metrics_histogram(out, "request_seconds", label,
				  &engine->counters.ops[i].times);
	}
	metrics_family(out, "request_failures_total", "counter",
		       "Requests that were answered with an error, by "
		       "operation.");
	for (size_t i = 0; i < op_count; i++)
		metrics_line(
			out,
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

	metrics_family(out, "node_refusals_total", "counter",
		       "Messages of nodes that were not taken, by reason.");
	for (size_t i = 0; i < REFUSAL_COUNT; i++)
		metrics_line(
			out,
			"fairlead_node_refusals_total{why=\"%s\"} %" PRIu64,
			names[i], engine->counters.refusals[i]);
}

static void write_commits(const struct counters *counters, struct writer *out)
{
	static const uint64_t bounds[] = ROW_BUCKETS;

	metrics_family(out, "commit_seconds", "histogram",
		       "Time that transactions took to be on disk.");
	metrics_histogram(out, "commit_seconds", "", &counters->commits);

	metrics_family(out, "commit_rows", "histogram",
		       "Rows of the transactions written to the journal.");
	for (size_t i = 0; i < ROW_BUCKETS_MAX; i++)
		metrics_line(out,
			     "fairlead_commit_rows_bucket{le=\"%" PRIu64
			     "\"} %" PRIu64,
			     bounds[i], counters->row_buckets[i]);
	metrics_line(out, "fairlead_commit_rows_bucket{le=\"+Inf\"} %" PRIu64,
		     counters->commits.count);
	metrics_line(out, "fairlead_commit_rows_sum %" PRIu64,
		     counters->row_count);
	metrics_line(out, "fairlead_commit_rows_count %" PRIu64,
		     counters->commits.count);
	metrics_number(out, "commit_bytes_total", "counter",
		       "Keys and bodies of the rows written to the journal.",
		       counters->byte_count);
}

static void write_journal(const struct engine *engine, struct writer *out)
{
	const struct counters *counters = &engine->counters;

	write_commits(counters, out);
	metrics_number(out, "commit_failures_total", "counter",
		       "Transactions that could not be written.",
		       counters->commit_failed_count);
	metrics_number(out, "journal_replays_total", "counter",
		       "Times that the journal was read again after a failure.",
		       counters->replay_count);
	metrics_number(out, "journal_available", "gauge",
		       "1 when the journal can be written.",
		       engine->core != NULL);
}

static void write_nodes(const struct engine *engine, struct writer *out)
{
	metrics_number(out, "node_connections", "gauge",
		       "Connections of nodes.", HASH_COUNT(engine->sessions));
	metrics_number(
		out, "nodes_up", "gauge",
		"Nodes that registered, or confirmed a lease, within it.",
		HASH_COUNT(engine->live_nodes));
	metrics_number(out, "node_leases_lost_total", "counter",
		       "Nodes that did not confirm a lease in time.",
		       engine->counters.lease_count);
}

static void write_rounds(const struct engine *engine, struct writer *out)
{
	const struct round_counters *counters =
		engine->rounds.ops->counters(engine->rounds.ctx);

	metrics_number(out, "collectives_open", "gauge",
		       "Collectives under way.", counters->round_count);
	metrics_number(
		out, "collectives_bulk_total", "counter",
		"Commands that did not fit in a message, and went beside it.",
		counters->bulk_count);
	metrics_number(out, "groups", "gauge", "Groups of nodes that are kept.",
		       counters->group_count);
	metrics_number(out, "groups_made_total", "counter",
		       "Groups that were made, also for one command.",
		       counters->made_count);
	metrics_number(out, "groups_populated_total", "counter",
		       "Groups that were made before the first command.",
		       counters->populate_count);
	metrics_number(out, "groups_failed_total", "counter",
		       "Of these, those that could not be made.",
		       counters->failed_count);
}

static void write_fanouts(const struct engine *engine, struct writer *out)
{
	const struct counters *counters = &engine->counters;
	const struct fanout_counters *fanouts =
		fanouts_counters(engine->fanouts);

	metrics_number(out, "fanouts_open", "gauge", "Commands under way.",
		       fanouts_count(engine->fanouts));
	metrics_number(out, "commands_total", "counter",
		       "Commands that were signed.", counters->command_count);
	metrics_number(out, "collectives_total", "counter",
		       "Collectives that commands were sent by.",
		       fanouts->round_count);
	metrics_number(out, "commands_repeated_total", "counter",
		       "Nodes that were asked once more.",
		       fanouts->repeat_count);
	metrics_number(out, "answers_total", "counter",
		       "Answers of nodes to commands.", counters->answer_count);
	metrics_number(out, "answers_false_total", "counter",
		       "Answers that were changed on the way.",
		       fanouts->false_count);
	metrics_number(out, "answers_omitted_total", "counter",
		       "Answers that a relay left out without a reason.",
		       fanouts->omitted_count);
	metrics_number(
		out, "answer_timeouts_total", "counter",
		"Commands that a node which is up did not answer in time.",
		fanouts->timeout_count);
}

char *engine_metrics(const struct engine *engine)
{
	struct writer out = { 0 };
	uint64_t uptime_ms = engine_now_ms(engine) - engine->started_ms;

	metrics_number(&out, "epoch", "gauge", "Epoch of the manager.",
		       engine->epoch);
	metrics_number(
		&out, "halted", "gauge",
		"1 when a newer manager was met and this one has stopped.",
		engine->halted_epoch != 0);
	metrics_number(&out, "uptime_seconds", "gauge", "Since the start.",
		       uptime_ms / 1000);
	metrics_number(&out, "client_connections", "gauge",
		       "Connections of clients.", HASH_COUNT(engine->clients));
	metrics_number(&out, "requests_open", "gauge",
		       "Requests without an answer.",
		       HASH_COUNT(engine->requests));
	metrics_number(&out, "requests_refused_total", "counter",
		       "Requests that could not be read or were not allowed.",
		       engine->counters.client_refused_count);
	write_requests(engine, &out);
	write_journal(engine, &out);
	write_nodes(engine, &out);
	write_fanouts(engine, &out);
	write_rounds(engine, &out);
	write_refusals(engine, &out);
	if (engine->core != NULL)
		core_metrics(engine->core, &out);
	write_u8(&out, 0);
	return memory_have((char *)writer_take(&out, NULL));
}
