/* SPDX-License-Identifier: BSD-3-Clause */
/* Time, errors and gossip of whole clusters. */
#include "cluster_bed.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sodium.h>

/* --- time and errors --- */

static void children_O04_O05_are_waited_for_by_their_depth(void **state)
{
	struct cluster_options options = plain(8);
	struct cluster *cluster = cluster_create(&options);
	struct team *team = oob_of_all(cluster, 0);
	struct job *job;

	for (uint32_t i = 1; i < 8; i++)
		cluster_crash(cluster, i); /* and no discovery is updated */
	job = job_start(team, &small);
	cluster_run_jobs(cluster);
	assert_int_equal(job->failure_count, 7);
	assert_true(job->nodes[4].reported_ns - job->sent_ns ==
		    3 * R_NS + CLUSTER_SECOND);
	assert_true(job->nodes[2].reported_ns - job->sent_ns ==
		    2 * R_NS + CLUSTER_SECOND);
	assert_true(job->nodes[1].reported_ns - job->sent_ns ==
		    R_NS + CLUSTER_SECOND);
	cluster_destroy(cluster);
}

static void subtree_E06_E03_that_is_not_reached_is_reported_as_a_whole(
	void **state)
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

/* Links of 125 MB/s, taken for 100: six children of the root share one. */
static void bulk_B20_O01_has_time_where_children_share_a_link(void **state)
{
	struct cluster_options options = plain(16);
	struct job_options bulk = small;
	struct cluster *cluster;
	struct job *job;

	options.tree = SCOLL_TREE_KNOMIAL(4);
	options.costs.byte_ps = 8000;
	options.bulk_bandwidth = 100000000;
	options.bulk_segment = 512 << 10;
	options.rtt_ns = CLUSTER_MS;
	cluster = cluster_create(&options);
	bulk.bulk_size = 4 << 20;
	bulk.timeout_ns = CLUSTER_MS;
	job = job_start(oob_of_all(cluster, 0), &bulk);
	cluster_run_jobs(cluster);
	assert_int_equal(job->status, 0);
	assert_int_equal(job->failure_count, 0);
	assert_int_equal(job->answer_count, 16);
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
	while (job->nodes[1].reported_ns == 0)
		transport_timeline_run(cluster->timeline);
	assert_false(job->nodes[1].is_failed);
	assert_true(job->nodes[1].reported_ns - job->sent_ns < CLUSTER_MS);
	cluster_run_jobs(cluster);
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

/*
 * I7: when stealth is over, all have dropped the old group, and none the new.
 */
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
	/*
	 * It may still be dead to some: only then does its gossip count again.
	 */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			children_O04_O05_are_waited_for_by_their_depth),
		cmocka_unit_test(
			subtree_E06_E03_that_is_not_reached_is_reported_as_a_whole),
		cmocka_unit_test(reply_E05_to_a_parent_that_died_is_given_up),
		cmocka_unit_test(late_reply_M03_meets_no_buffer),
		cmocka_unit_test(
			bulk_B20_O01_has_time_where_children_share_a_link),
		cmocka_unit_test(
			reply_does_not_wait_behind_bulk_data_of_others),
		cmocka_unit_test(
			death_D02_E04_is_found_by_gossip_and_ends_the_wait),
		cmocka_unit_test(member_D03_that_has_just_started_does_no_work),
		cmocka_unit_test(
			reboot_D07_L04_ends_old_groups_before_new_ones_are_made),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
