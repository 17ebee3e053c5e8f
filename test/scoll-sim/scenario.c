/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seed decides on a cluster, on what goes wrong in it, and on a row of
 * acts. Then all faults end, and within a bounded time everything has to have
 * ended, too.
 */
#include "scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attack.h"

#define NODES_MAX        160
#define JOBS_OPEN_MAX    24
#define LIFETIME_NS      (20 * CLUSTER_SECOND)
#define GOSSIP_NODES_MAX 24

struct scenario {
	struct cluster *cluster;
	struct attacker *attacker; /* NULL: the seed has none */
	struct transport_timeline_event act;
	uint32_t acts_left;
	uint64_t pace_ns;
	uint32_t chaos;     /* bits 1 << enum chaos */
	uint64_t *told;     /* life of b that a knows of, by a * count + b */
	uint64_t detect_ns; /* at most until a death is known */
	bool is_noisy;      /* the network always fails */
};

struct news {
	struct transport_timeline_event event;
	struct scenario *scenario;
	uint32_t to, about;
	uint64_t life; /* of about, which ended */
};

static const char *const chaos_texts[] = {
	[CHAOS_CRASH] = "crash",
	[CHAOS_QUICK_REBOOT] = "quick reboot",
	[CHAOS_PAUSE] = "pause",
	[CHAOS_PARTITION] = "partition",
	[CHAOS_SLOW] = "slow member",
	[CHAOS_STARVE] = "out of memory",
	[CHAOS_LEAVE] = "leave",
	[CHAOS_BARE] = "no service",
	[CHAOS_DRIFT] = "other members out of band",
	[CHAOS_FALSE_NEWS] = "false death",
	[CHAOS_REPLAY] = "replayed message",
	[CHAOS_REDIRECT] = "redirected message",
	[CHAOS_FORGE] = "forged message",
	[CHAOS_TRUNCATE] = "truncated message",
	[CHAOS_GARBAGE] = "garbage",
	[CHAOS_FORGE_REPLY] = "forged reply",
};

static bool dice(struct scenario *scenario, unsigned int percent)
{
	return cluster_percent(scenario->cluster, percent);
}

static uint32_t below(struct scenario *scenario, uint32_t n)
{
	return (uint32_t)cluster_below(scenario->cluster, n);
}

static bool has_gossip(const struct scenario *scenario)
{
	return scenario->cluster->options.gossip_cycle_ns > 0;
}

/* A member that is there and goes on; -1: none found. */
static int64_t anybody(struct scenario *scenario)
{
	struct cluster *cluster = scenario->cluster;

	for (unsigned int i = 0; i < 8; i++) {
		uint32_t index = below(scenario, cluster->count);
		struct member *member = &cluster->members[index];

		if (member->core != NULL && !member->is_leaving &&
		    transport_sim_paused_ns(member->port) <=
			    cluster_now_ns(cluster))
			return index;
	}
	return -1;
}

/* --- who hears of what --- */

static void news_tell(struct transport_timeline_event *event)
{
	struct news *news = (struct news *)event;
	struct scenario *scenario = news->scenario;
	struct cluster *cluster = scenario->cluster;
	struct member *member = &cluster->members[news->to];
	struct member *about = &cluster->members[news->about];
	uint64_t *told =
		&scenario->told[news->to * cluster->count + news->about];
	bool is_alive;

	if (member->core == NULL || about == member)
		return;
	is_alive =
		discovery_is_alive(given_discovery(member->given), about->nid);
	if (about->core == NULL) {
		if (is_alive) {
			cluster_disturb(cluster, news->about);
			cluster_tell(cluster, news->to, news->about,
				     SCOLL_DEAD);
		}
		return;
	}
	if (is_alive && *told == about->life)
		return;
	cluster_disturb(cluster, news->about);
	cluster_tell(cluster, news->to, news->about,
		     is_alive ? SCOLL_REBOOTED : SCOLL_ALIVE);
	*told = about->life;
}

static void news_send(struct scenario *scenario, uint32_t to, uint32_t about)
{
	struct cluster *cluster = scenario->cluster;
	struct news *news;

	if (has_gossip(scenario)) /* it is heard */
		return;
	news = cluster_chunk(cluster, sizeof(*news));
	news->event.run = news_tell;
	news->scenario = scenario;
	news->to = to;
	news->about = about;
	transport_timeline_set(cluster->timeline, &news->event,
			       cluster_now_ns(cluster) +
				       cluster_below(cluster,
						     scenario->detect_ns));
}

static void news_spread(struct scenario *scenario, uint32_t about)
{
	for (uint32_t i = 0; i < scenario->cluster->count; i++) {
		if (i != about)
			news_send(scenario, i, about);
	}
}

static void left(struct cluster *cluster, uint32_t index)
{
	news_spread(cluster->user, index);
}

/* What a member that has just started will hear. */
static void news_catch_up(struct scenario *scenario, uint32_t to)
{
	struct cluster *cluster = scenario->cluster;

	for (uint32_t i = 0; i < cluster->count; i++) {
		scenario->told[to * cluster->count + i] =
			cluster->members[i].life;
		if (cluster->members[i].core == NULL)
			news_send(scenario, to, i);
	}
}

/* --- groups and requests --- */

static uint32_t nodes_draw(struct scenario *scenario, uint32_t *nodes)
{
	struct cluster *cluster = scenario->cluster;
	uint32_t count = 0;
	uint32_t first = below(scenario, cluster->count);
	unsigned int percent =
		dice(scenario, 50) ? 100 : 20 + below(scenario, 80);

	for (uint32_t i = 0; i < cluster->count; i++) {
		if (dice(scenario, percent))
			nodes[count++] = (first + i) % cluster->count;
	}
	if (count == 0)
		nodes[count++] = first;
	if (dice(scenario, 30)) { /* any order */
		for (uint32_t i = count - 1; i > 0; i--) {
			uint32_t other = below(scenario, i + 1);
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
	int64_t owner = anybody(scenario);
	struct team *team, *other = NULL;
	int result;

	if (owner < 0)
		return;
	for (uint32_t i = 0; i < cluster->team_count; i++) {
		if (cluster->teams[i]->is_oob && dice(scenario, 30))
			other = cluster->teams[i];
	}
	switch (below(scenario, 4)) {
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
		struct team *team =
			cluster->teams[below(scenario, cluster->team_count)];
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
	if (dice(scenario, 70))
		return 4 + below(scenario, 200);
	if (dice(scenario, 70))
		return 4 + below(scenario, 3000);
	cluster_hit(scenario->cluster, "request: near the limit");
	return 3500 + below(scenario, 600);
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
		.timeout_ns = (1 + below(scenario, 20)) * CLUSTER_MS,
		.is_mean = true,
	};
	struct job *job;
	int result;

	if (team == NULL || cluster->jobs_open >= JOBS_OPEN_MAX)
		return;
	/* What its root knows of the group is not what its team has. */
	if (team->is_oob && cluster->members[team->owner].drift > 0)
		return;
	if (dice(scenario, 25)) {
		options.bulk_size = 1 + below(scenario, 100000);
		cluster_hit(cluster, "request: bulk");
	}
	if (dice(scenario, 30)) {
		options.part_entries = 1 + below(scenario, 4);
		cluster_hit(cluster, "request: reply in parts");
	}
	if (dice(scenario, 15)) {
		options.nodes = nodes;
		for (uint32_t i = 0; i < team->node_count; i++) {
			if (dice(scenario, 50))
				nodes[options.node_count++] = team->nodes[i];
		}
		if (options.node_count == 0)
			nodes[options.node_count++] = team->nodes[0];
		cluster_hit(cluster, "request: subset");
	}
	if (dice(scenario, 25)) {
		options.flags |= SCOLL_ALIVE_ONLY;
		cluster_hit(cluster, "request: who lives");
	}
	if (!team->is_oob && dice(scenario, 10)) {
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
				      below(scenario,
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

/* --- chaos --- */

/* It was down for as long as it takes that all know it. */
static void death_is_known(struct transport_timeline_event *event)
{
	const struct news *death = (struct news *)event;
	struct cluster *cluster = death->scenario->cluster;
	const struct member *member = &cluster->members[death->about];

	if (member->core == NULL && member->life == death->life)
		oracle_death_known(cluster, death->about);
}

static void death_await(struct scenario *scenario, uint32_t index)
{
	struct cluster *cluster = scenario->cluster;
	struct news *death = cluster_chunk(cluster, sizeof(*death));

	death->event.run = death_is_known;
	death->scenario = scenario;
	death->about = index;
	death->life = cluster->members[index].life;
	transport_timeline_set(cluster->timeline, &death->event,
			       cluster_now_ns(cluster) + scenario->detect_ns);
}

static void crash(struct scenario *scenario, uint32_t index, bool is_quick)
{
	cluster_crash(scenario->cluster, index);
	if (has_gossip(scenario) && !is_quick)
		death_await(scenario, index);
	if (is_quick) {
		cluster_boot(scenario->cluster, index);
		news_catch_up(scenario, index);
	}
	news_spread(scenario, index);
}

static void cut(struct scenario *scenario)
{
	struct cluster *cluster = scenario->cluster;

	if (cluster->is_cut) {
		cluster_trace(cluster, "the partition heals");
		transport_sim_heal(cluster->sim);
		cluster->is_noisy = scenario->is_noisy;
		cluster->noise_ns = cluster_now_ns(cluster);
		cluster->is_cut = false;
		for (uint32_t i = 0; i < cluster->count; i++)
			cluster_away(cluster, i, cluster_now_ns(cluster));
		return;
	}
	cluster_trace(cluster, "the network falls apart");
	for (uint32_t i = 0; i < cluster->count; i++) {
		if (cluster->members[i].core != NULL && dice(scenario, 40))
			transport_sim_side_set(cluster->members[i].port, 1);
	}
	cluster->is_noisy = cluster->was_noisy = true;
	cluster->is_cut = true;
}

static void false_news(struct scenario *scenario, uint32_t index)
{
	struct cluster *cluster = scenario->cluster;
	int64_t other = anybody(scenario);

	if (other < 0 || other == index)
		return;
	cluster_disturb(cluster, index);
	cluster_disturb(cluster, (uint32_t)other);
	cluster_tell(cluster, index, (uint32_t)other, SCOLL_DEAD);
	news_send(scenario, index, (uint32_t)other);
}

static void slow_set(struct cluster *cluster, uint32_t index, uint32_t factor)
{
	struct member *member = &cluster->members[index];

	if (factor > 1 || member->is_slow)
		cluster_disturb(cluster, index);
	member->is_slow = factor > 1;
	transport_sim_slow(member->port, factor);
	cluster_trace(cluster, "%" PRIu32 " is %" PRIu32 " times as slow",
		      index, factor);
}

static void drift(struct cluster *cluster, uint32_t index)
{
	cluster_disturb(cluster, index);
	cluster->members[index].drift ^= 1;
	cluster_trace(cluster, "%" PRIu32 " %s", index,
		      cluster->members[index].drift > 0
			      ? "names other members"
			      : "names all members again");
}

static void befall(struct scenario *scenario, enum chaos chaos, uint32_t index)
{
	struct cluster *cluster = scenario->cluster;
	uint64_t now_ns = cluster_now_ns(cluster);

	switch (chaos) {
	case CHAOS_CRASH:
	case CHAOS_QUICK_REBOOT:
		crash(scenario, index, chaos == CHAOS_QUICK_REBOOT);
		break;
	case CHAOS_PAUSE:
		cluster_pause(cluster, index,
			      now_ns +
				      cluster_below(cluster, 200 * CLUSTER_MS));
		break;
	case CHAOS_PARTITION:
		cut(scenario);
		break;
	case CHAOS_SLOW:
		slow_set(cluster, index, 1 + below(scenario, 100));
		break;
	case CHAOS_STARVE:
		cluster_starve(cluster, index, 1 + below(scenario, 40));
		break;
	case CHAOS_LEAVE:
		cluster_leave(cluster, index);
		break;
	case CHAOS_BARE:
		if (cluster_service_set(cluster, index,
					cluster->members[index].is_bare) < 0)
			return;
		break;
	case CHAOS_DRIFT:
		drift(cluster, index);
		break;
	case CHAOS_FALSE_NEWS:
		if (has_gossip(scenario)) /* nobody believes it */
			return;
		false_news(scenario, index);
		break;
	default:
		if (!attacker_strike(scenario->attacker, chaos))
			return;
		break;
	}
	cluster_hit(cluster, "chaos: %s", chaos_texts[chaos]);
}

static void act_chaos(struct scenario *scenario)
{
	struct cluster *cluster = scenario->cluster;
	enum chaos chaos = (enum chaos)below(scenario, CHAOS_COUNT);
	int64_t index = anybody(scenario);

	if (index < 0 || !(scenario->chaos & 1u << chaos))
		return;
	befall(scenario, chaos, (uint32_t)index);
	/* Some of those that are down come back. */
	for (uint32_t i = 0; i < cluster->count; i++) {
		if (cluster->members[i].core != NULL || !dice(scenario, 30))
			continue;
		cluster_boot(cluster, i);
		news_catch_up(scenario, i);
		news_spread(scenario, i);
		cluster_hit(cluster, "chaos: boot");
	}
}

static void act(struct transport_timeline_event *event)
{
	struct scenario *scenario =
		(struct scenario *)((char *)event -
				    offsetof(struct scenario, act));
	struct cluster *cluster = scenario->cluster;
	unsigned int number = below(scenario, 100);

	if (number < 15)
		act_team(scenario);
	else if (number < 65)
		act_job(scenario);
	else if (number < 70)
		act_abort(scenario);
	else if (number < 74)
		act_destroy(scenario);
	else
		act_chaos(scenario);
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
		cut(scenario);
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
		slow_set(cluster, i, 1);
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
	/* All deadlines, and everybody has heard of everything. */
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
	cluster->left = left;
	scenario.is_noisy = cluster->is_noisy;
	scenario.acts_left = 40 + below(&scenario, 80);
	scenario.pace_ns = (1 + below(&scenario, 20)) * CLUSTER_MS;
	scenario.detect_ns = (1 + below(&scenario, 300)) * CLUSTER_MS;
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
	scenario.told = must_calloc((size_t)cluster->count * cluster->count,
				    sizeof(scenario.told[0]));
	for (uint32_t i = 0; i < cluster->count * cluster->count; i++)
		scenario.told[i] = 1;
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
	free(scenario.told);
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
