/* SPDX-License-Identifier: BSD-3-Clause */
/* Clusters in which one member knows where the others are, and tells them. */
#include "cluster.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sodium.h>

static const struct job_options small = {
	.payload_size = 100,
	.timeout_ns = CLUSTER_SECOND,
};
static const struct job_options large = {
	.payload_size = 100,
	.bulk_size = 300000,
	.timeout_ns = CLUSTER_SECOND,
};

static struct cluster *cluster_of(uint32_t node_count, bool is_lean)
{
	struct cluster_options options = {
		.seed = 1,
		.node_count = node_count,
		.costs = { .latency_ns = 10000, .gap_ns = 2000 },
		.held_ns = 100000,
		.is_sealed = true,
		.is_lean = is_lean,
		.is_first_alone_in_knowing = true,
	};

	return cluster_create(&options);
}

static struct team *team_of(struct cluster *cluster, uint32_t owner,
			    uint32_t first, bool is_now)
{
	uint32_t count = cluster->count - first;
	uint32_t *nodes = must_calloc(count, sizeof(nodes[0]));
	struct team *team = NULL;

	for (uint32_t i = 0; i < count; i++)
		nodes[i] = first + i;
	assert_int_equal(
		team_create(cluster, owner, nodes, count, is_now, &team), 0);
	free(nodes);
	while (!team->was_notified && transport_timeline_run(cluster->timeline))
		;
	assert_true(team->was_notified);
	return team;
}

static const struct job *run(struct team *team,
			     const struct job_options *options)
{
	struct job *job = job_start(team, options);

	cluster_run_jobs(team->cluster);
	return job;
}

static uint32_t known(const struct cluster *cluster, uint32_t index)
{
	return transport_sim_known_count(cluster->members[index].port);
}

static void delayed_group_reaches_all_that_know_nobody(void **state)
{
	struct cluster *cluster = cluster_of(40, false);
	struct team *team = team_of(cluster, 0, 0, false);
	const struct job *job = run(team, &small);

	assert_int_equal(job->status, 0);
	assert_int_equal(job->answer_count, 40);
	assert_int_equal(run(team, &large)->status, 0);
	/* An odd rank is a leaf of this tree: it knows its parent. */
	assert_int_equal(known(cluster, 1), 1);
	assert_int_equal(known(cluster, 16), 1 + 4);
	cluster_destroy(cluster);
}

static void root_outside_of_the_group_is_known_too(void **state)
{
	struct cluster *cluster = cluster_of(40, false);
	struct team *team = team_of(cluster, 0, 5, false);

	assert_int_equal(run(team, &large)->status, 0);
	cluster_destroy(cluster);
}

/* Of thousands, each knows as many as the tree has neighbours. */
static void immediate_group_of_thousands_is_known_by_neighbours(void **state)
{
	struct cluster *cluster = cluster_of(4096, true);
	struct team *team = team_of(cluster, 0, 0, true);
	uint64_t sum = 0;

	assert_int_equal(team->status, 0);
	assert_int_equal(run(team, &small)->answer_count, 4096);
	for (uint32_t i = 1; i < cluster->count; i++) {
		assert_in_range(known(cluster, i), 1, 12);
		sum += known(cluster, i);
	}
	/* Each edge from both ends, but for those of the one that knew. */
	assert_int_equal(sum, 2 * 4095 - 12);
	cluster_destroy(cluster);
}

static void member_that_knows_nobody_reaches_nobody(void **state)
{
	struct cluster *cluster = cluster_of(3, false);
	struct team *team = team_of(cluster, 1, 0, false);
	const struct job *job;

	/* The oracle need not ask why it fails. */
	cluster_disturb(cluster, 0);
	cluster_disturb(cluster, 2);
	job = run(team, &small);
	assert_int_equal(job->status, -EREMOTEIO);
	assert_int_equal(job->failure_count, 2);
	cluster_destroy(cluster);
}

/* 24 is a child of 16, which is a child of the root. */
static void member_that_starts_elsewhere_is_found(void **state)
{
	struct cluster *cluster = cluster_of(32, false);
	struct team *team = team_of(cluster, 0, 0, true);

	assert_int_equal(run(team, &small)->status, 0);
	cluster_crash(cluster, 24);
	cluster_boot(cluster, 24);
	cluster_tell_all(cluster, 24, SCOLL_REBOOTED);
	/* The old group says where it was: it and those below are missed. */
	assert_int_equal(run(team, &small)->failure_count, 8);
	team = team_of(cluster, 0, 0, true);
	assert_int_equal(team->status, 0);
	assert_int_equal(run(team, &large)->status, 0);
	cluster_destroy(cluster);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(delayed_group_reaches_all_that_know_nobody),
		cmocka_unit_test(root_outside_of_the_group_is_known_too),
		cmocka_unit_test(
			immediate_group_of_thousands_is_known_by_neighbours),
		cmocka_unit_test(member_that_knows_nobody_reaches_nobody),
		cmocka_unit_test(member_that_starts_elsewhere_is_found),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name("scoll_sim_address", tests, NULL,
					   NULL);
}
