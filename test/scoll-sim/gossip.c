/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members that gossip: their messages have a way of their own, which costs
 * the network's latency, loses some, and is cut where the network is cut.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "scoll/member/roster.h"

struct whisper {
	struct transport_timeline_event event;
	struct cluster *cluster;
	uint32_t to;
	size_t size;
	uint8_t bytes[];
};

/* What it says of a node, in a number. */
static uint64_t word_of(const struct member *member, uint32_t about)
{
	const struct discovery *discovery = member_discovery(member);
	scoll_nid_t nid = member->cluster->members[about].nid;

	return (uint64_t)discovery_counter(discovery, nid) << 1 |
	       discovery_is_alive(discovery, nid);
}

/*
 * What has changed in its view excuses failures of the nodes concerned: a
 * verdict of gossip reaches the oracle in no other way.
 */
static void watch(struct member *member)
{
	struct cluster *cluster = member->cluster;
	const struct discovery *discovery = member_discovery(member);
	bool is_stealthy = discovery_is_stealthy(discovery);

	if (member->was_stealthy != is_stealthy) {
		cluster_disturb(cluster, member->index);
		cluster_unsettle(cluster);
		cluster_hit(cluster, "gossip: stealth is over");
		oracle_stealth_over(member);
	}
	member->was_stealthy = is_stealthy;
	if (member->seen_epoch == discovery_epoch(discovery))
		return;
	member->seen_epoch = discovery_epoch(discovery);
	for (uint32_t i = 0; i < cluster->count; i++) {
		uint64_t word = word_of(member, i);

		if (i == member->index || member->seen[i] == word)
			continue;
		cluster_trace(cluster, "%" PRIu32 " takes %" PRIu32 " for %s",
			      member->index, i, word & 1 ? "alive" : "dead");
		cluster_hit(cluster, word & 1 ? "gossip: somebody lives"
					      : "gossip: somebody is dead");
		member->seen[i] = word;
		if (!(word & 1))
			oracle_taken_for_dead(member, i);
		cluster_disturb(cluster, i);
		cluster_unsettle(cluster);
	}
}

static void hear(struct transport_timeline_event *event)
{
	struct whisper *whisper = (struct whisper *)event;
	struct member *member = &whisper->cluster->members[whisper->to];
	uint64_t now_ns = cluster_now_ns(whisper->cluster);
	uint64_t paused_ns = transport_sim_paused_ns(member->port);

	if (member->gossip == NULL)
		return;
	if (paused_ns > now_ns) {
		transport_timeline_set(whisper->cluster->timeline, event,
				       paused_ns);
		return;
	}
	gossip_receive(member->gossip, now_ns, whisper->bytes, whisper->size);
	watch(member);
	member_go_on(member);
}

static int whisper_send(void *ctx, uint64_t nid, const void *bytes, size_t size)
{
	struct member *member = ctx;
	struct cluster *cluster = member->cluster;
	struct whisper *whisper;

	const struct member *to = cluster_member(cluster, nid);

	if (sim_rng_chance(&cluster->rng, cluster->options.gossip_lost_ppm) ||
	    to->gossip == NULL ||
	    transport_sim_side(to->port) != transport_sim_side(member->port))
		return 0;
	whisper = cluster_chunk(cluster, sizeof(*whisper) + size);
	whisper->event.run = hear;
	whisper->cluster = cluster;
	whisper->to = to->index;
	whisper->size = size;
	memcpy(whisper->bytes, bytes, size);
	transport_timeline_set(cluster->timeline, &whisper->event,
			       cluster_now_ns(cluster) +
				       cluster->options.costs.latency_ns);
	return 0;
}

static void turn(struct transport_timeline_event *event)
{
	struct member *member =
		(struct member *)((char *)event -
				  offsetof(struct member, gossip_timer));
	struct cluster *cluster = member->cluster;
	uint64_t now_ns = cluster_now_ns(cluster);
	uint64_t next_ns = transport_sim_paused_ns(member->port);

	if (next_ns <= now_ns) {
		gossip_run(member->gossip, now_ns);
		watch(member);
		member_go_on(member);
		if (member->gossip == NULL)
			return;
		next_ns = gossip_deadline_ns(member->gossip);
	}
	if (next_ns != DEADLINE_NONE)
		transport_timeline_set(cluster->timeline, event, next_ns);
}

void member_gossip_start(struct member *member)
{
	static const struct gossip_ops ops = { .send = whisper_send };
	struct cluster *cluster = member->cluster;
	struct gossip_options options = {
		.nid = member->nid,
		.boot_nonce = sim_rng_u64(&member->rng),
		.cycle_ns = cluster->options.gossip_cycle_ns,
		.ops = &ops,
		.ctx = member,
		.rng = sim_rng_seam(&member->rng),
	};

	if (cluster->roster == NULL) {
		uint64_t *nids = must_calloc(cluster->count, sizeof(nids[0]));

		for (uint32_t i = 0; i < cluster->count; i++)
			nids[i] = cluster->members[0].nid + i;
		if (roster_create(nids, cluster->count, &cluster->roster) < 0)
			abort();
		free(nids);
	}
	options.roster = cluster->roster;
	if (gossip_create(&options, cluster_now_ns(cluster), &member->gossip) <
	    0)
		abort();
	member->was_stealthy = true;
	if (member->seen == NULL)
		member->seen =
			must_calloc(cluster->count, sizeof(member->seen[0]));
	member->seen_epoch = discovery_epoch(member_discovery(member));
	for (uint32_t i = 0; i < cluster->count; i++)
		member->seen[i] = word_of(member, i);
	member->gossip_timer.run = turn;
	transport_timeline_set(cluster->timeline, &member->gossip_timer,
			       gossip_deadline_ns(member->gossip));
}

void cluster_hush(struct cluster *cluster)
{
	for (uint32_t i = 0; i < cluster->count; i++)
		transport_timeline_cancel(&cluster->members[i].gossip_timer);
}

uint64_t gossip_detect_ns(const struct cluster_options *options)
{
	struct gossip_bounds bounds = gossip_bounds_of(options->node_count);

	return options->gossip_cycle_ns *
	       (bounds.dead_after + bounds.stealth + bounds.age_max +
		GOSSIP_SKEW_CYCLES + 2);
}

uint64_t gossip_settle_ns(const struct cluster_options *options)
{
	struct gossip_bounds bounds = gossip_bounds_of(options->node_count);

	return options->gossip_cycle_ns * (bounds.stealth + bounds.age_max + 2);
}

void member_gossip_stop(struct member *member)
{
	gossip_destroy(member->gossip);
	member->gossip = NULL;
	transport_timeline_cancel(&member->gossip_timer);
}

struct discovery *member_discovery(const struct member *member)
{
	const struct cluster *cluster = member->cluster;

	if (member->gossip != NULL)
		return gossip_discovery(member->gossip);
	return given_discovery(cluster->options.is_lean ? cluster->given
							: member->given);
}
