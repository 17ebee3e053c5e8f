/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prometheus text: names begin with fairlead_, times are in seconds. Counters
 * begin at 0 with each start of the manager.
 */
#include "lanes/manager/core/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/view.h"

static const uint32_t bounds_ms[METRICS_BUCKETS] = {
	5, 10, 25, 50, 100, 250, 1000, 2500, 10000, 30000,
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

/* Where lines go. */
struct sink {
	void (*emit)(void *arg, const char *line);
	void *arg;
};

static void line(const struct sink *sink, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void line(const struct sink *sink, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sink->emit(sink->arg, text);
}

static void head(const struct sink *sink, const char *name, const char *type,
		 const char *help)
{
	line(sink, "# HELP fairlead_%s %s", name, help);
	line(sink, "# TYPE fairlead_%s %s", name, type);
}

static void emit_histogram(const struct sink *sink, const char *name,
			   const char *help, const struct histogram *histogram)
{
	uint64_t below = 0;

	head(sink, name, "histogram", help);
	for (size_t i = 0; i < METRICS_BUCKETS; i++) {
		below += histogram->buckets[i];
		line(sink, "fairlead_%s_bucket{le=\"%g\"} %" PRIu64, name,
		     bounds_ms[i] / 1e3, below);
	}
	line(sink, "fairlead_%s_bucket{le=\"+Inf\"} %" PRIu64, name,
	     histogram->count);
	line(sink, "fairlead_%s_sum %.3f", name,
	     (double)histogram->sum_ms / 1e3);
	line(sink, "fairlead_%s_count %" PRIu64, name, histogram->count);
}

static void emit_pools(const struct core *core, const struct sink *sink)
{
	head(sink, "identifiers", "gauge",
	     "Identifiers of a pool by set. universe: all that are configured; "
	     "draining: those in use that are not.");
	interconnects_foreach(ic, &core->interconnects)
	{
		for (size_t i = 0; i < ic->pool_count; i++) {
			struct pool_counts counts =
				view_pool_counts(core, &ic->pools[i]);
			const char *driver = ic->driver->name;
			const char *pool = ic->pools[i].name;

#define SET(set)                                                     \
	line(sink,                                                   \
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

static void emit_ages(const struct core *core, const struct sink *sink,
		      uint64_t now_us, uint64_t since_us[][FAIRLEAD_POOLS_MAX])
{
	head(sink, "quarantine_oldest_seconds", "gauge",
	     "Age of the pool's oldest quarantine; 0 when there is none.");
	interconnects_foreach(ic, &core->interconnects)
	{
		size_t driver = (size_t)(ic - core->interconnects.list);

		for (size_t i = 0; i < ic->pool_count; i++)
			line(sink,
			     "fairlead_quarantine_oldest_seconds{"
			     "interconnect=\"%s\",pool=\"%s\"} %.3f",
			     ic->driver->name, ic->pools[i].name,
			     (double)(now_us - since_us[driver][i]) / 1e6);
	}
}

static void emit_quarantine(const struct core *core, const struct sink *sink)
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
	head(sink, "quarantined_grants", "gauge",
	     "Grants that are over and wait for nodes to confirm.");
	line(sink, "fairlead_quarantined_grants %" PRIu32, count);
	emit_ages(core, sink, now_us, since_us);
}

static void emit_states(const struct core *core, const struct sink *sink)
{
	const uint32_t *nodes = core->nodes.counts;

	head(sink, "grants", "gauge", "Grants that hold something, by state.");
	for (int i = 0; i < JOB_STATE_COUNT; i++)
		line(sink, "fairlead_grants{state=\"%s\"} %" PRIu32,
		     job_state_name((enum job_state)i),
		     core->jobs.state_counts[i]);
	head(sink, "nodes", "gauge",
	     "Nodes by state; leaving and drained ones are up or down too.");
	line(sink, "fairlead_nodes{state=\"up\"} %" PRIu32,
	     nodes[NODE_COUNT_UP]);
	line(sink, "fairlead_nodes{state=\"down\"} %" PRIu32,
	     nodes[NODE_COUNT_DOWN]);
	line(sink, "fairlead_nodes{state=\"leaving\"} %" PRIu32,
	     nodes[NODE_COUNT_LEAVING]);
	line(sink, "fairlead_nodes{state=\"drained\"} %" PRIu32,
	     nodes[NODE_COUNT_DRAINED]);
	head(sink, "nodes_drain_pending", "gauge",
	     "Nodes of whose drain, or its end, the site may not know yet.");
	line(sink, "fairlead_nodes_drain_pending %" PRIu32,
	     nodes[NODE_COUNT_UNNOTIFIED]);
	head(sink, "recovering", "gauge", "1 while a recovery is under way.");
	line(sink, "fairlead_recovering %d", core->recovery > 0);
	head(sink, "tombstones", "gauge", "Released keys that are remembered.");
	line(sink, "fairlead_tombstones %zu", core->tombstones.count);
}

static void emit_operations(const struct core *core, const struct sink *sink)
{
	static const char *const names[METRICS_OP_COUNT] = {
		[METRICS_RESERVE] = "reserve",
		[METRICS_APPLY] = "apply",
		[METRICS_RELEASE] = "release",
	};
	const struct metrics *metrics = &core->metrics;

	head(sink, "operations_total", "counter",
	     "Operations by their result.");
	for (int i = 0; i < METRICS_OP_COUNT; i++) {
		line(sink,
		     "fairlead_operations_total{operation=\"%s\","
		     "result=\"done\"} %" PRIu64,
		     names[i], metrics->done[i]);
		line(sink,
		     "fairlead_operations_total{operation=\"%s\","
		     "result=\"failed\"} %" PRIu64,
		     names[i], metrics->failed[i]);
	}
	head(sink, "registrations_total", "counter",
	     "Registrations of nodes that were accepted.");
	line(sink, "fairlead_registrations_total %" PRIu64,
	     metrics->registrations);
	head(sink, "reboots_total", "counter",
	     "Registrations with another incarnation than the last one.");
	line(sink, "fairlead_reboots_total %" PRIu64, metrics->reboots);
	head(sink, "confirmations_total", "counter",
	     "Parts of grants that are known to be gone from their node.");
	line(sink, "fairlead_confirmations_total %" PRIu64,
	     metrics->confirmations);
	head(sink, "lanes_lost_total", "counter",
	     "Lanes of active grants that a node has lost.");
	line(sink, "fairlead_lanes_lost_total %" PRIu64, metrics->lanes_lost);
	emit_histogram(sink, "apply_seconds",
		       "Time until all nodes have answered an apply.",
		       &metrics->apply_ms);
	emit_histogram(sink, "revoke_seconds",
		       "Time until all nodes have answered a release.",
		       &metrics->revoke_ms);
}

void core_metrics(const struct core *core,
		  void (*emit)(void *arg, const char *line), void *arg)
{
	struct sink sink = { .emit = emit, .arg = arg };

	emit_pools(core, &sink);
	emit_quarantine(core, &sink);
	emit_states(core, &sink);
	emit_operations(core, &sink);
}
