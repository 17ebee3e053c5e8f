/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of whole clusters: how they become known, and how long they live. */
#include "cluster_bed.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sodium.h>

/* --- groups --- */

static void immediate_group_G01_G03_is_known_before_its_maker_is_notified(
	void **state)
{
	struct cluster_options options = plain(13);
	struct cluster *cluster = cluster_create(&options);
	struct team *team = team_of_all(cluster, 5, true);

	assert_false(team->was_notified);
	assert_null(team->group);
	while (!team->was_notified)
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
	assert_true(team->was_notified);
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

	assert_true(team->was_notified);
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
	assert_false(team->was_notified);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			immediate_group_G01_G03_is_known_before_its_maker_is_notified),
		cmocka_unit_test(immediate_group_G01_that_fails_leaves_nothing),
		cmocka_unit_test(
			delayed_group_G02_G03_travels_with_the_first_broadcast),
		cmocka_unit_test(large_group_G04_has_to_be_immediate),
		cmocka_unit_test(
			oob_group_G05_G07_is_asked_for_with_the_first_message),
		cmocka_unit_test(oob_group_G08_G15_has_a_tree_of_each_root),
		cmocka_unit_test(other_members_G09_G10_G11_fail_cleanly),
		cmocka_unit_test(subset_G16_of_those_who_live_is_agreed_upon),
		cmocka_unit_test(last_request_L01_ends_the_group_everywhere),
		cmocka_unit_test(destroy_L02_is_an_empty_last_broadcast),
		cmocka_unit_test(
			death_L03_of_the_maker_ends_its_groups_and_of_a_member_L05_none),
		cmocka_unit_test(reboot_L04_ends_groups_of_earlier_starts_only),
		cmocka_unit_test(idle_group_L06_goes_with_its_lifetime),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
