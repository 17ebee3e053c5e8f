/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A broadcast and its replies over many members in this one process, in real
 * time: the library's core over the simulated network, whose time is the
 * clock's. What is due is waited for; what runs late, since the processor was
 * busy, is late for all that comes of it.
 *
 *	scoll_virtual NODES TREE LATENCY_US GAP_US DEAD LOST_PPM R_MS P_MS SEED
 *
 * DEAD members, drawn by the seed, have died and nobody knows; so many of a
 * million messages and replies are lost, of which their senders hear. The
 * group is made before, in no time.
 *
 * Ends with status 3 when a member runs it twice, or neither runs it nor is
 * named as failed; when it is faster than any tree can be; or when one has
 * failed for no reason, unless the clock was so late that a time may have run
 * out.
 *
 * Prints one JSON object: down_ns, until the last member has it; time_ns, until
 * the root has its end; optimum_ns, which no tree can be below (scoll/tree/
 * cost.h); bound_ns, which is (depth + 1) R + P; failed, answered; late_ns, the
 * worst of what ran late; is_exact, whether it was in time for failures to be
 * checked; events, and cpu_ns.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "../test/scoll-sim/cluster.h"
#include "base/seam.h"
#include "rounds.h"
#include "scoll/tree/test/cost.h"
#include "scoll/tree/tree.h"

#define NODES_MAX     100000
#define US_MAX        1000000
#define MS_MAX        3600000
#define US            UINT64_C(1000)
#define PAYLOAD_BYTES 64
#define LATE_PART     8

/* The timeline follows the clock, which is so much ahead of it. */
struct pace {
	struct transport_timeline *timeline;
	uint64_t ahead_ns;
	uint64_t late_ns; /* the worst */
};

struct options {
	struct cluster_options cluster;
	uint32_t dead_count, lost_ppm;
	uint64_t timeout_ns;
};

static uint64_t pace_now_ns(const struct pace *pace)
{
	return rounds_now_ns() - pace->ahead_ns;
}

static void pace_start(struct pace *pace, struct transport_timeline *timeline)
{
	*pace = (struct pace){
		.timeline = timeline,
		.ahead_ns =
			rounds_now_ns() - transport_timeline_now_ns(timeline),
	};
}

static void wait_until(uint64_t clock_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(clock_ns / CLUSTER_SECOND),
		.tv_nsec = (long)(clock_ns % CLUSTER_SECOND),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) ==
	       EINTR)
		;
}

/* The next event, when it is due or as soon as there is time for it. */
static void pace_step(struct pace *pace)
{
	uint64_t next_ns = transport_timeline_next_ns(pace->timeline);
	uint64_t now_ns = pace_now_ns(pace);

	if (next_ns == DEADLINE_NONE) {
		fputs("scoll_virtual: a request never ends\n", stderr);
		exit(CLUSTER_EXIT_BROKEN);
	}
	if (next_ns > now_ns) {
		wait_until(next_ns + pace->ahead_ns);
		now_ns = pace_now_ns(pace);
	}
	if (now_ns - next_ns > pace->late_ns)
		pace->late_ns = now_ns - next_ns;
	transport_timeline_follow(pace->timeline, now_ns);
	transport_timeline_run(pace->timeline);
}

/* A group of all that all know, made before the clock is followed. */
static struct team *group_make(struct cluster *cluster)
{
	uint32_t *nodes = must_calloc(cluster->count, sizeof(nodes[0]));
	struct team *team;

	for (uint32_t i = 0; i < cluster->count; i++)
		nodes[i] = i;
	if (team_create(cluster, 0, nodes, cluster->count, true, &team) < 0)
		cluster_fail(cluster, "no group");
	free(nodes);
	while (!team->was_notified && transport_timeline_run(cluster->timeline))
		;
	if (team->group == NULL)
		cluster_fail(cluster, "no group: %d", team->status);
	return team;
}

static void members_kill(struct cluster *cluster, uint32_t count)
{
	while (count > 0) {
		uint32_t index = 1 + (uint32_t)cluster_below(
					     cluster, cluster->count - 1);

		if (cluster->members[index].core == NULL)
			continue;
		cluster_crash(cluster, index);
		count--;
	}
}

static void network_spoil(struct cluster *cluster, uint32_t lost_ppm)
{
	uint32_t faults_ppm[TRANSPORT_SIM_FAULT_COUNT] = {
		[TRANSPORT_SIM_LOST] = lost_ppm,
	};

	if (lost_ppm == 0)
		return;
	cluster->is_noisy = cluster->was_noisy = true;
	transport_sim_faults_set(cluster->sim, faults_ppm);
}

/* Those that died are among the failed, the others have one end each. */
static void ends_check(const struct job *job)
{
	struct cluster *cluster = job->cluster;

	for (uint32_t i = 0; i < cluster->count; i++) {
		if (cluster->members[i].core == NULL &&
		    !job->nodes[i].is_failed)
			cluster_fail(cluster, "%" PRIu32 " is dead, not failed",
				     i);
	}
	if (job->failure_count == 0 && job->answer_count != cluster->count)
		cluster_fail(cluster, "%" PRIu32 " answers", job->answer_count);
}

/*
 * How late anything may be and no time runs out by it: each level of the tree
 * has R for a few events, and half of it for the network.
 */
static bool is_too_late(const struct options *options, const struct pace *pace)
{
	return pace->late_ns > options->cluster.rtt_ns / LATE_PART;
}

static struct job *job_run(const struct options *options, struct pace *pace)
{
	const struct job_options request = {
		.payload_size = PAYLOAD_BYTES,
		.timeout_ns = options->timeout_ns,
	};
	struct cluster *cluster = cluster_create(&options->cluster);
	struct team *team = group_make(cluster);
	struct job *job;

	members_kill(cluster, options->dead_count);
	network_spoil(cluster, options->lost_ppm);
	pace_start(pace, cluster->timeline);
	job = job_start(team, &request);
	job->deadline_ns = DEADLINE_NONE; /* it is reported, not judged */
	while (job->state == JOB_SENT) {
		pace_step(pace);
		if (is_too_late(options, pace))
			job->is_disturbed = true;
	}
	return job;
}

/* No tree is faster than that, however late the clock. */
static uint64_t optimum_check(const struct options *options,
			      const struct job *job)
{
	const struct transport_sim_costs *costs = &options->cluster.costs;
	uint64_t down_ns = job->last_run_ns - job->sent_ns;
	uint64_t optimum;

	if (cost_optimum(costs->latency_ns / US, costs->gap_ns / US,
			 options->cluster.node_count, &optimum) < 0)
		rounds_die("T*");
	if (job->failure_count == 0 && down_ns < optimum * US)
		cluster_fail(job->cluster,
			     "%" PRIu64 " ns, and T* is %" PRIu64 " ns",
			     down_ns, optimum * US);
	return optimum * US;
}

static void print(const struct options *options, const struct job *job,
		  const struct pace *pace)
{
	uint64_t optimum_ns = optimum_check(options, job);
	uint64_t bound_ns;
	struct timespec cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	bound_ns = (job->depth + 1) * options->cluster.rtt_ns +
		   options->timeout_ns;
	printf("{\"down_ns\": %" PRIu64 ", \"time_ns\": %" PRIu64
	       ", \"optimum_ns\": %" PRIu64 ", \"bound_ns\": %" PRIu64
	       ", \"depth\": %" PRIu32 ", \"failed\": %" PRIu32
	       ", \"answered\": %" PRIu32 ", \"late_ns\": %" PRIu64
	       ", \"is_exact\": %s, \"events\": %" PRIu64
	       ", \"cpu_ns\": %" PRIu64 "}\n",
	       job->last_run_ns - job->sent_ns, job->ended_ns - job->sent_ns,
	       optimum_ns, bound_ns, job->depth, job->failure_count,
	       job->answer_count, pace->late_ns,
	       job->is_disturbed ? "false" : "true",
	       transport_timeline_count(pace->timeline),
	       (uint64_t)cpu.tv_sec * CLUSTER_SECOND + (uint64_t)cpu.tv_nsec);
}

static struct options options_read(char **words)
{
	struct options options = {
		.cluster = { .is_lean = true },
	};
	struct cluster_options *cluster = &options.cluster;
	struct fairlead_error error;
	uint32_t count = (uint32_t)rounds_number(words[0], 2, NODES_MAX);

	cluster->node_count = count;
	if (tree_type_parse(NULL, words[1], &cluster->tree, &error) < 0) {
		fprintf(stderr, "scoll_virtual: %s\n", error.text);
		exit(2);
	}
	cluster->costs.latency_ns = rounds_number(words[2], 1, US_MAX) * US;
	cluster->costs.gap_ns = rounds_number(words[3], 1, US_MAX) * US;
	options.dead_count = (uint32_t)rounds_number(words[4], 0, count - 1);
	options.lost_ppm = (uint32_t)rounds_number(words[5], 0, 1000000);
	cluster->rtt_ns = rounds_number(words[6], 1, MS_MAX) * CLUSTER_MS;
	options.timeout_ns = rounds_number(words[7], 1, MS_MAX) * CLUSTER_MS;
	cluster->seed = rounds_number(words[8], 0, UINT32_MAX);
	return options;
}

int main(int argc, char **argv)
{
	struct options options;
	struct pace pace;
	struct job *job;

	if (argc != 10) {
		fputs("usage: scoll_virtual NODES TREE LATENCY_US GAP_US DEAD "
		      "LOST_PPM R_MS P_MS SEED\n",
		      stderr);
		return 2;
	}
	options = options_read(argv + 1);
	prctl(PR_SET_TIMERSLACK, 1UL);
	job = job_run(&options, &pace);
	ends_check(job);
	print(&options, job, &pace);
	cluster_destroy(job->cluster);
	return 0;
}
