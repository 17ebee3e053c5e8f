/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct cluster_options plain(uint32_t node_count)
{
	return (struct cluster_options){
		.seed = 1,
		.node_count = node_count,
		.costs = { .latency_ns = LATENCY_NS, .gap_ns = GAP_NS },
		.held_ns = 100000,
	};
}

const struct job_options small = {
	.payload_size = 100,
	.timeout_ns = CLUSTER_SECOND,
};

uint32_t *everybody(const struct cluster *cluster)
{
	uint32_t *nodes = must_calloc(cluster->count, sizeof(nodes[0]));

	for (uint32_t i = 0; i < cluster->count; i++)
		nodes[i] = i;
	return nodes;
}

struct team *oob_of_all(struct cluster *cluster, uint32_t owner)
{
	uint32_t *nodes = everybody(cluster);
	struct team *team;

	assert_int_equal(team_oob(cluster, owner, nodes, cluster->count, &team),
			 0);
	free(nodes);
	return team;
}

struct team *team_of_all(struct cluster *cluster, uint32_t owner,
			 bool populate_now)
{
	uint32_t *nodes = everybody(cluster);
	struct team *team;

	assert_int_equal(team_create(cluster, owner, nodes, cluster->count,
				     populate_now, &team),
			 0);
	free(nodes);
	return team;
}

uint64_t messages(const struct cluster *cluster)
{
	const struct transport_sim_stats *stats =
		transport_sim_stats(cluster->sim);

	return stats->messages + stats->replies;
}

uint64_t groups(const struct cluster *cluster, uint32_t index)
{
	struct scoll_stats stats = { .size = sizeof(stats) };

	scoll_core_stats(cluster->members[index].core, &stats);
	return stats.groups;
}

void assert_groups(const struct cluster *cluster, uint32_t owner,
		   uint64_t count)
{
	for (uint32_t i = 0; i < cluster->count; i++) {
		if (i != owner && cluster->members[i].core != NULL)
			assert_int_equal(groups(cluster, i), count);
	}
}

struct job *job_new_of(struct team *team)
{
	struct job *job;

	assert_int_equal(job_new(team, &small, &job), 0);
	return job;
}
