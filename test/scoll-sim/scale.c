/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A broadcast and its reduction over all members, from an out-of-band group
 * and from one that is made at once. Virtual times stand beside the optimum
 * T*(N) of the same network, which a broadcast cannot beat; a reduction is a
 * broadcast backwards, for a receiver has its gap as a sender has, so both
 * together cannot beat 2 T*. What a tree may need above it has a bound, too.
 * Of the latency the receiver's gap is the last part.
 *
 * Discovery is not updated here, and all live: 100,000 members do not gossip in
 * one process. Gossip of so many is by a model that tracks a few of them
 * (bench/scoll_gossip), and by the shipped code up to 10,000.
 */
#include "scale.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cluster.h"
#include "scoll/tree/test/cost.h"

#define LATENCY_NS 8000
#define GAP_NS     1000
#define OOB_MAX    2000

#define COSTS                                                        \
	{                                                            \
		.latency_ns = LATENCY_NS - GAP_NS, .gap_ns = GAP_NS, \
		.receive_ns = GAP_NS,                                \
	}

struct moment {
	double wall_s, cpu_s;
	uint64_t events;
};

static struct moment moment_now(const struct cluster *cluster)
{
	struct timespec wall, cpu;

	clock_gettime(CLOCK_MONOTONIC, &wall);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return (struct moment){
		.wall_s = (double)wall.tv_sec + (double)wall.tv_nsec / 1e9,
		.cpu_s = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9,
		.events = cluster != NULL
				  ? transport_timeline_count(cluster->timeline)
				  : 0,
	};
}

static void say(const char *what, const struct moment *from,
		const struct moment *to)
{
	uint64_t events = to->events - from->events;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("%-24s %9" PRIu64 " events %7.3f s wall %7.3f s CPU "
	       "%6.2f M events/s %5ld MB\n",
	       what, events, to->wall_s - from->wall_s, to->cpu_s - from->cpu_s,
	       to->cpu_s > from->cpu_s
		       ? (double)events / (to->cpu_s - from->cpu_s) / 1e6
		       : 0,
	       usage.ru_maxrss / 1024);
}

/* Of a broadcast; with its reduction it has twice that. */
struct bounds {
	uint64_t optimum_ns; /* T* */
	uint64_t most_ns;    /* what this tree may need */
};

/* logp is the optimal tree, but for the gap of its closed form. */
static struct bounds bounds_of_logp(uint64_t optimum_ns)
{
	return (struct bounds){ optimum_ns, optimum_ns + GAP_NS };
}

/* Of knomial:6: its last child waits for all before it, at each level. */
static struct bounds bounds_of_knomial(uint64_t optimum_ns)
{
	return (struct bounds){ optimum_ns, optimum_ns * 3 / 2 + 4 * GAP_NS };
}

static int job_say(const struct job *job, const struct bounds *bounds)
{
	uint64_t optimum_ns = bounds->optimum_ns, most_ns = bounds->most_ns;
	uint64_t down_ns = job->last_run_ns - job->sent_ns;
	uint64_t all_ns = job->ended_ns - job->sent_ns;

	printf("  last member %.3f ms = %.3f T*, end at the root %.3f ms = "
	       "%.3f x 2 T*; T* %.3f ms\n",
	       (double)down_ns / 1e6, (double)down_ns / (double)optimum_ns,
	       (double)all_ns / 1e6, (double)all_ns / 2 / (double)optimum_ns,
	       (double)optimum_ns / 1e6);
	return job->status == 0 && down_ns >= optimum_ns &&
			       down_ns <= most_ns && all_ns >= 2 * optimum_ns &&
			       all_ns <= 2 * most_ns
		       ? 0
		       : 1;
}

static int run_one(struct cluster *cluster, struct team *team, const char *what,
		   const struct bounds *bounds)
{
	static const struct job_options options = {
		.payload_size = 64,
		.timeout_ns = CLUSTER_SECOND,
	};
	struct moment start = moment_now(cluster), end;
	struct job *job = job_start(team, &options);
	int result;

	cluster_run_jobs(cluster);
	end = moment_now(cluster);
	say(what, &start, &end);
	result = job_say(job, bounds);
	if (job->answer_count != cluster->count) {
		printf("  %" PRIu32 " answers only\n", job->answer_count);
		result = 1;
	}
	return result;
}

/* --- the engine alone --- */

#define BALLS  1000
#define THROWS 1000

struct thrower {
	struct transport_sim_port *port;
	struct transport_seam seam;
	struct transfer transfer;
	uint32_t left;
};

static void throw_on(void *ctx, uint64_t now_ns, const void *bytes, size_t size)
{
	struct thrower *thrower = ctx;
	struct iovec piece = { .iov_base = (void *)bytes, .iov_len = size };
	scoll_nid_t to;

	memcpy(&to, bytes, sizeof(to));
	if (thrower->left-- > 0)
		thrower->seam.ops->send(thrower->seam.ctx, to, &piece, 1,
					&thrower->transfer);
}

static void thrown(void *ctx, uint64_t now_ns, struct transfer *transfer,
		   int result, size_t size)
{
}

/* Members that do nothing but pass messages of 256 bytes on to themselves. */
static void run_engine(void)
{
	static const struct transport_events events = { throw_on, thrown };
	struct cluster cluster = { .timeline = transport_timeline_create() };
	struct transport_sim_options options = {
		.costs = { .latency_ns = LATENCY_NS,
			   .gap_ns = GAP_NS,
			   .jitter_ppm = 500000 },
		.timeline = cluster.timeline,
	};
	struct transport_sim *sim = transport_sim_create(&options);
	struct thrower *throwers = must_calloc(BALLS, sizeof(throwers[0]));
	struct moment start, end;

	for (uint64_t i = 0; i < BALLS; i++) {
		uint8_t ball[256] = { 0 };
		scoll_nid_t nid = i + 1;

		memcpy(ball, &nid, sizeof(nid));
		throwers[i].port =
			transport_sim_open(sim, nid, &events, &throwers[i]);
		throwers[i].seam = transport_sim_seam(throwers[i].port);
		throwers[i].left = THROWS;
		throw_on(&throwers[i], 0, ball, sizeof(ball));
	}
	start = moment_now(&cluster);
	while (transport_timeline_run(cluster.timeline))
		;
	end = moment_now(&cluster);
	say("events alone", &start, &end);
	transport_sim_destroy(sim);
	transport_timeline_destroy(cluster.timeline);
	free(throwers);
}

/* --- clusters --- */

/*
 * Each member's service is asked for all members: the square of their number.
 */
static int run_oob(uint32_t node_count)
{
	struct cluster_options options = {
		.seed = 1,
		.node_count = node_count,
		.costs = COSTS,
		.tree = SCOLL_TREE_LOGP(LATENCY_NS / GAP_NS),
		.is_lean = true,
	};
	struct cluster *cluster = cluster_create(&options);
	uint32_t *nodes = must_calloc(node_count, sizeof(nodes[0]));
	struct bounds bounds;
	uint64_t optimum_ns;
	struct team *team;
	int result = 1;

	for (uint32_t i = 0; i < node_count; i++)
		nodes[i] = i;
	printf("logp:8, %" PRIu32 " members, out-of-band\n", node_count);
	if (cost_optimum(LATENCY_NS / GAP_NS, 1, node_count, &optimum_ns) ==
		    0 &&
	    team_oob(cluster, 0, nodes, node_count, &team) == 0) {
		bounds = bounds_of_logp(optimum_ns * GAP_NS);
		result = run_one(cluster, team, "request", &bounds);
	}
	free(nodes);
	cluster_destroy(cluster);
	return result;
}

static int run_tree(uint32_t node_count, scoll_tree_type_t tree,
		    const char *name, const struct bounds *bounds)
{
	struct cluster_options options = {
		.seed = 1,
		.node_count = node_count,
		.costs = COSTS,
		.tree = tree,
		.is_lean = true,
	};
	struct moment start = moment_now(NULL), end;
	struct cluster *cluster = cluster_create(&options);
	uint32_t *nodes = must_calloc(node_count, sizeof(nodes[0]));
	struct team *team;
	int result = 0;

	for (uint32_t i = 0; i < node_count; i++)
		nodes[i] = i;
	printf("%s, %" PRIu32 " members, latency %d ns, gap %d ns\n", name,
	       node_count, LATENCY_NS, GAP_NS);
	end = moment_now(cluster);
	say("members", &start, &end);
	start = end;
	if (team_create(cluster, 0, nodes, node_count, true, &team) < 0)
		return 1;
	while (!team->was_notified && transport_timeline_run(cluster->timeline))
		;
	end = moment_now(cluster);
	say("group made", &start, &end);
	result |= run_one(cluster, team, "first request", bounds);
	result |= run_one(cluster, team, "second request", bounds);
	start = moment_now(cluster);
	free(nodes);
	cluster_destroy(cluster);
	end = moment_now(NULL);
	end.events = start.events;
	say("end", &start, &end);
	return result;
}

int scale_run(uint32_t node_count)
{
	struct bounds of_logp, of_knomial;
	uint64_t optimum_ns;
	int result = 0;

	run_engine();
	printf("a receiver has a gap as a sender has; discovery is not "
	       "updated: "
	       "gossip of so many is by a model (bench/run scoll_gossip)\n");
	if (cost_optimum(LATENCY_NS / GAP_NS, 1, node_count, &optimum_ns) < 0)
		return 1;
	of_logp = bounds_of_logp(optimum_ns * GAP_NS);
	of_knomial = bounds_of_knomial(optimum_ns * GAP_NS);
	result |= run_tree(node_count, SCOLL_TREE_LOGP(LATENCY_NS / GAP_NS),
			   "logp:8", &of_logp);
	result |= run_tree(node_count, SCOLL_TREE_KNOMIAL(6), "knomial:6",
			   &of_knomial);
	result |= run_oob(node_count < OOB_MAX ? node_count : OOB_MAX);
	return result;
}
