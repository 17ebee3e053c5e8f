/* SPDX-License-Identifier: BSD-3-Clause */
/* The last messages that were seen are sent again, as they were or not. */
#include "attack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SEEN_MAX    32
#define GARBAGE_MAX 4096

struct seen {
	scoll_nid_t to;
	uint64_t life; /* of who got it */
	uint64_t tag;
	bool is_reply;
	size_t size;
	uint8_t *bytes;
};

struct attacker {
	struct cluster *cluster;
	struct seen seen[SEEN_MAX];
	uint64_t count;
};

static void hear(void *ctx, const struct transport_sim_packet *packet)
{
	struct attacker *attacker = ctx;
	struct seen *seen = &attacker->seen[attacker->count % SEEN_MAX];

	if (packet->is_injected)
		return;
	attacker->count++;
	free(seen->bytes);
	*seen = (struct seen){
		.to = packet->to,
		.life = cluster_member(attacker->cluster, packet->to)->life,
		.tag = packet->tag,
		.is_reply = packet->is_reply,
		.size = packet->size,
		.bytes = must_calloc(1, packet->size),
	};
	memcpy(seen->bytes, packet->bytes, packet->size);
}

struct attacker *attacker_create(struct cluster *cluster)
{
	struct attacker *attacker = must_calloc(1, sizeof(*attacker));

	attacker->cluster = cluster;
	transport_sim_tap(cluster->sim, hear, attacker);
	return attacker;
}

void attacker_destroy(struct attacker *attacker)
{
	if (attacker == NULL)
		return;
	transport_sim_tap(attacker->cluster->sim, NULL, NULL);
	for (unsigned int i = 0; i < SEEN_MAX; i++)
		free(attacker->seen[i].bytes);
	free(attacker);
}

static scoll_nid_t anybody(struct cluster *cluster)
{
	return cluster->members[cluster_below(cluster, cluster->count)].nid;
}

static void garbage(struct cluster *cluster)
{
	uint8_t bytes[GARBAGE_MAX];
	size_t size = cluster_below(cluster, sizeof(bytes) + 1);

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)sim_rng_u64(&cluster->rng);
	transport_sim_inject(cluster->sim, anybody(cluster),
			     cluster_percent(cluster, 30), 0, bytes, size);
}

bool attacker_strike(struct attacker *attacker, enum chaos how)
{
	struct cluster *cluster = attacker->cluster;
	uint64_t known =
		attacker->count < SEEN_MAX ? attacker->count : SEEN_MAX;
	const struct seen *seen;
	scoll_nid_t to;
	uint8_t *bytes;
	size_t size;

	if (how == CHAOS_GARBAGE) {
		garbage(cluster);
		return true;
	}
	if (known == 0)
		return false;
	seen = &attacker->seen[cluster_below(cluster, known)];
	if (seen->size == 0 || seen->is_reply != (how == CHAOS_FORGE_REPLY))
		return false;
	to = how == CHAOS_REDIRECT ? anybody(cluster) : seen->to;
	if (how == CHAOS_REDIRECT && to == seen->to)
		return false;
	size = seen->size;
	bytes = must_calloc(1, size);
	memcpy(bytes, seen->bytes, size);
	if (how == CHAOS_FORGE || how == CHAOS_FORGE_REPLY) {
		size_t head = cluster_percent(cluster, 30) ? 4 : 256;
		size_t at = cluster_below(cluster, size < head ? size : head);

		bytes[at] ^= (uint8_t)(1 + cluster_below(cluster, 255));
	} else if (how == CHAOS_TRUNCATE) {
		size = cluster_below(cluster, size);
	}
	if (cluster_member(cluster, to)->core != NULL &&
	    seen->life != cluster_member(cluster, to)->life)
		cluster_hit(cluster, "%s at a later start",
			    seen->is_reply ? "attack: a reply"
					   : "attack: a message");
	cluster_trace(cluster,
		      "an attacker sends %s %zu bytes to %" PRIu32
		      ", tag %" PRIx64,
		      seen->is_reply ? "a reply of" : "a message of", size,
		      cluster_member(cluster, to)->index, seen->tag);
	transport_sim_inject(cluster->sim, to, seen->is_reply, seen->tag, bytes,
			     size);
	free(bytes);
	return true;
}
