/* SPDX-License-Identifier: BSD-3-Clause */
/* Requirements that whole clusters show best, by their ids. */
#include "cluster.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "scenario.h"
#include "scoll/tree/cost.h"

#define LATENCY_NS UINT64_C(10000)
#define GAP_NS     UINT64_C(2000)
#define R_NS       (100 * CLUSTER_MS) /* the default */

static struct cluster_options plain(uint32_t node_count)
{
	return (struct cluster_options){
		.seed = 1,
		.node_count = node_count,
		.costs = { .latency_ns = LATENCY_NS, .gap_ns = GAP_NS },
		.held_ns = 100000,
	};
}

static const struct job_options small = {
	.payload_size = 100,
	.timeout_ns = CLUSTER_SECOND,
};

static uint32_t *everybody(const struct cluster *cluster)
{
	uint32_t *nodes = must_calloc(cluster->count, sizeof(nodes[0]));

	for (uint32_t i = 0; i < cluster->count; i++)
		nodes[i] = i;
	return nodes;
}

/* A team of all members, known to the services. */
static struct team *oob_of_all(struct cluster *cluster, uint32_t owner)
{
	uint32_t *nodes = everybody(cluster);
	struct team *team;

	assert_int_equal(team_oob(cluster, owner, nodes, cluster->count, &team),
			 0);
	free(nodes);
	return team;
}

static struct team *team_of_all(struct cluster *cluster, uint32_t owner,
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

static uint64_t messages(const struct cluster *cluster)
{
	const struct transport_sim_stats *stats =
		transport_sim_stats(cluster->sim);

	return stats->messages + stats->replies;
}

static uint64_t groups(const struct cluster *cluster, uint32_t index)
{
	struct scoll_stats stats = { .size = sizeof(stats) };

	scoll_core_stats(cluster->members[index].core, &stats);
	return stats.groups;
}

static void assert_groups(const struct cluster *cluster, uint32_t owner,
			  uint64_t count)
{
	for (uint32_t i = 0; i < cluster->count; i++) {
		if (i != owner && cluster->members[i].core != NULL)
			assert_int_equal(groups(cluster, i), count);
	}
}

static struct job *job_new_of(struct team *team)
{
	struct job *job;

	assert_int_equal(job_new(team, &small, &job), 0);
	return job;
}

/* --- scope --- */

static void any_server_reaches_any_subset_S01_with_one_result(void **state)
{
	struct cluster_options options = plain(23);
	struct cluster *cluster = cluster_create(&options);

	for (uint32_t root = 0; root < cluster->count; root++) {
		uint32_t nodes[23];
		struct job_options subset = small;
		struct team *team = oob_of_all(cluster, root);
		struct job *job;

		subset.nodes = nodes;
		for (uint32_t i = 0; i <= root; i++)
			nodes[i] = (i * 5 + root) % 23;
		subset.node_count = root + 1;
		job = job_start(team, &subset);
		cluster_run_jobs(cluster);
		assert_int_equal(job->status, 0);
		assert_int_equal(job->answer_count, root + 1);
		team_destroy(team);
	}
	cluster_destroy(cluster);
}

static void time_S02_grows_with_the_logarithm(void **state)
{
	for (uint32_t depth = 1; depth <= 10; depth++) {
		struct cluster_options options = plain(1u << depth);
		struct cluster *cluster;
		struct team *team;
		struct job *job;

		options.is_lean = true;
		cluster = cluster_create(&options);
		team = team_of_all(cluster, 0, true);
		cluster_run_until(cluster, CLUSTER_SECOND);
		job = job_start(team, &small);
		cluster_run_jobs(cluster);
		assert_int_equal(job->status, 0);
		assert_true(job->last_run_ns - job->sent_ns ==
			    depth * LATENCY_NS);
		cluster_destroy(cluster);
	}
}

static void same_seed_S02_fails_in_the_same_way(void **state)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct scenario_options options = { .seed = seed };
		struct scenario_result first, again;

		scenario_run(&options, &first);
		scenario_run(&options, &again);
		assert_true(first.events > 0);
		assert_true(first.events == again.events);
		assert_true(first.hash == again.hash);
	}
}

/* The oracle looks at the end: all have run it, or those who have not are told. */
static void crash_at_any_event_S03_E04_fails_or_reaches_all(void **state)
{
	unsigned int failed = 0, succeeded = 0;
	bool has_ended = false;

	for (uint64_t k = 1; !has_ended; k++) {
		struct cluster_options options = plain(8);
		struct cluster *cluster = cluster_create(&options);
		struct job *job = job_start(oob_of_all(cluster, 0), &small);
		uint32_t victim = 1 + (uint32_t)(k % 7);

		for (uint64_t i = 0; i < k && job->state == JOB_SENT; i++)
			transport_timeline_run(cluster->timeline);
		has_ended = job->state == JOB_ENDED;
		cluster_crash(cluster, victim);
		cluster_tell_all(cluster, victim, SCOLL_DEAD);
		cluster_run(cluster);
		assert_int_equal(job->state, JOB_ENDED);
		failed += job->status < 0;
		succeeded += job->status == 0;
		cluster_destroy(cluster);
	}
	assert_true(failed > 10);
	assert_true(succeeded > 0);
}

static void overtaking_requests_S04_are_all_executed(void **state)
{
	struct cluster_options options = plain(12);
	struct cluster *cluster;
	struct team *team;
	struct job *jobs[20];
	unsigned int overtaken = 0;

	options.faults_ppm[TRANSPORT_SIM_HELD] = 500000;
	cluster = cluster_create(&options);
	team = oob_of_all(cluster, 3);
	for (unsigned int i = 0; i < 20; i++)
		jobs[i] = job_start(team, &small);
	cluster_run_jobs(cluster);
	for (unsigned int i = 0; i < 20; i++) {
		assert_int_equal(jobs[i]->status, 0);
		for (uint32_t node = 0; i > 0 && node < 12; node++)
			overtaken += jobs[i]->nodes[node].run_ns <
				     jobs[i - 1]->nodes[node].run_ns;
	}
	assert_true(overtaken > 10);
	cluster_destroy(cluster);
}

static void simulation_S12_has_ten_thousand_members(void **state)
{
	struct cluster_options options = plain(10000);
	struct cluster *cluster;
	uint32_t *nodes;
	struct team *team;
	struct job *job;

	options.is_lean = true;
	options.tree = SCOLL_TREE_KNOMIAL(4);
	cluster = cluster_create(&options);
	nodes = everybody(cluster);
	assert_int_equal(team_create(cluster, 0, nodes, 10000, true, &team), 0);
	cluster_run_until(cluster, CLUSTER_SECOND);
	assert_non_null(team->group);
	assert_int_equal(memberships_count(cluster->memberships), 1);
	job = job_start(team, &small);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	assert_int_equal(job->answer_count, 10000);
	assert_int_equal(job->entity_answers, team->entity_count);
	free(nodes);
	cluster_destroy(cluster);
}

/* --- groups --- */

static void immediate_group_G01_G03_is_known_before_its_maker_is_told(
	void **state)
{
	struct cluster_options options = plain(13);
	struct cluster *cluster = cluster_create(&options);
	struct team *team = team_of_all(cluster, 5, true);

	assert_false(team->was_told);
	assert_null(team->group);
	while (!team->was_told)
		assert_true(transport_timeline_run(cluster->timeline));
	assert_int_equal(team->status, 0);
	assert_groups(cluster, 5, 1);
	assert_true(messages(cluster) >= 2 * 12);
	cluster_destroy(cluster);
}

static void immediate_group_G01_that_fails_leaves_nothing(void **state)
{
	struct cluster_options options = plain(13);
	struct cluster *cluster;
	struct team *team;

	options.group_lifetime_ns = 10 * CLUSTER_SECOND;
	cluster = cluster_create(&options);
	cluster_crash(cluster, 7);
	team = team_of_all(cluster, 5, true);
	cluster_run_until(cluster, 2 * CLUSTER_SECOND);
	assert_true(team->was_told);
	assert_true(team->status < 0);
	assert_null(team->group);
	cluster_run(cluster);
	assert_groups(cluster, 5, 0);
	assert_int_equal(memberships_count(cluster->memberships), 0);
	cluster_destroy(cluster);
}

static uint64_t bytes_of_a_job(struct cluster *cluster, struct team *team)
{
	uint64_t bytes = transport_sim_stats(cluster->sim)->bytes;
	struct job *job = job_start(team, &small);

	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	cluster_run_until(cluster, cluster_now_ns(cluster) + CLUSTER_SECOND);
	return transport_sim_stats(cluster->sim)->bytes - bytes;
}

static void delayed_group_G02_G03_travels_with_the_first_broadcast(void **state)
{
	struct cluster_options options = plain(9);
	struct cluster *cluster = cluster_create(&options);
	struct team *team = team_of_all(cluster, 2, false);
	uint64_t first, second, third;

	assert_true(team->was_told);
	assert_non_null(team->group);
	cluster_run_until(cluster, CLUSTER_SECOND);
	assert_int_equal(messages(cluster), 0);
	assert_groups(cluster, 2, 0);
	first = bytes_of_a_job(cluster, team);
	assert_groups(cluster, 2, 1);
	second = bytes_of_a_job(cluster, team);
	third = bytes_of_a_job(cluster, team);
	/* 9 nodes and 18 entities: 9 x 8 + 18 x 16 bytes and more, 8 times. */
	assert_true(first >= second + 8 * 360);
	assert_true(second == third);
	assert_int_equal(messages(cluster), 3 * 2 * 8);
	cluster_destroy(cluster);
}

static void large_group_G04_has_to_be_immediate(void **state)
{
	struct cluster_options options = plain(200);
	struct cluster *cluster = cluster_create(&options);
	uint32_t *nodes = everybody(cluster);
	struct team *team;
	struct job *job;

	assert_int_equal(team_create(cluster, 0, nodes, 200, false, &team),
			 -EMSGSIZE);
	assert_false(team->was_told);
	assert_int_equal(team_create(cluster, 0, nodes, 200, true, &team), 0);
	cluster_run_until(cluster, CLUSTER_SECOND);
	assert_non_null(team->group);
	job = job_start(team, &small);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	assert_int_equal(job->answer_count, 200);
	free(nodes);
	cluster_destroy(cluster);
}

static void oob_group_G05_G07_is_asked_for_with_the_first_message(void **state)
{
	struct cluster_options options = plain(6);
	struct cluster *cluster = cluster_create(&options);
	struct team *team = oob_of_all(cluster, 1);
	struct job *job;

	cluster_run(cluster);
	assert_int_equal(messages(cluster), 0);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(cluster->members[i].oob_calls, 0);
	job = job_start(team, &small);
	assert_true(cluster->members[1].oob_calls > 0);
	assert_int_equal(cluster->members[0].oob_calls, 0);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	for (uint32_t i = 0; i < 6; i++)
		assert_true(cluster->members[i].oob_calls > 0);
	cluster_destroy(cluster);
}

static void oob_group_G08_G15_has_a_tree_of_each_root(void **state)
{
	struct cluster_options options = plain(7);
	struct cluster *cluster = cluster_create(&options);
	struct team *teams[7];
	struct job *jobs[7];

	teams[0] = oob_of_all(cluster, 0);
	for (uint32_t i = 1; i < 7; i++)
		assert_int_equal(
			team_oob_again(cluster, i, teams[0], &teams[i]), 0);
	for (uint32_t i = 0; i < 7; i++)
		jobs[i] = job_start(teams[i], &small);
	cluster_run_jobs(cluster);
	for (uint32_t i = 0; i < 7; i++) {
		assert_int_equal(jobs[i]->status, 0);
		assert_int_equal(jobs[i]->nodes[(i + 1) % 7].parent, i);
		assert_int_equal(jobs[i]->nodes[(i + 5) % 7].parent,
				 (i + 4) % 7);
	}
	cluster_destroy(cluster);
}

static void other_members_G09_G10_G11_fail_cleanly(void **state)
{
	struct cluster_options options = plain(8);
	struct cluster *cluster = cluster_create(&options);
	struct team *team = oob_of_all(cluster, 0);
	struct job *job;

	/* 4 has 5, 6 and 7 below it, and thinks that 7 is no member. */
	cluster->members[4].drift = 1;
	job = job_start(team, &small);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, -EREMOTEIO);
	assert_int_equal(job->failure_count, 4);
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(job->nodes[i].is_failed, i >= 4);
		assert_int_equal(job->nodes[i].run_count, i < 4);
	}
	cluster->members[4].drift = 0;
	job = job_start(team, &small);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	cluster_destroy(cluster);
}

static void subset_G16_of_those_who_live_is_agreed_upon(void **state)
{
	struct cluster_options options = plain(16);
	struct cluster *cluster = cluster_create(&options);
	struct team *team = oob_of_all(cluster, 3);
	struct job_options alive = small;
	struct job *job;

	alive.flags = SCOLL_ALIVE_ONLY;
	cluster->detect_ns = CLUSTER_SECOND;
	cluster_crash(cluster, 5);
	cluster_crash(cluster, 11);
	for (uint32_t i = 0; i < 16; i++) {
		cluster_tell(cluster, i, 5, SCOLL_DEAD);
		if (i != 9)
			cluster_tell(cluster, i, 11, SCOLL_DEAD);
	}
	/* 9 sees 11 alive, until it hears of it. */
	job = job_start(team, &alive);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, -EREMOTEIO);
	assert_true(job->nodes[9].is_failed);
	assert_int_equal(job->nodes[9].run_count, 0);
	cluster_tell(cluster, 9, 11, SCOLL_DEAD);
	job = job_start(team, &alive);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	assert_int_equal(job->answer_count, 14);
	cluster_destroy(cluster);
}

/* --- trees and the path of a request --- */

/* From the root's first send to the last member, by the tree's own numbers. */
static void broadcast_R10_R09_takes_what_the_model_says(void **state)
{
	static const scoll_tree_type_t trees[] = {
		SCOLL_TREE_FLAT,       SCOLL_TREE_BINOMIAL,
		SCOLL_TREE_KNOMIAL(4), SCOLL_TREE_KNOMIAL(8),
		SCOLL_TREE_KARY(3),    SCOLL_TREE_LOGP(5),
	};

	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		struct cost_model model = { .latency = LATENCY_NS,
					    .gap = GAP_NS };
		struct cluster_options options = plain(90);
		struct cluster *cluster;
		struct job *job;
		struct tree tree;
		double last;

		options.tree = trees[i];
		cluster = cluster_create(&options);
		assert_int_equal(tree_init(NULL, trees[i], 90, &tree), 0);
		assert_int_equal(cost_broadcast(&tree, COST_DEPTH, &model,
						&last, NULL),
				 0);
		job = job_start(oob_of_all(cluster, 17), &small);
		cluster_run_jobs(cluster);
		assert_int_equal(job->status, 0);
		assert_true(job->last_run_ns - job->sent_ns == (uint64_t)last);
		cluster_destroy(cluster);
	}
}

static void whole_cluster_P15_P17_takes_two_messages_a_node(void **state)
{
	for (uint32_t n = 1; n <= 64; n += n < 8 ? 1 : 7) {
		struct cluster_options options = plain(n);
		struct cluster *cluster = cluster_create(&options);
		struct team *team = oob_of_all(cluster, n / 2);
		struct job *job = job_start(team, &small);

		cluster_run(cluster);
		assert_int_equal(job->status, 0);
		assert_int_equal(job->answer_count, n);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(job->nodes[i].run_count, 1);
		assert_int_equal(messages(cluster), 2 * (n - 1));
		cluster_destroy(cluster);
	}
}

static void dead_member_P01_keeps_a_request_from_being_sent(void **state)
{
	struct cluster_options options = plain(8);
	struct cluster *cluster = cluster_create(&options);
	struct team *team = oob_of_all(cluster, 0);
	struct job *job;

	cluster_crash(cluster, 6);
	cluster_tell_all(cluster, 6, SCOLL_DEAD);
	assert_int_equal(job_new(team, &small, &job), 0);
	assert_int_equal(job_send(job), -EHOSTDOWN);
	cluster_run(cluster);
	assert_int_equal(messages(cluster), 0);
	cluster_destroy(cluster);
}

static void reply_in_parts_P18_comes_as_several_messages(void **state)
{
	struct cluster_options options = plain(16);
	struct cluster *cluster = cluster_create(&options);
	struct job_options parts = small;
	struct job *job;

	parts.part_entries = 2;
	job = job_start(oob_of_all(cluster, 0), &parts);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	assert_int_equal(job->answer_count, 16);
	/* Subtrees of 8, 4, 2, 1 nodes: halves of them, at least 1. */
	assert_int_equal(transport_sim_stats(cluster->sim)->replies,
			 4 + 2 * 2 + 4 * 1 + 8 * 1);
	cluster_destroy(cluster);
}

/* --- time and errors --- */

static void children_O04_O05_are_waited_for_by_their_depth(void **state)
{
	struct cluster_options options = plain(8);
	struct cluster *cluster = cluster_create(&options);
	struct team *team = oob_of_all(cluster, 0);
	struct job *job;

	for (uint32_t i = 1; i < 8; i++)
		cluster_crash(cluster, i); /* and nobody is told */
	job = job_start(team, &small);
	cluster_run_jobs(cluster);
	assert_int_equal(job->failure_count, 7);
	assert_true(job->nodes[4].told_ns - job->sent_ns ==
		    3 * R_NS + CLUSTER_SECOND);
	assert_true(job->nodes[2].told_ns - job->sent_ns ==
		    2 * R_NS + CLUSTER_SECOND);
	assert_true(job->nodes[1].told_ns - job->sent_ns ==
		    R_NS + CLUSTER_SECOND);
	cluster_destroy(cluster);
}

static void subtree_E06_E03_that_is_not_reached_is_told_as_a_whole(void **state)
{
	struct cluster_options options = plain(16);
	struct cluster *cluster = cluster_create(&options);
	struct team *team = oob_of_all(cluster, 0);
	struct job *job;

	options.faults_ppm[TRANSPORT_SIM_REFUSED] = 1000000;
	transport_sim_faults_set(cluster->sim, options.faults_ppm);
	cluster_crash(cluster, 12); /* below 8, above 13, 14 and 15 */
	job = job_start(team, &small);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, -EREMOTEIO);
	assert_int_equal(job->failure_count, 4);
	assert_int_equal(job->answer_count, 12);
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(job->nodes[i].is_failed, i >= 12);
	cluster_destroy(cluster);
}

static void reply_E05_to_a_parent_that_died_is_given_up(void **state)
{
	struct cluster_options options = plain(8);
	struct cluster *cluster = cluster_create(&options);
	struct team *team = oob_of_all(cluster, 0);
	struct job *job = job_start(team, &small);

	while (job->nodes[7].run_count == 0)
		transport_timeline_run(cluster->timeline);
	cluster_crash(cluster, 6); /* its parent */
	cluster_crash(cluster, 0); /* the root */
	cluster_run(cluster);
	oracle_quiet(cluster);
	cluster_destroy(cluster);
}

static void late_reply_M03_meets_no_buffer(void **state)
{
	struct cluster_options options = plain(2);
	struct cluster *cluster = cluster_create(&options);
	struct job *job = job_start(oob_of_all(cluster, 0), &small);

	cluster_pause(cluster, 1, 10 * CLUSTER_SECOND);
	cluster_run(cluster);
	assert_int_equal(job->status, -EREMOTEIO);
	assert_int_equal(job->nodes[1].run_count, 1);
	assert_int_equal(transport_sim_stats(cluster->sim)->replies_unexpected,
			 1);
	oracle_quiet(cluster);
	cluster_destroy(cluster);
}

static void reply_does_not_wait_behind_bulk_data_of_others(void **state)
{
	struct cluster_options options = plain(3);
	struct cluster *cluster;
	struct job_options large = small;
	struct job *job, *other;

	options.window = 1;
	options.bulk_segment = 4096;
	cluster = cluster_create(&options);
	large.bulk_size = 100000;
	other = job_start(oob_of_all(cluster, 0), &large);
	while (other->nodes[1].pre_count == 0)
		transport_timeline_run(cluster->timeline);
	cluster->members[0].is_slow = true;
	transport_sim_slow(cluster->members[0].port, 50000);
	job = job_start(oob_of_all(cluster, 2), &small);
	while (job->nodes[1].told_ns == 0)
		transport_timeline_run(cluster->timeline);
	assert_false(job->nodes[1].is_failed);
	assert_true(job->nodes[1].told_ns - job->sent_ns < CLUSTER_MS);
	cluster_run_jobs(cluster);
	cluster_destroy(cluster);
}

/* --- life span of groups --- */

static void last_request_L01_ends_the_group_everywhere(void **state)
{
	struct cluster_options options = plain(10);
	struct cluster *cluster = cluster_create(&options);
	struct team *team = team_of_all(cluster, 4, false);
	struct job_options last = small;
	struct job *job = job_start(team, &small);

	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	assert_groups(cluster, 4, 1);
	last.flags = SCOLL_LAST;
	job = job_start(team, &last);
	cluster_run_until(cluster, cluster_now_ns(cluster) + CLUSTER_SECOND);
	assert_int_equal(job->status, 0);
	assert_groups(cluster, 4, 0);
	assert_int_equal(job_new(team, &small, &job), -ESHUTDOWN);
	cluster_destroy(cluster);
}

static void destroy_L02_is_an_empty_last_broadcast(void **state)
{
	struct cluster_options options = plain(10);
	struct cluster *cluster = cluster_create(&options);
	struct team *team = team_of_all(cluster, 4, true);
	uint64_t before;

	cluster_run_until(cluster, CLUSTER_SECOND);
	assert_groups(cluster, 4, 1);
	before = messages(cluster);
	team_destroy(team);
	cluster_run_until(cluster, 2 * CLUSTER_SECOND);
	assert_groups(cluster, 4, 0);
	assert_int_equal(messages(cluster) - before, 2 * 9);
	assert_int_equal(groups(cluster, 4), 0);
	cluster_destroy(cluster);
}

static void death_L03_of_the_maker_ends_its_groups_and_of_a_member_L05_none(
	void **state)
{
	struct cluster_options options = plain(10);
	struct cluster *cluster = cluster_create(&options);

	team_of_all(cluster, 4, true);
	team_of_all(cluster, 5, true);
	cluster_run_until(cluster, CLUSTER_SECOND);
	assert_int_equal(groups(cluster, 0), 2);
	cluster_crash(cluster, 7);
	cluster_tell_all(cluster, 7, SCOLL_DEAD);
	assert_int_equal(groups(cluster, 0), 2);
	cluster_crash(cluster, 4);
	cluster_tell_all(cluster, 4, SCOLL_DEAD);
	assert_int_equal(groups(cluster, 0), 1);
	assert_int_equal(groups(cluster, 9), 1);
	cluster_destroy(cluster);
}

static void reboot_L04_ends_groups_of_earlier_starts_only(void **state)
{
	struct cluster_options options = plain(10);
	struct cluster *cluster = cluster_create(&options);
	struct team *team;
	struct job *job;

	team_of_all(cluster, 4, true);
	cluster_run_until(cluster, CLUSTER_SECOND);
	assert_groups(cluster, 4, 1);
	cluster_crash(cluster, 4);
	cluster_boot(cluster, 4);
	cluster_tell_all(cluster, 4, SCOLL_REBOOTED);
	assert_groups(cluster, 4, 0);
	team = team_of_all(cluster, 4, true);
	cluster_run_until(cluster, 2 * CLUSTER_SECOND);
	assert_int_equal(team->status, 0);
	assert_groups(cluster, 4, 1);
	job = job_start(team, &small);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	cluster_destroy(cluster);
}

static void idle_group_L06_goes_with_its_lifetime(void **state)
{
	struct cluster_options options = plain(10);
	struct cluster *cluster;

	options.group_lifetime_ns = 5 * CLUSTER_SECOND;
	cluster = cluster_create(&options);
	team_of_all(cluster, 4, true);
	cluster_run_until(cluster, 4 * CLUSTER_SECOND);
	assert_groups(cluster, 4, 1);
	cluster_run_until(cluster, 6 * CLUSTER_SECOND);
	assert_groups(cluster, 4, 0);
	cluster_destroy(cluster);
}

/* --- with gossip --- */

#define CYCLE_NS (10 * CLUSTER_MS)

static struct cluster_options gossiping(uint32_t node_count)
{
	struct cluster_options options = plain(node_count);

	options.gossip_cycle_ns = CYCLE_NS;
	options.rtt_ns = CLUSTER_MS;
	options.gossip_lost_ppm = 50000;
	return options;
}

/* Nobody was ever known, so that stealth ends by its length at the latest. */
static void settle(struct cluster *cluster)
{
	struct gossip_bounds bounds = gossip_bounds_of(cluster->count);

	cluster_run_until(cluster, cluster_now_ns(cluster) +
					   (bounds.stealth + bounds.age_max +
					    2) * CYCLE_NS);
	for (uint32_t i = 0; i < cluster->count; i++) {
		if (cluster->members[i].core != NULL)
			assert_false(discovery_is_stealthy(
				member_discovery(&cluster->members[i])));
	}
}

static uint32_t deaths_seen(const struct cluster *cluster, uint32_t of)
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < cluster->count; i++) {
		const struct member *member = &cluster->members[i];

		if (i != of && member->core != NULL)
			seen += !discovery_is_alive(member_discovery(member),
						    cluster->members[of].nid);
	}
	return seen;
}

static void death_D02_E04_is_found_by_gossip_and_ends_the_wait(void **state)
{
	struct cluster_options options = gossiping(16);
	struct gossip_bounds bounds = gossip_bounds_of(16);
	struct cluster *cluster = cluster_create(&options);
	struct job_options patient = small;
	struct job *job;

	patient.timeout_ns = 1000 * CLUSTER_SECOND;
	settle(cluster);
	/* No false death, for long. */
	cluster_run_until(cluster, cluster_now_ns(cluster) + 500 * CYCLE_NS);
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(deaths_seen(cluster, i), 0);
	job = job_start(oob_of_all(cluster, 0), &patient);
	cluster_crash(cluster, 11);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, -EREMOTEIO);
	assert_true(job->nodes[11].is_failed);
	assert_true(job->ended_ns - job->sent_ns <=
		    (bounds.dead_after + GOSSIP_SKEW_CYCLES + 2) * CYCLE_NS);
	cluster_run_until(cluster, job->sent_ns + (bounds.dead_after +
						   GOSSIP_SKEW_CYCLES + 2) *
							  CYCLE_NS);
	assert_int_equal(deaths_seen(cluster, 11), 15);
	cluster_destroy(cluster);
}

static void member_D03_that_has_just_started_does_no_work(void **state)
{
	struct cluster_options options = gossiping(16);
	struct cluster *cluster = cluster_create(&options);
	struct team *team, *own;
	struct job *job;

	settle(cluster);
	team = oob_of_all(cluster, 0);
	cluster_crash(cluster, 5);
	cluster_boot(cluster, 5);
	assert_true(
		discovery_is_stealthy(member_discovery(&cluster->members[5])));
	job = job_start(team, &small);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, -EREMOTEIO);
	assert_int_equal(job->failure_count, 1);
	assert_int_equal(job->nodes[5].run_count, 0);
	own = oob_of_all(cluster, 5);
	assert_true(own->group == NULL ||
		    job_new(own, &small, &job) == -EAGAIN ||
		    job_send(job) == -EAGAIN);
	settle(cluster);
	job = job_start(team, &small);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	cluster_destroy(cluster);
}

/* I7: when stealth is over, all have dropped the old group, and none the new. */
static void reboot_D07_L04_ends_old_groups_before_new_ones_are_made(
	void **state)
{
	struct cluster_options options = gossiping(16);
	struct cluster *cluster = cluster_create(&options);
	struct team *team;
	struct job *job;

	settle(cluster);
	team = team_of_all(cluster, 4, true);
	cluster_run_until(cluster, cluster_now_ns(cluster) + CYCLE_NS);
	assert_int_equal(team->status, 0);
	assert_groups(cluster, 4, 1);
	cluster_crash(cluster, 4);
	cluster_boot(cluster, 4);
	while (discovery_is_stealthy(member_discovery(&cluster->members[4])))
		transport_timeline_run(cluster->timeline);
	assert_groups(cluster, 4, 0);
	/* It may still be dead to some: only then is it heard again. */
	cluster_run_until(cluster,
			  cluster_now_ns(cluster) +
				  gossip_bounds_of(16).age_max * CYCLE_NS);
	team = team_of_all(cluster, 4, true);
	cluster_run_until(cluster, cluster_now_ns(cluster) + 300 * CYCLE_NS);
	assert_int_equal(team->status, 0);
	assert_groups(cluster, 4, 1);
	job = job_start(team, &small);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	cluster_destroy(cluster);
}

/* --- attacks --- */

static void hear_first(void *ctx, const struct transport_sim_packet *packet)
{
	struct transport_sim_packet *first = ctx;

	if (first->bytes != NULL)
		return;
	*first = *packet;
	first->bytes = must_calloc(1, packet->size);
	memcpy((void *)first->bytes, packet->bytes, packet->size);
}

/* Nobody can verify what is of another version: it is not even answered. */
static void altered_version_does_not_end_a_request(void **state)
{
	struct cluster_options options = plain(2);
	struct transport_sim_packet first = { 0 };
	struct cluster *cluster;
	struct job *job;

	options.is_sealed = true;
	cluster = cluster_create(&options);
	transport_sim_tap(cluster->sim, hear_first, &first);
	job = job_new_of(oob_of_all(cluster, 0));
	job->nodes[1].conduct = CONDUCT_LATE;
	assert_int_equal(job_send(job), 0);
	while (job->nodes[1].run_count == 0)
		transport_timeline_run(cluster->timeline);
	((uint8_t *)first.bytes)[2]++;
	transport_sim_inject(cluster->sim, first.to, false, 0, first.bytes,
			     first.size);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	free((void *)first.bytes);
	cluster_destroy(cluster);
}

/* A message of the root's earlier start arrives after those of the new one. */
static void late_message_of_an_earlier_start_shuts_nobody_out(void **state)
{
	struct cluster_options options = plain(3);
	struct cluster *cluster;
	struct team *team;
	struct job *job;

	options.faults_ppm[TRANSPORT_SIM_KEPT_BACK] = 1000000;
	cluster = cluster_create(&options);
	team = oob_of_all(cluster, 0);
	transport_sim_side_set(cluster->members[1].port, 1);
	job_start(team, &small);
	cluster_run_until(cluster, CLUSTER_MS);
	cluster_crash(cluster, 0);
	cluster_boot(cluster, 0);
	/* What was sent since the reboot is not kept back. */
	transport_sim_side_set(cluster->members[1].port, 0);
	team = oob_of_all(cluster, 0);
	job = job_start(team, &small);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	transport_sim_heal(cluster->sim);
	cluster_run_until(cluster, cluster_now_ns(cluster) + CLUSTER_MS);
	job = job_start(team, &small);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	cluster_destroy(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			any_server_reaches_any_subset_S01_with_one_result),
		cmocka_unit_test(time_S02_grows_with_the_logarithm),
		cmocka_unit_test(same_seed_S02_fails_in_the_same_way),
		cmocka_unit_test(
			crash_at_any_event_S03_E04_fails_or_reaches_all),
		cmocka_unit_test(overtaking_requests_S04_are_all_executed),
		cmocka_unit_test(simulation_S12_has_ten_thousand_members),
		cmocka_unit_test(
			immediate_group_G01_G03_is_known_before_its_maker_is_told),
		cmocka_unit_test(immediate_group_G01_that_fails_leaves_nothing),
		cmocka_unit_test(
			delayed_group_G02_G03_travels_with_the_first_broadcast),
		cmocka_unit_test(large_group_G04_has_to_be_immediate),
		cmocka_unit_test(
			oob_group_G05_G07_is_asked_for_with_the_first_message),
		cmocka_unit_test(oob_group_G08_G15_has_a_tree_of_each_root),
		cmocka_unit_test(other_members_G09_G10_G11_fail_cleanly),
		cmocka_unit_test(subset_G16_of_those_who_live_is_agreed_upon),
		cmocka_unit_test(broadcast_R10_R09_takes_what_the_model_says),
		cmocka_unit_test(
			whole_cluster_P15_P17_takes_two_messages_a_node),
		cmocka_unit_test(
			dead_member_P01_keeps_a_request_from_being_sent),
		cmocka_unit_test(reply_in_parts_P18_comes_as_several_messages),
		cmocka_unit_test(
			children_O04_O05_are_waited_for_by_their_depth),
		cmocka_unit_test(
			subtree_E06_E03_that_is_not_reached_is_told_as_a_whole),
		cmocka_unit_test(reply_E05_to_a_parent_that_died_is_given_up),
		cmocka_unit_test(late_reply_M03_meets_no_buffer),
		cmocka_unit_test(
			reply_does_not_wait_behind_bulk_data_of_others),
		cmocka_unit_test(last_request_L01_ends_the_group_everywhere),
		cmocka_unit_test(destroy_L02_is_an_empty_last_broadcast),
		cmocka_unit_test(
			death_L03_of_the_maker_ends_its_groups_and_of_a_member_L05_none),
		cmocka_unit_test(reboot_L04_ends_groups_of_earlier_starts_only),
		cmocka_unit_test(idle_group_L06_goes_with_its_lifetime),
		cmocka_unit_test(
			death_D02_E04_is_found_by_gossip_and_ends_the_wait),
		cmocka_unit_test(member_D03_that_has_just_started_does_no_work),
		cmocka_unit_test(
			reboot_D07_L04_ends_old_groups_before_new_ones_are_made),
		cmocka_unit_test(altered_version_does_not_end_a_request),
		cmocka_unit_test(
			late_message_of_an_earlier_start_shuts_nobody_out),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
