/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members stay members, and are reached as a whole. Usage: members_test
 * FAIRLEAD-RMS KEEPER.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rms/service/group.h"
#include "rms/test/stage.h"

static int of(int result)
{
	return result < 0 ? -errno : 0;
}

static int write_procs(struct player *player, const char *dir)
{
	struct script script = { .act = ACT_WRITE };

	snprintf(script.text, sizeof(script.text), "%s/cgroup.procs", dir);
	return play_script(player, &script);
}

/* Fork a child that is there from its beginning. */
static int clone_into(struct player *player, const char *dir)
{
	struct script script = { .act = ACT_CLONE };

	snprintf(script.text, sizeof(script.text), "%s", dir);
	return play_script(player, &script);
}

static int write_as_root(const char *dir, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return group_write(dir, "cgroup.procs", text);
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

static void a_member_cannot_leave_by_writing_cgroup_procs(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	char path[512];

	assert_int_equal(play(member, ACT_BECOME, .uid = OWNER_UID), 0);
	assert_int_equal(write_procs(member, stage->cgroup), -EACCES);
	assert_int_equal(write_procs(member, stage->mount), -EACCES);
	snprintf(path, sizeof(path), "%s/fairlead-rms-1", stage->cgroup);
	assert_int_equal(write_procs(member, path), -EACCES);
	snprintf(path, sizeof(path), "%s/fairlead-rms-1/mine", stage->cgroup);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_string_equal(cgroup_of(stage, member->pid), "/fairlead-rms-1");
	assert_true(is_member(1, member->pid));
}

/* A cgroup of the user's own, to which it cannot go from the program. */
static void a_delegated_cgroup_beside_it_is_no_way_out(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	char dir[512];
	char path[600];

	snprintf(dir, sizeof(dir), "%s/own", stage->cgroup);
	assert_int_equal(mkdir(dir, 0755), 0);
	assert_int_equal(chown(dir, OWNER_UID, SOME_GID), 0);
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	assert_int_equal(chown(path, OWNER_UID, SOME_GID), 0);
	assert_int_equal(play(member, ACT_BECOME, .uid = OWNER_UID), 0);
	assert_int_equal(write_procs(member, dir), -EACCES);
	assert_int_equal(clone_into(member, dir), -EACCES);
	assert_true(is_member(1, member->pid));
}

/* The cgroup above is the user's: it can leave, and is put back. */
static void a_member_that_left_a_delegated_cgroup_is_put_back(void **state)
{
	struct stage *stage = *state;
	struct player *member;
	struct player *child;
	char path[512];

	snprintf(path, sizeof(path), "%s/cgroup.procs", stage->cgroup);
	assert_int_equal(chown(stage->cgroup, OWNER_UID, SOME_GID), 0);
	assert_int_equal(chown(path, OWNER_UID, SOME_GID), 0);
	member = must_create(stage, 0, 1);
	assert_int_equal(play(member, ACT_BECOME, .uid = OWNER_UID), 0);
	assert_int_equal(write_procs(member, stage->cgroup), 0);
	child = player_fork(stage, member, 1, 0);
	assert_true(is_member(1, member->pid));
	assert_true(is_member(1, child->pid));
	assert_string_equal(cgroup_of(stage, member->pid), "/fairlead-rms-1");
	assert_string_equal(cgroup_of(stage, child->pid), "/fairlead-rms-1");

	assert_int_equal(write_procs(child, stage->cgroup), 0);
	daemon_again(stage);
	assert_int_equal(members_of(1), 2);
	assert_int_equal(write_procs(child, stage->cgroup), 0);
	assert_int_equal(rms_prgsignal(1, SIGKILL), 0);
	player_wait(member);
	player_wait(child);
	assert_int_equal(rms_prgdestroy(1), 0);
}

static void who_root_lets_out_of_a_delegated_cgroup_stays_out(void **state)
{
	struct stage *stage = *state;
	struct player *member;
	struct player *child;
	struct player *later;

	assert_int_equal(chown(stage->cgroup, OWNER_UID, SOME_GID), 0);
	member = must_create(stage, 0, 1);
	child = player_fork(stage, member, 1, 0);
	assert_int_equal(members_of(1), 2);
	assert_int_equal(rms_removeproc(1, child->pid), 0);
	later = player_fork(stage, child, 2, 0);
	assert_int_equal(members_of(1), 1);
	assert_false(is_member(1, child->pid));
	assert_false(is_member(1, later->pid));
	assert_int_equal(rms_addproc(1, child->pid), 0);
	assert_true(is_member(1, child->pid));
}

static void an_owner_adds_no_process_from_elsewhere(void **state)
{
	struct stage *stage = *state;
	struct player *owner;
	struct player *away;
	struct player *near;
	char dir[512];

	must_create(stage, 0, 1);
	owner = player_start(stage, 1, OWNER_UID);
	away = player_start(stage, 2, OWNER_UID);
	near = player_start(stage, 3, OWNER_UID);
	assert_int_equal(write_as_root(stage->mount, away->pid), 0);
	assert_int_equal(play(owner, ACT_ADDPROC, .id = 1, .value = away->pid),
			 -EACCES);
	assert_int_equal(of(rms_addproc(1, away->pid)), 0);
	/* What is below can have limits of its own. */
	snprintf(dir, sizeof(dir), "%s/below", stage->cgroup);
	assert_int_equal(mkdir(dir, 0755), 0);
	assert_int_equal(write_as_root(dir, near->pid), 0);
	assert_int_equal(play(owner, ACT_ADDPROC, .id = 1, .value = near->pid),
			 -EACCES);
	assert_int_equal(write_as_root(stage->cgroup, near->pid), 0);
	assert_int_equal(play(owner, ACT_ADDPROC, .id = 1, .value = near->pid),
			 0);
}

static void programs_are_below_their_makers_cgroup(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct stat status;
	char path[512];

	snprintf(path, sizeof(path), "%s/fairlead-rms-1", stage->cgroup);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_uid, 0);
	assert_int_equal(status.st_mode & 0777, 0755);
	assert_int_equal(rms_prgsignal(1, SIGKILL), 0);
	player_wait(member);
	assert_int_equal(rms_prgdestroy(1), 0);
	assert_int_equal(access(path, F_OK), -1);
}

static void a_cgroup_in_the_way_is_used_when_it_is_empty(void **state)
{
	struct stage *stage = *state;
	struct player *member = player_start(stage, 0, 0);
	struct player *squatter = player_start(stage, 1, 0);
	char path[512];

	snprintf(path, sizeof(path), "%s/fairlead-rms-1", stage->cgroup);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(write_procs(squatter, path), 0);
	assert_int_equal(play(member, ACT_PRGCREATE, .id = 1, .uid = OWNER_UID,
			      .value = 1),
			 -EINVAL);
	assert_int_equal(write_procs(squatter, stage->cgroup), 0);
	assert_int_equal(play(member, ACT_PRGCREATE, .id = 1, .uid = OWNER_UID,
			      .value = 1),
			 0);
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

/* Forks as fast as it can, and never ends by itself. */
static void fork_for_ever(void)
{
	for (;;) {
		pid_t pid = fork();

		if (pid > 0)
			_exit(0);
	}
}

static void assert_runaways_end(struct stage *stage)
{
	struct player *member = must_create(stage, 0, 1);
	pid_t pid;
	char path[600];

	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* It goes to the program, and then its descendants run away. */
		snprintf(path, sizeof(path), "%s/fairlead-rms-1",
			 stage->cgroup);
		if (write_as_root(path, getpid()) < 0)
			_exit(1);
		fork_for_ever();
	}
	snprintf(path, sizeof(path), "%s/fairlead-rms-1", stage->cgroup);
	while (cgroup_number(path, "cpu.stat", "usage_usec") < 20000)
		continue;
	assert_int_equal(of(rms_prgsignal(1, SIGKILL)), 0);
	player_wait(member);
	while (cgroup_number(path, "cgroup.events", "populated") != 0)
		continue;
	assert_int_equal(members_of(1), 0);
	assert_int_equal(rms_prgdestroy(1), 0);
}

static void who_forks_all_the_time_does_not_get_away(void **state)
{
	assert_runaways_end(*state);
}

/* Where members are looked for besides, it is the kernel that ends them. */
static void nor_does_it_from_a_delegated_cgroup(void **state)
{
	struct stage *stage = *state;

	assert_int_equal(chown(stage->cgroup, OWNER_UID, SOME_GID), 0);
	assert_runaways_end(stage);
}

/* With contexts, each process is in a cgroup below; all count. */
static void contexts_leave_no_cgroups_behind(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, 0);
	char path[512];
	struct stat status;

	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	for (int i = 0; i < 70; i++) {
		assert_int_equal(play(member, ACT_SETCAP, .value = i % 4), 0);
		assert_int_equal(play(child, ACT_SETCAP, .value = 3 - i % 4),
				 0);
	}
	assert_int_equal(play(member, ACT_GETCAP, .index = 0), 0);
	assert_int_equal(member->script->cap.cap_mycontext, 0x401);
	assert_int_equal(play(child, ACT_GETCAP, .index = 0), 0);
	assert_int_equal(child->script->cap.cap_mycontext, 0x402);
	snprintf(path, sizeof(path), "%s/fairlead-rms-1", stage->cgroup);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_nlink, 4); /* two below it */
	assert_int_equal(members_of(1), 2);
}

/* Where the job's manager allows no more cgroups, a call says so. */
static void without_room_for_cgroups_a_call_fails_and_nothing_else(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *member = must_create(stage, 0, 1);
	struct player *late = player_start(stage, 1, 0);

	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	assert_int_equal(
		group_write(stage->cgroup, "cgroup.max.descendants", "1"), 0);
	assert_int_equal(play(member, ACT_SETCAP, .value = 1), -ENOMEM);
	assert_int_equal(play(late, ACT_PRGCREATE, .id = 2, .uid = OWNER_UID,
			      .value = 1),
			 -ENOMEM);
	assert_int_equal(members_of(2), -ESRCH);
	assert_true(is_member(1, member->pid));
	assert_int_equal(
		group_write(stage->cgroup, "cgroup.max.descendants", "max"), 0);
	assert_int_equal(play(member, ACT_SETCAP, .value = 1), 0);
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
		/* Of cgroups, from here on. */
		stage_test(a_member_cannot_leave_by_writing_cgroup_procs),
		stage_test(a_delegated_cgroup_beside_it_is_no_way_out),
		stage_test(a_member_that_left_a_delegated_cgroup_is_put_back),
		stage_test(who_root_lets_out_of_a_delegated_cgroup_stays_out),
		stage_test(an_owner_adds_no_process_from_elsewhere),
		stage_test(programs_are_below_their_makers_cgroup),
		stage_test(a_cgroup_in_the_way_is_used_when_it_is_empty),
		stage_test(who_forks_all_the_time_does_not_get_away),
		stage_test(nor_does_it_from_a_delegated_cgroup),
		stage_test(contexts_leave_no_cgroups_behind),
		stage_test(
			without_room_for_cgroups_a_call_fails_and_nothing_else),
	};
	const size_t of_both = 9;
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	return _cmocka_run_group_tests(
		"members", tests,
		stage_is_group() ? sizeof(tests) / sizeof(tests[0]) : of_both,
		NULL, NULL);
}
