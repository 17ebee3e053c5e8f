/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kill -9 of the daemon between any two steps: what it has answered holds.
 * registry_test has the steps inside of one. Usage: death_test FAIRLEAD-RMS
 * KEEPER.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "elan/client.h"
#include "elan/service/group.h"
#include "elan/test/stage.h"

#define GRANT 1000

static int of(int result)
{
	return result < 0 ? -errno : 0;
}

static void all_that_was_answered_outlives_the_daemon(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct rms_elanstats moved = { .ebytes = 10, .exfers = 2 };
	struct player *member = must_create(stage, 0, 1);
	struct player *child;
	size_t count;

	daemon_again(stage);
	assert_true(is_member(1, member->pid));
	assert_int_equal(stage_rail_set(0, true), 0);
	daemon_again(stage);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	daemon_again(stage);
	assert_int_equal(of(rms_prgaddcap(1, 3, &cap)), 0);
	daemon_again(stage);
	assert_int_equal(play(member, ACT_SETCAP, .index = 3, .value = 2), 0);
	child = player_fork(stage, member, 1, 0);
	assert_int_equal(members_of(1), 2);
	daemon_again(stage);
	assert_int_equal(play(child, ACT_GETCAP, .index = 3), 0);
	assert_int_equal(child->script->cap.cap_mycontext, 0x402);
	assert_int_equal(child->script->cap.cap_userkey.key_values[3], 4);
	cap = child->script->cap;
	assert_int_equal(play(child, ACT_ATTACH, .cap = cap), 0);
	assert_int_equal(play(child, ACT_ELANINITDONE, .value = 9), 0);
	assert_int_equal(play(child, ACT_SETCOREPATH, .text = "/cores"), 0);
	assert_int_equal(of(rms_setelanstats(1, &moved)), 0);
	daemon_again(stage);
	assert_int_equal(play(member, ACT_ATTACH, .cap = cap), -EBUSY);
	assert_int_equal(play(member, ACT_PRGELANPIDS, .id = 1, .value = 4), 0);
	assert_int_equal(member->script->count, 1);
	assert_int_equal(member->script->second[0], 9);
	assert_int_equal(play(member, ACT_GETCOREPATH), 0);
	assert_string_equal(member->script->text, "/cores");
	assert_int_equal(play(member, ACT_PRGGETSTATS, .id = -1), 0);
	assert_int_equal(member->script->stats.ebytes, 10);
	assert_int_equal(stage_take_back(GRANT, NULL, 0, &count), -EBUSY);
	daemon_again(stage);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), -EACCES);
	assert_int_equal(of(rms_prgsignal(1, SIGKILL)), 0);
	daemon_again(stage);
	player_wait(member);
	player_wait(child);
	assert_int_equal(stage_take_back(GRANT, NULL, 0, &count), 0);
	daemon_again(stage);
	assert_int_equal(stage_take_back(GRANT, NULL, 0, &count), -ENOENT);
	assert_int_equal(of(rms_prgdestroy(1)), 0);
	daemon_again(stage);
	assert_int_equal(of(rms_prgdestroy(1)), -ESRCH);
}

static void who_ends_while_there_is_no_daemon_has_let_go(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct rms_client_deposit deposit;
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, 0);

	assert_int_equal(stage_rail_set(0, true), 0);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	cap.cap_mycontext = 0x401;
	assert_int_equal(play(child, ACT_ATTACH, .cap = cap), 0);
	assert_int_equal(play(child, ACT_ELANINITDONE, .value = 1), 0);
	daemon_stop(stage, SIGKILL);
	kill(child->pid, SIGKILL);
	player_wait(child);
	daemon_start(stage);
	assert_int_equal(rms_client_deposit_next(NULL, 0, &deposit), 0);
	assert_int_equal(deposit.attached_count, 0);
	assert_int_equal(play(member, ACT_ATTACH, .cap = cap), 0);
	assert_int_equal(play(member, ACT_PRGELANPIDS, .id = 1), 0);
	assert_int_equal(member->script->count, 0);
}

static void who_forks_while_there_is_no_daemon_is_a_member(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *child;
	struct player *session;

	daemon_stop(stage, SIGKILL);
	child = player_fork(stage, member, 1, 0);
	session = player_fork(stage, member, 2, FORK_SESSION);
	daemon_start(stage);
	assert_true(is_member(1, child->pid));
	assert_true(is_member(1, session->pid));
}

static void suspended_stays_suspended(void **state)
{
	struct stage *stage = *state;
	const struct script nothing = { .act = ACT_NOTHING };
	struct player *member = must_create(stage, 0, 1);

	assert_int_equal(rms_prgsuspend(1), 0);
	daemon_again(stage);
	play_begin(member, &nothing);
	assert_int_equal(of(rms_prgsignal(1, 0)), 0);
	assert_int_equal(rms_prgresume(1), 0);
	assert_int_equal(play_end(member), 0);
	daemon_again(stage);
	assert_int_equal(play(member, ACT_NOTHING), 0);
}

static void a_stop_and_a_start_are_no_end_either(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	char path[128];

	assert_int_equal(daemon_stop(stage, SIGTERM), 0);
	snprintf(path, sizeof(path), "%s/socket", stage->dir);
	assert_int_not_equal(access(path, F_OK), 0);
	daemon_start(stage);
	assert_true(is_member(1, member->pid));
}

static void what_is_of_an_earlier_boot_is_forgotten(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct rms_client_deposit deposit;
	char path[128];
	FILE *file;

	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	daemon_stop(stage, SIGKILL);
	snprintf(path, sizeof(path), "%s/state/boot_id", stage->dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("another\n", file);
	assert_int_equal(fclose(file), 0);
	daemon_start(stage);
	assert_int_equal(rms_client_deposit_next(NULL, 0, &deposit), -ENOENT);
}

static void what_is_saved_is_roots_alone(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct stat status;
	char path[128];

	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	snprintf(path, sizeof(path), "%s/state", stage->dir);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	snprintf(path, sizeof(path), "%s/state/deposit-1", stage->dir);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
}

/* 1: it does not start; with the reason on standard error. */
static int try_start(struct stage *stage)
{
	pid_t pid = fork();
	char path[64];
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, STDERR_FILENO);
		snprintf(path, sizeof(path), "/proc/%d/exe", stage->daemon);
		execl(path, "fairlead-rms", "--dir", stage->dir, NULL);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void one_directory_has_one_daemon(void **state)
{
	struct stage *stage = *state;

	assert_int_equal(try_start(stage), 1);
	assert_int_equal(rmsmod_init(), 0);
}

static void a_directory_that_others_can_write_is_not_used(void **state)
{
	struct stage *stage = *state;
	char dir[80];

	strcpy(dir, stage->dir);
	snprintf(stage->dir, sizeof(stage->dir), "%s/open", stage->folder);
	assert_int_equal(mkdir(stage->dir, 0755), 0);
	assert_int_equal(chmod(stage->dir, 0777), 0);
	assert_int_equal(try_start(stage), 1);
	assert_int_equal(chmod(stage->dir, 0755), 0);
	assert_int_equal(chown(stage->dir, OTHER_UID, SOME_GID), 0);
	assert_int_equal(try_start(stage), 1);
	strcpy(stage->dir, dir);
}

static void a_record_that_cannot_be_read_is_not_passed_over(void **state)
{
	struct stage *stage = *state;
	char dir[80];
	char path[160];
	int fd;

	strcpy(dir, stage->dir);
	snprintf(stage->dir, sizeof(stage->dir), "%s/other", stage->folder);
	assert_int_equal(mkdir(stage->dir, 0755), 0);
	snprintf(path, sizeof(path), "%s/state", stage->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "cp %s/state/boot_id %s/state", dir,
		 stage->dir);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s/state/program-1", stage->dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "half", 4), 4);
	close(fd);
	assert_int_equal(try_start(stage), 1);
	strcpy(stage->dir, dir);
}

static void cgroups_that_nobody_knows_are_swept_away_when_empty(void **state)
{
	struct stage *stage = *state;
	struct player *member;
	char mine[512];
	char others[512];

	snprintf(mine, sizeof(mine), "%s/fairlead-rms-5", stage->cgroup);
	snprintf(others, sizeof(others), "%s/fairlead-rms-6", stage->cgroup);
	member = must_create(stage, 0, 1);
	assert_int_equal(mkdir(mine, 0755), 0);
	assert_int_equal(mkdir(others, 0755), 0);
	assert_int_equal(setxattr(mine, GROUP_MARK, stage->dir,
				  strlen(stage->dir), 0),
			 0);
	kill(member->pid, SIGKILL);
	player_wait(member);
	daemon_again(stage);
	assert_int_not_equal(access(mine, F_OK), 0);
	assert_int_equal(access(others, F_OK), 0);
	assert_int_equal(members_of(1), 0);
	assert_int_equal(of(rms_prgdestroy(1)), 0);
}

static void a_cgroup_that_was_taken_away_is_an_error_to_see(void **state)
{
	struct stage *stage = *state;
	struct rms_prgstats stats;
	struct player *member = must_create(stage, 0, 1);
	char path[512];

	kill(member->pid, SIGKILL);
	player_wait(member);
	daemon_stop(stage, SIGKILL);
	snprintf(path, sizeof(path), "%s/fairlead-rms-1", stage->cgroup);
	assert_int_equal(rmdir(path), 0);
	daemon_start(stage);
	assert_int_equal(rms_prggetstats(1, &stats), 0);
	assert_int_equal(stats.flags, RMS_PRG_ZOMBIE | RMS_PRG_ERROR);
	assert_int_equal(members_of(1), 0);
	assert_int_equal(of(rms_prgdestroy(1)), 0);
}

/* In a mount namespace of its own, where cgroups cannot be written. */
static int make_read_only(const struct stage *stage)
{
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(stage->mount, stage->mount, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, stage->mount, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY,
		  NULL) < 0)
		return -errno;
	return 0;
}

/* The same without any of version 2. */
static int make_version_1(const struct stage *stage)
{
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    umount2(stage->mount, MNT_DETACH) < 0)
		return -errno;
	return 0;
}

static void without_cgroups_members_are_looked_for(void **state)
{
	static int (*const prepare[])(const struct stage *stage) = {
		make_read_only,
		make_version_1,
	};
	struct stage *stage = *state;

	daemon_stop(stage, SIGTERM);
	for (int i = 0; i < 2; i++) {
		struct player *member;

		assert_false(daemon_start_with(stage, "group", prepare[i]));
		assert_true(daemon_start_with(stage, "auto", prepare[i]));
		assert_int_equal(rms_ptrack_enabled(), 0);
		member = must_create(stage, i, i + 1);
		assert_true(is_member(i + 1, member->pid));
		assert_int_equal(rms_prgsignal(i + 1, SIGKILL), 0);
		player_wait(member);
		assert_int_equal(daemon_stop(stage, SIGTERM), 0);
	}
	assert_true(daemon_start_with(stage, "auto", NULL));
	assert_int_equal(rms_ptrack_enabled(), 1);
}

static void what_was_looked_for_is_so_with_cgroups_too(void **state)
{
	struct stage *stage = *state;
	struct player *member;
	struct player *child;
	struct player *other = player_start(stage, 2, 0);

	daemon_stop(stage, SIGTERM);
	assert_true(daemon_start_with(stage, "search", NULL));
	member = must_create(stage, 0, 1);
	daemon_again(stage);
	assert_int_equal(rms_ptrack_enabled(), 1);
	child = player_fork(stage, member, 1, 0);
	assert_true(is_member(1, child->pid));
	assert_false(is_member(1, other->pid));
	assert_int_equal(members_of(1), 2);
	assert_int_equal(rms_prgsignal(1, SIGKILL), 0);
	player_wait(member);
	player_wait(child);
	assert_int_equal(of(rms_prgdestroy(1)), 0);
	/* Nothing but that program. */
	assert_int_equal(access(stage->cgroup, F_OK), 0);
	assert_int_equal(play(other, ACT_GETPRGID), -ESRCH);
}

static void what_is_in_a_cgroup_is_not_lost_without_them(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);

	daemon_stop(stage, SIGTERM);
	assert_false(daemon_start_with(stage, "search", NULL));
	assert_false(daemon_start_with(stage, "auto", make_read_only));
	daemon_start(stage);
	assert_true(is_member(1, member->pid));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		stage_test(all_that_was_answered_outlives_the_daemon),
		stage_test(who_ends_while_there_is_no_daemon_has_let_go),
		stage_test(who_forks_while_there_is_no_daemon_is_a_member),
		stage_test(suspended_stays_suspended),
		stage_test(a_stop_and_a_start_are_no_end_either),
		stage_test(what_is_of_an_earlier_boot_is_forgotten),
		stage_test(what_is_saved_is_roots_alone),
		stage_test(one_directory_has_one_daemon),
		stage_test(a_directory_that_others_can_write_is_not_used),
		stage_test(a_record_that_cannot_be_read_is_not_passed_over),
		/* Of cgroups, from here on. */
		stage_test(cgroups_that_nobody_knows_are_swept_away_when_empty),
		stage_test(a_cgroup_that_was_taken_away_is_an_error_to_see),
		stage_test(without_cgroups_members_are_looked_for),
		stage_test(what_was_looked_for_is_so_with_cgroups_too),
		stage_test(what_is_in_a_cgroup_is_not_lost_without_them),
	};
	const size_t of_both = 10;
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	return _cmocka_run_group_tests(
		"death", tests,
		stage_is_group() ? sizeof(tests) / sizeof(tests[0]) : of_both,
		NULL, NULL);
}
