/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters begin at 0 with each start of the manager.
 */
#include "lanes/manager/core/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/view.h"

#define LINE_MAX_BYTES 512

static const uint32_t bounds_ms[METRICS_BUCKETS] = {
	1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000,
};

void histogram_add(struct histogram *histogram, uint64_t value_ms)
{
	for (size_t i = 0; i < METRICS_BUCKETS; i++) {
		if (value_ms > bounds_ms[i])
			continue;
		histogram->buckets[i]++;
		break;
	}
	histogram->count++;
	histogram->sum_ms += value_ms;
}

void metrics_line(struct writer *out, const char *format, ...)
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

void metrics_family(struct writer *out, const char *name, const char *type,
		    const char *help)
{
	metrics_line(out, "# HELP fairlead_%s %s", name, help);
	metrics_line(out, "# TYPE fairlead_%s %s", name, type);
}

void metrics_number(struct writer *out, const char *name, const char *type,
		    const char *help, uint64_t value)
{
	metrics_family(out, name, type, help);
	metrics_line(out, "fairlead_%s %" PRIu64, name, value);
}

void metrics_histogram(struct writer *out, const char *name, const char *label,
		       const struct histogram *histogram)
{
	const char *comma = *label == 0 ? "" : ",";
	const char *open = *label == 0 ? "" : "{";
	const char *close = *label == 0 ? "" : "}";
	uint64_t below = 0;

	for (size_t i = 0; i < METRICS_BUCKETS; i++) {
		below += histogram->buckets[i];
		metrics_line(out, "fairlead_%s_bucket{%s%sle=\"%g\"} %" PRIu64,
			     name, label, comma, bounds_ms[i] / 1e3, below);
	}
	metrics_line(out, "fairlead_%s_bucket{%s%sle=\"+Inf\"} %" PRIu64, name,
		     label, comma, histogram->count);
	metrics_line(out, "fairlead_%s_sum%s%s%s %.3f", name, open, label,
		     close, (double)histogram->sum_ms / 1e3);
	metrics_line(out, "fairlead_%s_count%s%s%s %" PRIu64, name, open, label,
		     close, histogram->count);
}

static void emit_pools(const struct core *core, struct writer *out)
{
	metrics_family(out, "identifiers", "gauge",
		       "Identifiers of a pool by set. universe: all that are "
		       "configured; "
		       "draining: those in use that are not.");
	interconnects_foreach(ic, &core->interconnects)
	{
		for (size_t i = 0; i < ic->pool_count; i++) {
			struct pool_counts counts =
				view_pool_counts(core, &ic->pools[i]);
			const char *driver = ic->driver->name;
			const char *pool = ic->pools[i].name;

#define SET(set)                                                             \
	metrics_line(out,                                                    \
		     "fairlead_identifiers{interconnect=\"%s\",pool=\"%s\"," \
		     "set=\"" #set "\"} %" PRIu32,                           \
		     driver, pool, counts.set)
			SET(universe);
			SET(free);
			SET(held);
			SET(quarantined);
			SET(withheld);
			SET(draining);
#undef SET
		}
	}
}

/* When the oldest quarantine of each pool of an interconnect began. */
struct oldest {
	const struct job *job; /* that is looked at */
	uint64_t (*since_us)[FAIRLEAD_POOLS_MAX];
};

static void oldest_look(const struct core_held *held, void *arg)
{
	const struct oldest *oldest = arg;
	uint64_t *since_us = &oldest->since_us[oldest->job->driver][held->pool];

	if (oldest->job->since_us < *since_us)
		*since_us = oldest->job->since_us;
}

static void emit_ages(const struct core *core, struct writer *out,
		      uint64_t now_us, uint64_t since_us[][FAIRLEAD_POOLS_MAX])
{
	metrics_family(
		out, "quarantine_oldest_seconds", "gauge",
		"Age of the pool's oldest quarantine; 0 when there is none.");
	interconnects_foreach(ic, &core->interconnects)
	{
		size_t driver = (size_t)(ic - core->interconnects.list);

		for (size_t i = 0; i < ic->pool_count; i++)
			metrics_line(out,
				     "fairlead_quarantine_oldest_seconds{"
				     "interconnect=\"%s\",pool=\"%s\"} %.3f",
				     ic->driver->name, ic->pools[i].name,
				     (double)(now_us - since_us[driver][i]) /
					     1e6);
	}
}

static void emit_quarantine(const struct core *core, struct writer *out)
{
	uint64_t since_us[CORE_DRIVERS_MAX][FAIRLEAD_POOLS_MAX];
	uint64_t now_us = clock_wall_us(core->clock);
	struct oldest oldest = { .since_us = since_us };
	uint32_t count = 0;
	const struct job *job;

	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++)
		for (size_t j = 0; j < FAIRLEAD_POOLS_MAX; j++)
			since_us[i][j] = now_us;
	DL_FOREACH (core->unconfirmed, job) {
		if (!job->is_quarantined)
			continue;
		count++;
		oldest.job = job;
		core_ids_each(core, job, oldest_look, &oldest);
	}
	metrics_family(out, "quarantined_grants", "gauge",
		       "Grants that are over and wait for nodes to confirm.");
	metrics_line(out, "fairlead_quarantined_grants %" PRIu32, count);
	emit_ages(core, out, now_us, since_us);
}

static void emit_states(const struct core *core, struct writer *out)
{
	const uint32_t *nodes = core->nodes.counts;

	metrics_family(out, "grants", "gauge",
		       "Grants that hold something, by state.");
	for (int i = 0; i < JOB_STATE_COUNT; i++)
		metrics_line(out, "fairlead_grants{state=\"%s\"} %" PRIu32,
			     job_state_name((enum job_state)i),
			     core->jobs.state_counts[i]);
	metrics_family(
		out, "nodes", "gauge",
		"Nodes by state; leaving and drained ones are up or down too.");
	metrics_line(out, "fairlead_nodes{state=\"up\"} %" PRIu32,
		     nodes[NODE_COUNT_UP]);
	metrics_line(out, "fairlead_nodes{state=\"down\"} %" PRIu32,
		     nodes[NODE_COUNT_DOWN]);
	metrics_line(out, "fairlead_nodes{state=\"leaving\"} %" PRIu32,
		     nodes[NODE_COUNT_LEAVING]);
	metrics_line(out, "fairlead_nodes{state=\"drained\"} %" PRIu32,
		     nodes[NODE_COUNT_DRAINED]);
	metrics_family(
		out, "nodes_drain_pending", "gauge",
		"Nodes of whose drain, or its end, the site may not know yet.");
	metrics_line(out, "fairlead_nodes_drain_pending %" PRIu32,
		     nodes[NODE_COUNT_UNNOTIFIED]);
	metrics_family(out, "recovering", "gauge",
		       "1 while a recovery is under way.");
	metrics_line(out, "fairlead_recovering %d", core->recovery > 0);
	metrics_family(out, "tombstones", "gauge",
		       "Released keys that are remembered.");
	metrics_line(out, "fairlead_tombstones %zu", core->tombstones.count);
}

static void emit_operations(const struct core *core, struct writer *out)
{
	static const char *const names[METRICS_OP_COUNT] = {
		[METRICS_RESERVE] = "reserve",
		[METRICS_APPLY] = "apply",
		[METRICS_RELEASE] = "release",
	};
	const struct metrics *metrics = &core->metrics;

	metrics_family(out, "operations_total", "counter",
		       "Operations by their result.");
	for (int i = 0; i < METRICS_OP_COUNT; i++) {
		metrics_line(out,
			     "fairlead_operations_total{operation=\"%s\","
			     "result=\"done\"} %" PRIu64,
			     names[i], metrics->done[i]);
		metrics_line(out,
			     "fairlead_operations_total{operation=\"%s\","
			     "result=\"failed\"} %" PRIu64,
			     names[i], metrics->failed[i]);
	}
	metrics_family(out, "registrations_total", "counter",
		       "Registrations of nodes that were accepted.");
	metrics_line(out, "fairlead_registrations_total %" PRIu64,
		     metrics->registrations);
	metrics_family(
		out, "reboots_total", "counter",
		"Registrations with another incarnation than the last one.");
	metrics_line(out, "fairlead_reboots_total %" PRIu64, metrics->reboots);
	metrics_family(
		out, "confirmations_total", "counter",
		"Parts of grants that are known to be gone from their node.");
	metrics_line(out, "fairlead_confirmations_total %" PRIu64,
		     metrics->confirmations);
	metrics_family(out, "lanes_lost_total", "counter",
		       "Lanes of active grants that a node has lost.");
	metrics_line(out, "fairlead_lanes_lost_total %" PRIu64,
		     metrics->lanes_lost);
	metrics_family(out, "apply_seconds", "histogram",
		       "Time until all nodes have answered an apply.");
	metrics_histogram(out, "apply_seconds", "", &metrics->apply_ms);
	metrics_family(out, "revoke_seconds", "histogram",
		       "Time until all nodes have answered a release.");
	metrics_histogram(out, "revoke_seconds", "", &metrics->revoke_ms);
}

/* Of an interconnect with external reservations. */
struct outside_metrics {
	const char *name;
	const struct outside_table *table;
};

static size_t outsides_list(const struct core *core,
			    struct outside_metrics list[CORE_DRIVERS_MAX])
{
	size_t count = 0;

	interconnects_foreach(ic, &core->interconnects)
	{
		const struct outside_table *table = core_outside_table(
			core, (uint8_t)(ic - core->interconnects.list));

		if (table != NULL)
			list[count++] =
				(struct outside_metrics){ ic->driver->name,
							  table };
	}
	return count;
}

/* States, and what has become of requests since the start. */
static void emit_reservations(const struct outside_metrics *list, size_t count,
			      struct writer *out)
{
	metrics_family(out, "external_reservations", "gauge",
		       "External reservations of grants, by state; over: to be "
		       "released.");
	for (size_t i = 0; i < count; i++)
		for (int j = 0; j < OUTSIDE_STATE_COUNT; j++)
			metrics_line(
				out,
				"fairlead_external_reservations{interconnect="
				"\"%s\",state=\"%s\"} %" PRIu32,
				list[i].name,
				outside_state_name((enum outside_state)j),
				list[i].table->state_counts[j]);
	metrics_family(out, "external_results_total", "counter",
		       "External reservations by what became of them; failed: "
		       "tries to release or list them.");
	for (size_t i = 0; i < count; i++) {
		const struct outside_counts *counts = &list[i].table->counts;

#define RESULT(result)                                                      \
	metrics_line(out,                                                   \
		     "fairlead_external_results_total{interconnect=\"%s\"," \
		     "result=\"" #result "\"} %" PRIu64,                    \
		     list[i].name, counts->result)
		RESULT(made);
		RESULT(refused);
		RESULT(late);
		RESULT(released);
		RESULT(found);
		RESULT(vanished);
		RESULT(failed);
#undef RESULT
	}
}

static void emit_outsides(const struct core *core, struct writer *out)
{
	struct outside_metrics list[CORE_DRIVERS_MAX];
	size_t count = outsides_list(core, list);
	char label[64];

	emit_reservations(list, count, out);
	metrics_family(out, "external_debts", "gauge",
		       "External reservations that are to be released.");
	for (size_t i = 0; i < count; i++)
		metrics_line(out,
			     "fairlead_external_debts{interconnect=\"%s\"} "
			     "%" PRIu32,
			     list[i].name, list[i].table->debt_count);
	metrics_family(out, "external_debt_oldest_seconds", "gauge",
		       "Age of the oldest of them; 0 when there is none.");
	for (size_t i = 0; i < count; i++) {
		const struct outside_item *item = list[i].table->debts;

		metrics_line(
			out,
			"fairlead_external_debt_oldest_seconds{interconnect="
			"\"%s\"} %.3f",
			list[i].name,
			item == NULL ? 0.0
				     : (double)outside_age_ms(
					       item, core_now_ms(core)) /
					       1e3);
	}
	metrics_family(out, "fabric_manager_up", "gauge",
		       "1 when the fabric manager answers, and takes our "
		       "credentials.");
	for (size_t i = 0; i < count; i++)
		metrics_line(
			out,
			"fairlead_fabric_manager_up{interconnect=\"%s\"} %d",
			list[i].name,
			outside_connection(list[i].table) == OUTSIDE_UP);
	metrics_family(out, "external_make_seconds", "histogram",
		       "Time until an external reservation was made.");
	for (size_t i = 0; i < count; i++) {
		snprintf(label, sizeof(label), "interconnect=\"%s\"",
			 list[i].name);
		metrics_histogram(out, "external_make_seconds", label,
				  &list[i].table->counts.make_ms);
	}
}

void core_metrics(const struct core *core, struct writer *out)
{
	emit_pools(core, out);
	emit_quarantine(core, out);
	emit_states(core, out);
	emit_operations(core, out);
	emit_outsides(core, out);
}
