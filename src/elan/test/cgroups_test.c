/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs as cgroups: where they are, what limits them, and that nobody gets
 * out. Usage: cgroups_test FAIRLEAD-RMS group.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elan/service/group.h"
#include "elan/test/stage.h"

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

#define LIMIT_TEXT "33554432" /* 32 MiB */
#define LIMIT_MIB  32
#define MEMORY_V1  "/sys/fs/cgroup/memory"

/*
 * Limit the memory of a process, as its job's manager does: by the cgroup that
 * the stage is in, or by the hierarchy of version 1 where memory is there.
 * ret_dir: a cgroup to remove, or nothing. Can it be.
 */
static bool limit_memory(const struct stage *stage, pid_t pid, char *ret_dir)
{
	char parent[400];

	ret_dir[0] = '\0';
	strcpy(parent, stage->cgroup);
	*strrchr(parent, '/') = '\0';
	group_write(parent, "cgroup.subtree_control", "+memory");
	if (group_write(stage->cgroup, "memory.max", LIMIT_TEXT) == 0) {
		group_write(stage->cgroup, "memory.swap.max", "0");
		return true;
	}
	sprintf(ret_dir, MEMORY_V1 "/rms-test-%d", getpid());
	if (mkdir(ret_dir, 0755) < 0) {
		ret_dir[0] = '\0';
		return false;
	}
	group_write(ret_dir, "memory.swappiness", "0");
	return group_write(ret_dir, "memory.limit_in_bytes", LIMIT_TEXT) == 0 &&
	       write_as_root(ret_dir, pid) == 0;
}

static bool is_removed(void *dir)
{
	return rmdir(dir) == 0;
}

/* What the maker may use is all that its program's members may use. */
static void a_program_has_the_memory_limit_of_its_maker(void **state)
{
	struct stage *stage = *state;
	struct player *maker = player_start(stage, 0, 0);
	struct player *child;
	bool has_limit;
	char dir[64];

	has_limit = limit_memory(stage, maker->pid, dir);
	if (has_limit) {
		assert_int_equal(play(maker, ACT_PRGCREATE, .id = 1,
				      .uid = OWNER_UID, .value = 1),
				 0);
		child = player_fork(stage, maker, 1, FORK_SESSION);
		assert_int_equal(play(child, ACT_BECOME, .uid = OWNER_UID), 0);
		assert_int_equal(play(child, ACT_TOUCH, .value = LIMIT_MIB / 4),
				 0);
		play_begin(child, &(struct script){ .act = ACT_TOUCH,
						    .value = 4 * LIMIT_MIB });
		while (!player_has_ended(child))
			assert_false(play_is_done(child));
		assert_true(is_member(1, maker->pid));
		assert_int_equal(rms_prgsignal(1, SIGKILL), 0);
		player_wait(maker);
	}
	if (dir[0] != '\0')
		eventually(is_removed, dir);
	if (!has_limit) {
		print_message("there is no memory controller to be had\n");
		skip();
	}
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
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
		stage_test(a_program_has_the_memory_limit_of_its_maker),
		stage_test(
			without_room_for_cgroups_a_call_fails_and_nothing_else),
	};
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
