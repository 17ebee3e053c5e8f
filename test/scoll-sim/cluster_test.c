/* SPDX-License-Identifier: BSD-3-Clause */
/* Requirements that whole clusters show best, by their ids. */
#include "cluster_bed.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "scenario.h"
#include "scoll/tree/test/cost.h"

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

/* News change the state of a member, and send nothing. */
static void states_S02_of_members_are_in_the_hash(void **state)
{
	struct cluster_options options = plain(8);
	struct cluster *one = cluster_create(&options);
	struct cluster *other = cluster_create(&options);

	cluster_run_until(one, CLUSTER_SECOND);
	cluster_run_until(other, CLUSTER_SECOND);
	assert_true(cluster_hash(one) == cluster_hash(other));
	cluster_tell(other, 3, 5, SCOLL_DEAD);
	assert_true(transport_sim_hash(one->sim) ==
		    transport_sim_hash(other->sim));
	assert_true(cluster_hash(one) != cluster_hash(other));
	cluster_destroy(one);
	cluster_destroy(other);
}

struct crash_results {
	unsigned int failed, succeeded, lost;
};

/*
 * The victim crashes after `steps` events. The oracle looks at the end: all
 * have run it, or those that have not are reported. False: it was over before.
 */
static bool crash_after(const struct cluster_options *options,
			const struct job_options *wanted, uint32_t victim,
			uint64_t steps, struct crash_results *results)
{
	struct cluster *cluster = cluster_create(options);
	struct job *job = job_start(oob_of_all(cluster, 0), wanted);
	bool was_over;

	for (uint64_t i = 0; i < steps && job->state == JOB_SENT; i++)
		transport_timeline_run(cluster->timeline);
	was_over = job->state == JOB_ENDED;
	cluster_crash(cluster, victim);
	cluster_tell_all(cluster, victim, SCOLL_DEAD);
	cluster_run(cluster);
	oracle_quiet(cluster);
	if (victim == job->root && !was_over) {
		assert_int_equal(job->state, JOB_LOST);
		results->lost++;
	} else {
		assert_int_equal(job->state, JOB_ENDED);
		results->failed += job->status < 0;
		results->succeeded += job->status == 0;
	}
	cluster_destroy(cluster);
	return !was_over;
}

static void crash_at_any_event_S03_E04_fails_or_reaches_all(void **state)
{
	struct crash_results results = { 0 };

	for (unsigned int i = 0; i < 4; i++) {
		struct cluster_options options = plain(8);
		struct job_options wanted = small;

		options.is_sealed = i & 1;
		wanted.bulk_size = i & 2 ? 20000 : 0;
		for (uint32_t victim = 0; victim < 8; victim++) {
			uint64_t steps = 1;

			while (crash_after(&options, &wanted, victim, steps,
					   &results))
				steps++;
			assert_true(steps > 20);
		}
	}
	assert_true(results.failed > 100);
	assert_true(results.succeeded > 7);
	assert_true(results.lost > 100);
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
		cmocka_unit_test(states_S02_of_members_are_in_the_hash),
		cmocka_unit_test(
			crash_at_any_event_S03_E04_fails_or_reaches_all),
		cmocka_unit_test(overtaking_requests_S04_are_all_executed),
		cmocka_unit_test(simulation_S12_has_ten_thousand_members),
		cmocka_unit_test(broadcast_R10_R09_takes_what_the_model_says),
		cmocka_unit_test(
			whole_cluster_P15_P17_takes_two_messages_a_node),
		cmocka_unit_test(
			dead_member_P01_keeps_a_request_from_being_sent),
		cmocka_unit_test(reply_in_parts_P18_comes_as_several_messages),
		cmocka_unit_test(altered_version_does_not_end_a_request),
		cmocka_unit_test(
			late_message_of_an_earlier_start_shuts_nobody_out),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
