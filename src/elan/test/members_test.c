/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members stay members, and are reached as a whole. Usage: members_test
 * FAIRLEAD-RMS KEEPER.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elan/test/stage.h"

static int of(int result)
{
	return result < 0 ? -errno : 0;
}

static void children_are_members_whatever_they_do(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, 0);
	struct player *session = player_fork(stage, member, 2, FORK_SESSION);
	struct player *orphan = player_fork(stage, child, 3, FORK_TWICE);
	struct player *below = player_fork(stage, session, 4, FORK_TWICE);

	assert_true(is_member(1, child->pid));
	assert_true(is_member(1, session->pid));
	if (stage_is_group())
		assert_true(is_member(1, orphan->pid));
	assert_true(is_member(1, below->pid));
	kill(member->pid, SIGKILL);
	player_wait(member);
	assert_true(is_member(1, session->pid));
}

/* In a session of its own, and of no parent: only the kernel knows it. */
static void a_daemon_is_a_member_where_the_kernel_keeps_it(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *daemon =
		player_fork(stage, member, 1, FORK_SESSION | FORK_TWICE);
	struct player *below = player_fork(stage, daemon, 2, FORK_SESSION);

	if (!stage_is_group()) {
		print_message("members are looked for: it may be lost\n");
		skip();
	}
	assert_true(is_member(1, daemon->pid));
	assert_true(is_member(1, below->pid));
	assert_int_equal(members_of(1), 3);
	assert_int_equal(rms_prgsignal(1, SIGKILL), 0);
	player_wait(daemon);
	player_wait(below);
}

static bool is_zombie(void *arg)
{
	const struct player *player = arg;

	return state_of(player->pid) == 'Z';
}

/* Of a process whose first thread has ended /proc says that it is a zombie. */
static void a_member_without_its_first_thread_is_still_one(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, 0);
	struct player *below;

	assert_int_equal(members_of(1), 2);
	assert_int_equal(play(child, ACT_THREAD), 0);
	eventually(is_zombie, child);
	assert_true(is_member(1, child->pid));
	assert_int_equal(members_of(1), 2);
	below = player_fork(stage, child, 2, 0);
	assert_true(is_member(1, below->pid));
	assert_int_equal(play(child, ACT_GETPRGID), 0);
	assert_int_equal(rms_prgsignal(1, SIGTERM), 0);
	player_wait(child);
	player_wait(below);
}

static void children_from_before_stay_outside(void **state)
{
	struct stage *stage = *state;
	struct player *member = player_start(stage, 0, 0);
	struct player *before = player_fork(stage, member, 1, 0);

	/* A program's first tick is not that of who was there before. */
	assert_int_equal(play(member, ACT_BURN, .value = 30), 0);
	assert_int_equal(play(member, ACT_PRGCREATE, .id = 1, .uid = OWNER_UID,
			      .value = 1),
			 0);
	assert_false(is_member(1, before->pid));
	assert_int_equal(members_of(1), 1);
}

static void a_signal_reaches_every_member(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *outside = player_start(stage, 5, OWNER_UID);
	struct player *members[4];

	members[0] = must_create(stage, 0, 1);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	members[1] = player_fork(stage, members[0], 1, 0);
	assert_int_equal(play(members[1], ACT_SETCAP, .value = 1), 0);
	members[2] = player_fork(stage, members[1], 2, FORK_SESSION);
	members[3] = player_fork(stage, members[2], 3, FORK_TWICE);
	assert_int_equal(rms_prgsignal(1, SIGUSR1), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(play(members[i], ACT_NOTHING), 0);
	assert_int_equal(rms_prgsignal(1, SIGTERM), 0);
	for (int i = 0; i < 4; i++)
		player_wait(members[i]);
	assert_int_equal(members_of(1), 0);
	assert_int_equal(play(outside, ACT_NOTHING), 0);
}

static bool is_frozen(void *arg)
{
	return cgroup_number(arg, "cgroup.events", "frozen") == 1;
}

static bool is_stopped(void *arg)
{
	const struct player *player = arg;

	return state_of(player->pid) == 'T';
}

static void wait_for_stop(struct stage *stage, struct player *one,
			  struct player *two)
{
	char path[512];

	if (stage_is_group()) {
		snprintf(path, sizeof(path), "%s/fairlead-rms-1",
			 stage->cgroup);
		eventually(is_frozen, path);
		return;
	}
	eventually(is_stopped, one);
	eventually(is_stopped, two);
}

static void suspended_members_do_nothing_until_they_are_resumed(void **state)
{
	struct stage *stage = *state;
	const struct script nothing = { .act = ACT_NOTHING };
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, FORK_SESSION);
	struct player *owner = player_start(stage, 2, OWNER_UID);

	assert_int_equal(play(owner, ACT_PRGSUSPEND, .id = 1), 0);
	wait_for_stop(stage, member, child);
	play_begin(member, &nothing);
	play_begin(child, &nothing);
	assert_int_equal(play(owner, ACT_PRGGETSTATS, .id = 1), 0);
	assert_int_equal(owner->script->stats.flags,
			 RMS_PRG_RUNNING | RMS_PRG_SUSPEND);
	assert_false(play_is_done(member));
	assert_false(play_is_done(child));
	assert_int_equal(play(owner, ACT_PRGRESUME, .id = 1), 0);
	assert_int_equal(play_end(member), 0);
	assert_int_equal(play_end(child), 0);
	assert_int_equal(play(owner, ACT_PRGGETSTATS, .id = 1), 0);
	assert_int_equal(owner->script->stats.flags, RMS_PRG_RUNNING);
}

static void a_member_can_suspend_its_own_program(void **state)
{
	struct stage *stage = *state;
	const struct script suspend = { .act = ACT_PRGSUSPEND, .id = 1 };
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, 0);

	play_begin(member, &suspend);
	wait_for_stop(stage, member, child);
	assert_int_equal(rms_prgresume(1), 0);
	assert_int_equal(play_end(member), 0);
	assert_int_equal(play(child, ACT_NOTHING), 0);
}

static void suspended_members_are_killed_as_well(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, FORK_SESSION);

	assert_int_equal(rms_prgsuspend(1), 0);
	wait_for_stop(stage, member, child);
	assert_int_equal(rms_prgsignal(1, SIGKILL), 0);
	player_wait(member);
	player_wait(child);
	assert_int_equal(members_of(1), 0);
}

/* Also where nobody has looked while it was there. */
static void who_made_it_and_ended_at_once_is_followed_by_its_session(
	void **state)
{
	struct stage *stage = *state;
	struct player *above = player_start(stage, 0, 0);
	struct player *maker = player_fork(stage, above, 1, FORK_SESSION);
	struct player *child;

	/* It is ours to wait for then. */
	play_begin(above, &(struct script){ .act = ACT_END });
	player_wait(above);
	assert_int_equal(play(maker, ACT_PRGCREATE, .id = 1, .uid = OWNER_UID,
			      .value = 1),
			 0);
	child = player_fork(stage, maker, 2, 0);
	play_begin(maker, &(struct script){ .act = ACT_END });
	assert_int_equal(waitpid(maker->pid, NULL, 0), maker->pid);
	assert_true(is_member(1, child->pid));
	assert_int_equal(members_of(1), 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		stage_test(
			who_made_it_and_ended_at_once_is_followed_by_its_session),
		stage_test(children_are_members_whatever_they_do),
		stage_test(a_daemon_is_a_member_where_the_kernel_keeps_it),
		stage_test(a_member_without_its_first_thread_is_still_one),
		stage_test(children_from_before_stay_outside),
		stage_test(a_signal_reaches_every_member),
		stage_test(suspended_members_do_nothing_until_they_are_resumed),
		stage_test(a_member_can_suspend_its_own_program),
		stage_test(suspended_members_are_killed_as_well),
	};
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
