/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seed decides on a cluster, on what goes wrong in it, and on a row of
 * acts. Then all faults end, and within a bounded time everything has to have
 * ended, too.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_internal.h"

#define NODES_MAX        160
#define JOBS_OPEN_MAX    24
#define LIFETIME_NS      (20 * CLUSTER_SECOND)
#define GOSSIP_NODES_MAX 24

int64_t scenario_anybody(struct scenario *scenario)
{
	struct cluster *cluster = scenario->cluster;

	for (unsigned int i = 0; i < 8; i++) {
		uint32_t index = scenario_below(scenario, cluster->count);
		struct member *member = &cluster->members[index];

		if (member->core != NULL && !member->is_leaving &&
		    transport_sim_paused_ns(member->port) <=
			    cluster_now_ns(cluster))
			return index;
	}
	return -1;
}

/* --- groups and requests --- */

static uint32_t nodes_draw(struct scenario *scenario, uint32_t *nodes)
{
	struct cluster *cluster = scenario->cluster;
	uint32_t count = 0;
	uint32_t first = scenario_below(scenario, cluster->count);
	unsigned int percent = scenario_dice(scenario, 50)
				       ? 100
				       : 20 + scenario_below(scenario, 80);

	for (uint32_t i = 0; i < cluster->count; i++) {
		if (scenario_dice(scenario, percent))
			nodes[count++] = (first + i) % cluster->count;
	}
	if (count == 0)
		nodes[count++] = first;
	if (scenario_dice(scenario, 30)) { /* any order */
		for (uint32_t i = count - 1; i > 0; i--) {
			uint32_t other = scenario_below(scenario, i + 1);
			uint32_t node = nodes[i];

			nodes[i] = nodes[other];
			nodes[other] = node;
		}
	}
	return count;
}

static void act_team(struct scenario *scenario)
{
	struct cluster *cluster = scenario->cluster;
	uint32_t nodes[NODES_MAX];
	uint32_t count = nodes_draw(scenario, nodes);
	int64_t owner = scenario_anybody(scenario);
	struct team *team, *other = NULL;
	int result;

	if (owner < 0)
		return;
	for (uint32_t i = 0; i < cluster->team_count; i++) {
		if (cluster->teams[i]->is_oob && scenario_dice(scenario, 30))
			other = cluster->teams[i];
	}
	switch (scenario_below(scenario, 4)) {
	case 0:
		cluster_hit(cluster, "group: immediate");
		result = team_create(cluster, (uint32_t)owner, nodes, count,
				     true, &team);
		break;
	case 1:
		cluster_hit(cluster, "group: delayed");
		result = team_create(cluster, (uint32_t)owner, nodes, count,
				     false, &team);
		break;
	case 2:
		if (other != NULL) {
			cluster_hit(cluster, "group: out-of-band, again");
			result = team_oob_again(cluster, (uint32_t)owner, other,
						&team);
			break;
		}
		/* fallthrough */
	default:
		cluster_hit(cluster, "group: out-of-band");
		result =
			team_oob(cluster, (uint32_t)owner, nodes, count, &team);
		break;
	}
	if (result == -EMSGSIZE)
		cluster_hit(cluster, "group: too large for a delayed one");
	else if (result == -EAGAIN && cluster->members[owner].was_stealthy)
		cluster_hit(cluster, "group: refused in stealth");
	else if (result < 0 && result != -ENOMEM &&
		 !cluster->members[owner].is_bare)
		cluster_fail(cluster, "a group cannot be made: %d", result);
}

static struct team *team_draw(struct scenario *scenario)
{
	struct cluster *cluster = scenario->cluster;

	for (unsigned int i = 0; i < 8 && cluster->team_count > 0; i++) {
		struct team *team = cluster->teams[scenario_below(
			scenario, cluster->team_count)];
		struct member *owner = &cluster->members[team->owner];

		if (team->group != NULL && owner->core != NULL &&
		    owner->life == team->owner_life && !owner->is_leaving &&
		    transport_sim_paused_ns(owner->port) <=
			    cluster_now_ns(cluster))
			return team;
	}
	return NULL;
}

static uint32_t payload_draw(struct scenario *scenario)
{
	if (scenario_dice(scenario, 70))
		return 4 + scenario_below(scenario, 200);
	if (scenario_dice(scenario, 70))
		return 4 + scenario_below(scenario, 3000);
	cluster_hit(scenario->cluster, "request: near the limit");
	return 3500 + scenario_below(scenario, 600);
}

/* Why a request may not be made or sent. */
static void refusal_check(struct scenario *scenario, const struct team *team,
			  int result)
{
	struct cluster *cluster = scenario->cluster;
	const struct member *owner = &cluster->members[team->owner];
	const struct discovery *discovery = member_discovery(owner);

	cluster_hit(cluster, "refused: %s", strerrorname_np(-result));
	switch (result) {
	case -EMSGSIZE:
	case -ENOMEM:
	case -EAGAIN:
		return;
	case -ESHUTDOWN:
		if (team->is_closed)
			return;
		break;
	case -EHOSTDOWN:
		for (uint32_t i = 0; i < team->node_count; i++) {
			uint32_t index = team->nodes[i];

			if (!discovery_is_alive(discovery,
						cluster->members[index].nid))
				return;
		}
		break;
	case -EINVAL: /* its service names other members */
	case -ENOENT:
		if (team->is_oob && owner->drift > 0)
			return;
		break;
	}
	cluster_fail(cluster, "a request is refused with %d", result);
}

static void act_job(struct scenario *scenario)
{
	struct cluster *cluster = scenario->cluster;
	struct team *team = team_draw(scenario);
	uint32_t nodes[NODES_MAX];
	struct job_options options = {
		.payload_size = payload_draw(scenario),
		.timeout_ns = (1 + scenario_below(scenario, 20)) * CLUSTER_MS,
		.is_mean = true,
	};
	struct job *job;
	int result;

	if (team == NULL || cluster->jobs_open >= JOBS_OPEN_MAX)
		return;
	/* What its root knows of the group is not what its team has. */
	if (team->is_oob && cluster->members[team->owner].drift > 0)
		return;
	if (scenario_dice(scenario, 25)) {
		options.bulk_size = 1 + scenario_below(scenario, 100000);
		cluster_hit(cluster, "request: bulk");
	}
	if (scenario_dice(scenario, 30)) {
		options.part_entries = 1 + scenario_below(scenario, 4);
		cluster_hit(cluster, "request: reply in parts");
	}
	if (scenario_dice(scenario, 15)) {
		options.nodes = nodes;
		for (uint32_t i = 0; i < team->node_count; i++) {
			if (scenario_dice(scenario, 50))
				nodes[options.node_count++] = team->nodes[i];
		}
		if (options.node_count == 0)
			nodes[options.node_count++] = team->nodes[0];
		cluster_hit(cluster, "request: subset");
	}
	if (scenario_dice(scenario, 25)) {
		options.flags |= SCOLL_ALIVE_ONLY;
		cluster_hit(cluster, "request: who lives");
	}
	if (!team->is_oob && scenario_dice(scenario, 10)) {
		options.flags |= SCOLL_LAST;
		cluster_hit(cluster, "request: last");
	}
	result = job_new(team, &options, &job);
	if (result == 0) {
		result = job_send(job);
		job->options.nodes = NULL;
	}
	if (result < 0)
		refusal_check(scenario, team, result);
}

static void act_abort(struct scenario *scenario)
{
	struct cluster *cluster = scenario->cluster;

	for (unsigned int i = 0; i < 8 && cluster->job_count > 0; i++) {
		struct job *job =
			cluster->jobs[cluster->job_count - 1 -
				      scenario_below(
					      scenario,
					      cluster->job_count < 16
						      ? cluster->job_count
						      : 16)];

		if (job->state != JOB_SENT ||
		    transport_sim_paused_ns(cluster->members[job->root].port) >
			    cluster_now_ns(cluster))
			continue;
		cluster_hit(cluster, "request: aborted by its root");
		job_abort(job);
		return;
	}
}

static void act_destroy(struct scenario *scenario)
{
	struct team *team = team_draw(scenario);

	if (team == NULL)
		return;
	cluster_hit(scenario->cluster, "group: destroyed");
	team_destroy(team);
}

static void act(struct transport_timeline_event *event)
{
	struct scenario *scenario =
		(struct scenario *)((char *)event -
				    offsetof(struct scenario, act));
	struct cluster *cluster = scenario->cluster;
	unsigned int number = scenario_below(scenario, 100);

	if (number < 15)
		act_team(scenario);
	else if (number < 65)
		act_job(scenario);
	else if (number < 70)
		act_abort(scenario);
	else if (number < 74)
		act_destroy(scenario);
	else
		chaos_act(scenario);
	if (--scenario->acts_left > 0)
		transport_timeline_set(
			cluster->timeline, event,
			cluster_now_ns(cluster) +
				cluster_below(cluster, scenario->pace_ns));
}

/* --- the cluster that a seed has --- */

static uint32_t count_draw(struct sim_rng *rng)
{
	uint64_t number = sim_rng_below(rng, 100);

	if (number < 60)
		return 1 + (uint32_t)sim_rng_below(rng, 12);
	if (number < 94)
		return 1 + (uint32_t)sim_rng_below(rng, 40);
	return 100 + (uint32_t)sim_rng_below(rng, NODES_MAX - 99);
}

static void faults_draw(struct sim_rng *rng, struct cluster_options *options)
{
	static const enum transport_sim_fault noises[] = {
		TRANSPORT_SIM_LOST,      TRANSPORT_SIM_DENIED,
		TRANSPORT_SIM_ALTERED,   TRANSPORT_SIM_CUT_SHORT,
		TRANSPORT_SIM_READ_LOST,
	};
	static const enum transport_sim_fault delays[] = {
		TRANSPORT_SIM_LATE_END,
		TRANSPORT_SIM_HELD,
		TRANSPORT_SIM_FULL,
		TRANSPORT_SIM_KEPT,
	};

	for (unsigned int i = 0; i < 4; i++) {
		if (sim_rng_below(rng, 2) == 0)
			options->faults_ppm[delays[i]] =
				(uint32_t)sim_rng_below(rng, 300000);
	}
	if (sim_rng_below(rng, 3) == 0)
		options->window = 1 + (uint32_t)sim_rng_below(rng, 4);
	options->faults_ppm[TRANSPORT_SIM_REFUSED] = 500000;
	options->faults_ppm[TRANSPORT_SIM_KEPT_BACK] = 500000;
	options->faults_ppm[TRANSPORT_SIM_NEXT_LIFE] = 500000;
	if (sim_rng_below(rng, 3) > 0)
		return;
	for (unsigned int i = 0; i < 5; i++)
		options->faults_ppm[noises[i]] =
			(uint32_t)sim_rng_below(rng, 20000);
	options->is_sealed = true; /* what is altered is seen */
}

static void options_draw(struct sim_rng *rng, struct cluster_options *options)
{
	static const scoll_tree_type_t trees[] = {
		SCOLL_TREE_FLAT,       SCOLL_TREE_BINOMIAL,
		SCOLL_TREE_KNOMIAL(3), SCOLL_TREE_KNOMIAL(4),
		SCOLL_TREE_KARY(2),    SCOLL_TREE_KARY(3),
		SCOLL_TREE_LOGP(4),
	};

	options->tree = trees[sim_rng_below(rng, 7)];
	options->order = sim_rng_below(rng, 4) == 0 ? SCOLL_ORDER_RANK
						    : SCOLL_ORDER_DEPTH;
	options->rtt_ns = (5 + sim_rng_below(rng, 20)) * CLUSTER_MS;
	options->costs.latency_ns = 1000 + sim_rng_below(rng, 200000);
	options->costs.gap_ns = sim_rng_below(rng, 10000);
	options->costs.receive_ns =
		sim_rng_below(rng, 2) * sim_rng_below(rng, 10000);
	options->costs.byte_ps = (uint32_t)sim_rng_below(rng, 1000);
	options->costs.jitter_ppm = (uint32_t)sim_rng_below(rng, 2000000);
	options->held_ns = options->rtt_ns / 16;
	if (options->node_count > 60) /* they crowd at their roots */
		options->rtt_ns *= 4;
	options->bulk_segment = 4096 << sim_rng_below(rng, 4);
	options->bulk_bandwidth =
		sim_rng_below(rng, 2) == 0 ? 1000000 : 100000000;
	options->group_lifetime_ns = LIFETIME_NS;
	options->is_sealed = sim_rng_below(rng, 2) == 0;
	if (sim_rng_below(rng, 3) == 0)
		options->callback_delay_ns = options->rtt_ns / 32;
	faults_draw(rng, options);
}

/* Some find out by themselves who lives. */
static void gossip_draw(struct sim_rng *rng, struct cluster_options *options)
{
	if (sim_rng_below(rng, 6) > 0 || options->node_count > GOSSIP_NODES_MAX)
		return;
	options->gossip_cycle_ns = (5 + sim_rng_below(rng, 10)) * CLUSTER_MS;
	options->gossip_lost_ppm = (uint32_t)sim_rng_below(rng, 50000);
}

/* --- the end --- */

static void calm_down(struct scenario *scenario)
{
	static const uint32_t none[TRANSPORT_SIM_FAULT_COUNT];
	struct cluster *cluster = scenario->cluster;

	cluster_trace(cluster, "calm");
	if (cluster->is_cut)
		chaos_cut(scenario);
	if (cluster->is_noisy) {
		cluster->is_noisy = false;
		cluster->noise_ns = cluster_now_ns(cluster);
	}
	transport_sim_faults_set(cluster->sim, none);
	for (uint32_t i = 0; i < cluster->count; i++) {
		if (cluster->members[i].core == NULL)
			continue;
		cluster_starve(cluster, i, 0);
		if (cluster->members[i].is_bare)
			cluster_service_set(cluster, i, true);
		chaos_slow(cluster, i, 1);
	}
}

/* Requests over each group that is left work as ever. */
static void works_again(struct scenario *scenario)
{
	struct cluster *cluster = scenario->cluster;
	struct job_options options = {
		.payload_size = 64,
		.timeout_ns = CLUSTER_MS,
		.flags = SCOLL_ALIVE_ONLY,
	};
	uint32_t team_count = cluster->team_count;

	for (uint32_t i = 0; i < cluster->count; i++)
		cluster->members[i].drift = 0;
	for (uint32_t i = 0; i < team_count; i++) {
		struct team *team = cluster->teams[i];
		struct job *job = NULL;
		int result = 0;

		/* The first may find that a group was forgotten. */
		for (unsigned int turn = 0; turn < 3; turn++) {
			if (team->group == NULL || team->is_closed)
				break;
			result = job_new(team, &options, &job);
			if (result == 0)
				result = job_send(job);
			/* Nobody of them lives, or they are too many. */
			if (result == -EHOSTDOWN || result == -EMSGSIZE)
				break;
			if (result < 0)
				cluster_fail(cluster,
					     "calm: a request is refused: %d",
					     result);
			cluster_run_jobs(cluster);
			if (job->status == 0)
				break;
		}
		if (job != NULL && result == 0 && job->status != 0)
			cluster_fail(cluster,
				     "calm: requests over %s do not succeed",
				     team->name);
		if (job != NULL && result == 0)
			cluster_hit(cluster, "calm: a request succeeds");
	}
}

static void finish(struct scenario *scenario)
{
	struct cluster *cluster = scenario->cluster;
	uint64_t start_ns;

	calm_down(scenario);
	/* All deadlines, and all news have arrived. */
	start_ns = cluster_now_ns(cluster);
	cluster_run_jobs(cluster);
	cluster_run_until(cluster,
			  start_ns + scenario->detect_ns + 5 * CLUSTER_SECOND);
	oracle_quiet(cluster);
	works_again(scenario);
	for (uint32_t i = 0; i < cluster->team_count; i++) {
		if (cluster->teams[i]->owner_life ==
		    cluster->members[cluster->teams[i]->owner].life)
			team_destroy(cluster->teams[i]);
	}
	cluster_hush(cluster);
	cluster_run(cluster);
	oracle_quiet(cluster);
	oracle_groups_gone(cluster);
}

static void hits_take(struct cluster *cluster)
{
	const struct transport_sim_stats *stats =
		transport_sim_stats(cluster->sim);
	struct coverage *coverage = cluster->options.coverage;
	uint64_t refused = 0;

	for (int i = 0; i < TRANSPORT_SIM_FAULT_COUNT; i++) {
		char name[100];

		snprintf(name, sizeof(name), "network: %s",
			 transport_sim_fault_text((enum transport_sim_fault)i));
		coverage_add(coverage, name, stats->faults[i]);
	}
	coverage_add(coverage, "network: messages", stats->messages);
	coverage_add(coverage, "network: replies", stats->replies);
	coverage_add(coverage, "network: reads", stats->reads);
	coverage_add(coverage, "network: unexpected replies",
		     stats->replies_unexpected);
	coverage_add(coverage, "network: reads of closed memory",
		     stats->reads_denied);
	coverage_add(coverage, "network: cancels", stats->cancels);
	for (uint32_t i = 0; i < cluster->count; i++) {
		struct scoll_stats own = { .size = sizeof(own) };

		if (cluster->members[i].core == NULL)
			continue;
		scoll_core_stats(cluster->members[i].core, &own);
		refused += own.messages_refused;
	}
	coverage_add(coverage, "messages refused", refused);
}

static uint64_t hash_join(uint64_t hash, uint64_t next)
{
	return (hash << 1 | hash >> 63) ^ next;
}

void scenario_run(const struct scenario_options *options,
		  struct scenario_result *ret_result)
{
	struct cluster_options own = {
		.seed = options->seed,
		.is_verbose = options->is_verbose,
		.coverage = options->coverage,
	};
	struct scenario scenario = { .act.run = act };
	struct sim_rng rng;
	struct cluster *cluster;

	ret_result->hash = 0;

	sim_rng_init(&rng, options->seed ^ UINT64_C(0x5c0115c0115c0115));
	own.node_count = count_draw(&rng);
	if (options->node_count > 0)
		own.node_count = options->node_count;
	options_draw(&rng, &own);
	gossip_draw(&rng, &own);
	cluster = cluster_create(&own);
	scenario.cluster = cluster;
	cluster->user = &scenario;
	cluster->left = chaos_left;
	scenario.is_noisy = cluster->is_noisy;
	scenario.acts_left = 40 + scenario_below(&scenario, 80);
	scenario.pace_ns = (1 + scenario_below(&scenario, 20)) * CLUSTER_MS;
	scenario.detect_ns = (1 + scenario_below(&scenario, 300)) * CLUSTER_MS;
	if (own.gossip_cycle_ns > 0)
		scenario.detect_ns = gossip_detect_ns(&own);
	cluster->detect_ns = scenario.detect_ns;
	scenario.chaos =
		(uint32_t)sim_rng_u64(&rng) | (uint32_t)sim_rng_u64(&rng);
	if (sim_rng_below(&rng, 4) == 0)
		scenario.chaos = 0;
	if (sim_rng_below(&rng, 2) == 0)
		cluster->conduct_ppm = (uint32_t)sim_rng_below(&rng, 200000);
	if (own.is_sealed)
		scenario.attacker = attacker_create(cluster);
	else
		scenario.chaos &= (1u << CHAOS_REPLAY) - 1;
	scenario.known = must_calloc((size_t)cluster->count * cluster->count,
				     sizeof(scenario.known[0]));
	for (uint32_t i = 0; i < cluster->count * cluster->count; i++)
		scenario.known[i] = 1;
	if (own.gossip_cycle_ns > 0)
		cluster_run_until(cluster, gossip_settle_ns(&own));
	transport_timeline_set(cluster->timeline, &scenario.act,
			       cluster_now_ns(cluster) + 1);
	while (scenario.acts_left > 0) {
		cluster_run_until(cluster,
				  cluster_now_ns(cluster) + 100 * CLUSTER_MS);
		ret_result->hash =
			hash_join(ret_result->hash, cluster_hash(cluster));
	}
	finish(&scenario);
	if (own.coverage != NULL)
		hits_take(cluster);
	ret_result->events = transport_timeline_count(cluster->timeline);
	ret_result->virtual_ns = cluster_now_ns(cluster);
	ret_result->hash = hash_join(ret_result->hash, cluster_hash(cluster));
	attacker_destroy(scenario.attacker);
	free(scenario.known);
	cluster_destroy(cluster);
}

void scenario_expect(struct coverage *coverage)
{
	static const char *const names[] = {
		"a request has succeeded",
		"a request has failed",
		"a reply in parts",
		"bulk data arrived",
		"bulk data did not arrive",
		"a member has left",
		"attack: a message at a later start",
		"gossip: somebody is dead",
		"gossip: somebody lives",
		"gossip: stealth is over",
		"oracle: no old group after stealth",
		"oracle: a death is known to all",
		"group: refused in stealth",
		"attack: a reply at a later start",
		"calm: a request succeeds",
		"chaos: boot",
		"group: immediate",
		"group: delayed",
		"group: out-of-band",
		"group: out-of-band, again",
		"group: destroyed",
		"group: too large for a delayed one",
		"request: bulk",
		"request: reply in parts",
		"request: subset",
		"request: who lives",
		"request: last",
		"request: near the limit",
		"request: aborted by its root",
		"messages refused",
		"refused: EMSGSIZE",
		"refused: EHOSTDOWN",
		"refused: ESHUTDOWN",
	};
	char name[100];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		coverage_expect(coverage, names[i]);
	for (int i = 0; i < CHAOS_COUNT; i++) {
		snprintf(name, sizeof(name), "chaos: %s", chaos_texts[i]);
		coverage_expect(coverage, name);
	}
	for (int i = 0; i < CONDUCT_COUNT; i++) {
		snprintf(name, sizeof(name), "service: %s",
			 conduct_text((enum conduct)i));
		coverage_expect(coverage, name);
	}
	for (int i = 0; i < TRANSPORT_SIM_FAULT_COUNT; i++) {
		snprintf(name, sizeof(name), "network: %s",
			 transport_sim_fault_text((enum transport_sim_fault)i));
		coverage_expect(coverage, name);
	}
	coverage_excuse(coverage, "failure: not its parent",
			"only a member could send that");
	coverage_excuse(coverage, "failure: another protocol",
			"all members are of one version");
	for (int i = SCOLL_ERROR_NONE + 1; i < SCOLL_ERROR_COUNT; i++) {
		snprintf(name, sizeof(name), "failure: %s",
			 error_text((enum scoll_error_type)i));
		coverage_expect(coverage, name);
	}
}
