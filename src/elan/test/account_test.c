/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accounts beside the kernel's own figures. Usage: account_test FAIRLEAD-RMS
 * KEEPER.
 */
#include <stdio.h>
#include <unistd.h>

#include "elan/test/stage.h"

#define MIB (1u << 20)

static struct rms_prgstats stats_of(int id)
{
	struct rms_prgstats stats;

	assert_int_equal(rms_prggetstats(id, &stats), 0);
	return stats;
}

static void times_are_those_of_all_that_ever_were_in(void **state)
{
	struct stage *stage = *state;
	struct player *member = player_start(stage, 0, 0);
	struct player *child;
	struct rms_prgstats stats;

	/* What it used before is not the program's. */
	assert_int_equal(play(member, ACT_BURN, .value = 200), 0);
	assert_int_equal(play(member, ACT_PRGCREATE, .id = 1, .uid = OWNER_UID,
			      .value = 3),
			 0);
	assert_true(stats_of(1).utime < 100);
	child = player_fork(stage, member, 1, 0);
	assert_int_equal(play(child, ACT_BURN, .value = 100), 0);
	stats = stats_of(1);
	assert_true(stats.utime >= 80);
	assert_true(stats.etime >= stats.utime);
	assert_int_equal(stats.atime, 3 * stats.etime);
	kill(child->pid, SIGKILL);
	player_wait(child);
	/* They stay when who used them is gone. */
	assert_true(stats_of(1).utime >= 80);
}

static void times_are_the_kernels(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct rms_prgstats stats;
	char path[512];

	assert_int_equal(play(member, ACT_BURN, .value = 50), 0);
	kill(member->pid, SIGKILL);
	player_wait(member);
	snprintf(path, sizeof(path), "%s/fairlead-rms-1", stage->cgroup);
	stats = stats_of(1);
	assert_int_equal(stats.utime,
			 cgroup_number(path, "cpu.stat", "user_usec") / 1000);
	assert_int_equal(stats.stime,
			 cgroup_number(path, "cpu.stat", "system_usec") / 1000);
	assert_true(stats.utime >= 40);
}

static void memory_and_faults_are_seen(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct rms_prgstats before = stats_of(1);
	struct rms_prgstats after;

	assert_int_equal(play(member, ACT_TOUCH, .value = 32), 0);
	after = stats_of(1);
	assert_true(after.mem >= 32 * MIB);
	assert_true(after.mem >= before.mem);
	/* 32 MiB are 8192 pages, unless the kernel gives larger ones. */
	assert_true(after.pageflts > before.pageflts);
	kill(member->pid, SIGKILL);
	player_wait(member);
	assert_true(stats_of(1).mem >= after.mem);
}

static void memory_is_the_controllers_where_there_is_one(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	char path[512];

	snprintf(path, sizeof(path), "%s/fairlead-rms-1", stage->cgroup);
	if (cgroup_number(path, "memory.peak", NULL) < 0) {
		print_message("there is no memory controller in this cgroup\n");
		skip();
	}
	assert_int_equal(play(member, ACT_TOUCH, .value = 32), 0);
	kill(member->pid, SIGKILL);
	player_wait(member);
	assert_int_equal(stats_of(1).mem,
			 cgroup_number(path, "memory.peak", NULL));
}

static bool has_ended(void *arg)
{
	return stats_of(1).flags == RMS_PRG_ZOMBIE;
}

static void time_stops_with_the_last_member(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *other = player_start(stage, 1, 0);
	uint64_t etime;

	kill(member->pid, SIGKILL);
	player_wait(member);
	eventually(has_ended, NULL);
	etime = stats_of(1).etime;
	assert_int_equal(play(other, ACT_BURN, .value = 50), 0);
	assert_int_equal(stats_of(1).etime, etime);
	daemon_again(stage);
	assert_int_equal(stats_of(1).etime, etime);
	/* Somebody comes again. */
	assert_int_equal(rms_addproc(1, other->pid), 0);
	assert_int_equal(stats_of(1).flags, RMS_PRG_RUNNING);
	assert_true(stats_of(1).etime > etime);
}

static void what_was_killed_says_so(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);

	assert_int_equal(rms_prgsignal(1, SIGKILL), 0);
	player_wait(member);
	assert_int_equal(stats_of(1).flags, RMS_PRG_ZOMBIE | RMS_PRG_KILLED);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		stage_test(times_are_those_of_all_that_ever_were_in),
		stage_test(memory_and_faults_are_seen),
		stage_test(time_stops_with_the_last_member),
		stage_test(what_was_killed_says_so),
		/* Of cgroups, from here on. */
		stage_test(times_are_the_kernels),
		stage_test(memory_is_the_controllers_where_there_is_one),
	};
	const size_t of_both = 4;
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	return _cmocka_run_group_tests(
		"account", tests,
		stage_is_group() ? sizeof(tests) / sizeof(tests[0]) : of_both,
		NULL, NULL);
}
