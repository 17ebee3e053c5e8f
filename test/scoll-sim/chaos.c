/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes wrong in a scenario: members crash, leave, are slow or starve, the
 * network falls apart, and news of it travels; or an attacker strikes.
 */
#include <inttypes.h>

#include "scenario_internal.h"

struct news {
	struct transport_timeline_event event;
	struct scenario *scenario;
	uint32_t to, about;
	uint64_t life; /* of about, which ended */
};

const char *const chaos_texts[CHAOS_COUNT] = {
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

/* --- news of deaths and boots --- */

static void news_arrive(struct transport_timeline_event *event)
{
	struct news *news = (struct news *)event;
	struct scenario *scenario = news->scenario;
	struct cluster *cluster = scenario->cluster;
	struct member *member = &cluster->members[news->to];
	struct member *about = &cluster->members[news->about];
	uint64_t *known =
		&scenario->known[news->to * cluster->count + news->about];
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
	if (is_alive && *known == about->life)
		return;
	cluster_disturb(cluster, news->about);
	cluster_tell(cluster, news->to, news->about,
		     is_alive ? SCOLL_REBOOTED : SCOLL_ALIVE);
	*known = about->life;
}

static void news_send(struct scenario *scenario, uint32_t to, uint32_t about)
{
	struct cluster *cluster = scenario->cluster;
	struct news *news;

	if (scenario_has_gossip(scenario)) /* which brings it */
		return;
	news = cluster_chunk(cluster, sizeof(*news));
	news->event.run = news_arrive;
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

void chaos_left(struct cluster *cluster, uint32_t index)
{
	news_spread(cluster->user, index);
}

/* What a member that has just started learns. */
static void news_catch_up(struct scenario *scenario, uint32_t to)
{
	struct cluster *cluster = scenario->cluster;

	for (uint32_t i = 0; i < cluster->count; i++) {
		scenario->known[to * cluster->count + i] =
			cluster->members[i].life;
		if (cluster->members[i].core == NULL)
			news_send(scenario, to, i);
	}
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
	if (scenario_has_gossip(scenario) && !is_quick)
		death_await(scenario, index);
	if (is_quick) {
		cluster_boot(scenario->cluster, index);
		news_catch_up(scenario, index);
	}
	news_spread(scenario, index);
}

void chaos_cut(struct scenario *scenario)
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
		if (cluster->members[i].core != NULL &&
		    scenario_dice(scenario, 40))
			transport_sim_side_set(cluster->members[i].port, 1);
	}
	cluster->is_noisy = cluster->was_noisy = true;
	cluster->is_cut = true;
}

static void false_news(struct scenario *scenario, uint32_t index)
{
	struct cluster *cluster = scenario->cluster;
	int64_t other = scenario_anybody(scenario);

	if (other < 0 || other == index)
		return;
	cluster_disturb(cluster, index);
	cluster_disturb(cluster, (uint32_t)other);
	cluster_tell(cluster, index, (uint32_t)other, SCOLL_DEAD);
	news_send(scenario, index, (uint32_t)other);
}

void chaos_slow(struct cluster *cluster, uint32_t index, uint32_t factor)
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
		chaos_cut(scenario);
		break;
	case CHAOS_SLOW:
		chaos_slow(cluster, index, 1 + scenario_below(scenario, 100));
		break;
	case CHAOS_STARVE:
		cluster_starve(cluster, index,
			       1 + scenario_below(scenario, 40));
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
		if (scenario_has_gossip(scenario)) /* nobody believes it */
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

void chaos_act(struct scenario *scenario)
{
	struct cluster *cluster = scenario->cluster;
	enum chaos chaos = (enum chaos)scenario_below(scenario, CHAOS_COUNT);
	int64_t index = scenario_anybody(scenario);

	if (index < 0 || !(scenario->chaos & 1u << chaos))
		return;
	befall(scenario, chaos, (uint32_t)index);
	/* Some of those that are down come back. */
	for (uint32_t i = 0; i < cluster->count; i++) {
		if (cluster->members[i].core != NULL ||
		    !scenario_dice(scenario, 30))
			continue;
		cluster_boot(cluster, i);
		news_catch_up(scenario, i);
		news_spread(scenario, i);
		cluster_hit(cluster, "chaos: boot");
	}
}
