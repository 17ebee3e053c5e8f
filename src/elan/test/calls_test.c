/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each call on one node, and each of its errors, as root, as the owner and as
 * somebody else; with either keeper. Usage: calls_test FAIRLEAD-RMS KEEPER.
 */
#include <stdio.h>
#include <unistd.h>

#include "elan/test/stage.h"

#define NO_PROGRAM 99

static int of(int result)
{
	return result < 0 ? -errno : 0;
}

static void each_call_says_that_there_is_no_daemon(void **state)
{
	struct elan_capability cap = sample_cap(0);
	struct rms_elanstats elanstats = { 0 };
	struct rms_prgstats stats;
	char path[8];
	int n, m;

	daemon_stop(*state, SIGTERM);
	assert_int_equal(of(rmsmod_init()), -ENOENT);
	rmsmod_fini();
	assert_int_equal(of(rms_modversion()), -ENOENT);
	assert_int_equal(of(rms_ptrack_enabled()), -ENOENT);
	assert_int_equal(of(rms_prgcreate(1, 0, 1)), -ENOENT);
	assert_int_equal(of(rms_prgdestroy(1)), -ENOENT);
	assert_int_equal(of(rms_prgids(1, &n, &m)), -ENOENT);
	assert_int_equal(of(rms_prginfo(1, 1, &n, &m)), -ENOENT);
	assert_int_equal(of(rms_getprgid(0, &n)), -ENOENT);
	assert_int_equal(of(rms_addproc(1, 1)), -ENOENT);
	assert_int_equal(of(rms_removeproc(1, 1)), -ENOENT);
	assert_int_equal(of(rms_prgsignal(1, 1)), -ENOENT);
	assert_int_equal(of(rms_prgsuspend(1)), -ENOENT);
	assert_int_equal(of(rms_prgresume(1)), -ENOENT);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), -ENOENT);
	assert_int_equal(of(rms_setcap(0, 0)), -ENOENT);
	assert_int_equal(of(rms_ncaps(&n)), -ENOENT);
	assert_int_equal(of(rms_mycap(&n)), -ENOENT);
	assert_int_equal(of(rms_getcap(0, &cap)), -ENOENT);
	assert_int_equal(of(rms_prefcap(1, &n)), -ENOENT);
	assert_int_equal(of(rms_elaninitdone(0)), -ENOENT);
	assert_int_equal(of(rms_prgelanpids(1, 1, &n, &n, &m)), -ENOENT);
	assert_int_equal(of(rms_prggetstats(1, &stats)), -ENOENT);
	assert_int_equal(of(rms_setelanstats(1, &elanstats)), -ENOENT);
	assert_int_equal(of(rms_setcorepath("/")), -ENOENT);
	assert_int_equal(of(rms_getcorepath(0, path, 8)), -ENOENT);
	daemon_start(*state);
	daemon_stop(*state, SIGKILL);
	assert_int_equal(of(rmsmod_init()), -ECONNREFUSED);
}

static void version_and_kind_are_said(void **state)
{
	assert_int_equal(rmsmod_init(), 0);
	rmsmod_fini();
	assert_int_equal(rms_modversion(), 6);
	assert_int_equal(rms_ptrack_enabled(), stage_is_group());
}

static void null_pointers_are_refused(void **state)
{
	int n;

	assert_int_equal(of(rms_prgids(1, NULL, &n)), -EFAULT);
	assert_int_equal(of(rms_prgids(1, &n, NULL)), -EFAULT);
	assert_int_equal(of(rms_prginfo(1, 1, NULL, &n)), -EFAULT);
	assert_int_equal(of(rms_prginfo(1, 1, &n, NULL)), -EFAULT);
	assert_int_equal(of(rms_getprgid(0, NULL)), -EFAULT);
	assert_int_equal(of(rms_prgaddcap(1, 0, NULL)), -EINVAL);
	assert_int_equal(of(rms_ncaps(NULL)), -EFAULT);
	assert_int_equal(of(rms_mycap(NULL)), -EFAULT);
	assert_int_equal(of(rms_getcap(0, NULL)), -EFAULT);
	assert_int_equal(of(rms_prefcap(1, NULL)), -EFAULT);
	assert_int_equal(of(rms_prgelanpids(1, 1, NULL, &n, &n)), -EFAULT);
	assert_int_equal(of(rms_prgelanpids(1, 1, &n, NULL, &n)), -EFAULT);
	assert_int_equal(of(rms_prgelanpids(1, 1, &n, &n, NULL)), -EFAULT);
	assert_int_equal(of(rms_prggetstats(1, NULL)), -EFAULT);
	assert_int_equal(of(rms_setelanstats(1, NULL)), -EFAULT);
	assert_int_equal(of(rms_setcorepath(NULL)), -EFAULT);
	assert_int_equal(of(rms_getcorepath(0, NULL, 1)), -EFAULT);
}

static void processor_sets_are_not_there(void **state)
{
	int n;

	assert_int_equal(of(rms_setpset(1)), -ENOSYS);
	assert_int_equal(of(rms_getpset(&n)), -ENOSYS);
}

static void programs_are_made_by_root_once(void **state)
{
	struct stage *stage = *state;
	struct player *root = player_start(stage, 0, 0);
	struct player *user = player_start(stage, 1, OWNER_UID);
	struct player *second = player_start(stage, 2, 0);

	assert_int_equal(play(user, ACT_PRGCREATE, .id = 1, .uid = OWNER_UID,
			      .value = 1),
			 -EACCES);
	assert_int_equal(play(root, ACT_PRGCREATE, .id = 0, .value = 1),
			 -EINVAL);
	assert_int_equal(play(root, ACT_PRGCREATE, .id = -1, .value = 1),
			 -EINVAL);
	assert_int_equal(play(root, ACT_PRGCREATE, .id = 1, .value = 0),
			 -EINVAL);
	assert_int_equal(play(root, ACT_PRGCREATE, .id = 1, .value = 1), 0);
	assert_int_equal(play(second, ACT_PRGCREATE, .id = 1, .value = 1),
			 -EINVAL);
	/* Who is in a program makes none. */
	assert_int_equal(play(root, ACT_PRGCREATE, .id = 2, .value = 1),
			 -EINVAL);
	assert_int_equal(play(second, ACT_PRGCREATE, .id = 2, .value = 1), 0);
}

static void programs_are_destroyed_when_they_are_empty(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *user = player_start(stage, 1, OWNER_UID);

	assert_int_equal(play(user, ACT_PRGDESTROY, .id = 1), -EACCES);
	assert_int_equal(of(rms_prgdestroy(NO_PROGRAM)), -ESRCH);
	if (stage_is_group()) {
		assert_int_equal(of(rms_prgdestroy(1)), -ECHILD);
		assert_int_equal(play(member, ACT_PRGDESTROY, .id = 1),
				 -ECHILD);
		assert_int_equal(rms_prgsignal(1, SIGKILL), 0);
		player_wait(member);
	}
	/* Without a kernel that holds them, members are forgotten with it. */
	assert_int_equal(of(rms_prgdestroy(1)), 0);
	assert_int_equal(of(rms_prgdestroy(1)), -ESRCH);
}

static void programs_are_listed_by_rising_id(void **state)
{
	struct stage *stage = *state;
	int ids[4] = { 0 };
	int count = -1;

	assert_int_equal(rms_prgids(4, ids, &count), 0);
	assert_int_equal(count, 0);
	must_create(stage, 0, 7);
	must_create(stage, 1, 3);
	must_create(stage, 2, INT32_MAX);
	assert_int_equal(of(rms_prgids(0, ids, &count)), -EINVAL);
	assert_int_equal(rms_prgids(4, ids, &count), 0);
	assert_int_equal(count, 3);
	assert_int_equal(ids[0], 3);
	assert_int_equal(ids[1], 7);
	assert_int_equal(ids[2], INT32_MAX);
	assert_int_equal(rms_prgids(2, ids, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(play(player_start(stage, 3, OTHER_UID), ACT_PRGIDS,
			      .value = LIST_MAX),
			 0);
}

static void members_are_listed_and_counted(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, 0);
	struct player *other = player_start(stage, 2, OTHER_UID);
	pid_t pids[2];
	int count;

	assert_int_equal(of(rms_prginfo(NO_PROGRAM, 0, NULL, &count)), -ESRCH);
	assert_int_equal(of(rms_prginfo(1, -1, pids, &count)), -EINVAL);
	assert_int_equal(rms_prginfo(1, 2, pids, &count), 0);
	assert_int_equal(count, 2);
	assert_true(pids[0] == member->pid || pids[1] == member->pid);
	assert_true(pids[0] == child->pid || pids[1] == child->pid);
	/* All are counted, whatever has room. */
	pids[1] = -7;
	assert_int_equal(rms_prginfo(1, 1, pids, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(pids[1], -7);
	assert_int_equal(play(other, ACT_PRGINFO, .id = 1, .value = LIST_MAX),
			 0);
	assert_int_equal(other->script->count, 2);
}

static void a_process_is_asked_for_its_program(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *other = player_start(stage, 1, OTHER_UID);

	assert_int_equal(play(member, ACT_GETPRGID, .value = 0), 0);
	assert_int_equal(member->script->number, 1);
	assert_int_equal(play(other, ACT_GETPRGID, .value = 0), -ESRCH);
	assert_int_equal(play(other, ACT_GETPRGID, .value = member->pid), 0);
	assert_int_equal(other->script->number, 1);
	assert_int_equal(play(other, ACT_GETPRGID, .value = -5), -ESRCH);
	assert_int_equal(play(other, ACT_GETPRGID, .value = INT32_MAX), -ESRCH);
}

static void processes_are_added_and_removed(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *root = player_start(stage, 1, 0);
	struct player *owner = player_start(stage, 2, OWNER_UID);
	struct player *other = player_start(stage, 3, OTHER_UID);
	struct player *more = player_start(stage, 4, OWNER_UID);

	assert_int_equal(of(rms_addproc(NO_PROGRAM, more->pid)), -ESRCH);
	assert_int_equal(of(rms_addproc(1, INT32_MAX)), -ESRCH);
	assert_int_equal(of(rms_addproc(1, member->pid)), -ESRCH);
	assert_int_equal(play(other, ACT_ADDPROC, .id = 1, .value = more->pid),
			 -EACCES);
	/* The owner adds nobody else's. */
	assert_int_equal(play(owner, ACT_ADDPROC, .id = 1, .value = root->pid),
			 -EACCES);
	assert_int_equal(play(owner, ACT_ADDPROC, .id = 1, .value = other->pid),
			 -EACCES);
	assert_int_equal(play(owner, ACT_ADDPROC, .id = 1, .value = more->pid),
			 0);
	assert_int_equal(of(rms_addproc(1, root->pid)), 0);
	assert_true(is_member(1, more->pid) && is_member(1, root->pid));
	assert_int_equal(members_of(1), 3);

	assert_int_equal(of(rms_removeproc(NO_PROGRAM, more->pid)), -ESRCH);
	assert_int_equal(of(rms_removeproc(1, other->pid)), -ESRCH);
	assert_int_equal(play(other, ACT_REMOVEPROC, .id = 1,
			      .value = more->pid),
			 -EACCES);
	/* Where the kernel keeps them in, only root lets them out. */
	assert_int_equal(play(owner, ACT_REMOVEPROC, .id = 1,
			      .value = more->pid),
			 stage_is_group() ? -EACCES : 0);
	if (stage_is_group())
		assert_int_equal(of(rms_removeproc(1, more->pid)), 0);
	assert_false(is_member(1, more->pid));
	assert_int_equal(of(rms_removeproc(1, more->pid)), -ESRCH);
	assert_int_equal(members_of(1), 2);
}

static void nobody_joins_a_program_that_was_killed(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *late = player_start(stage, 1, OWNER_UID);

	assert_int_equal(rms_prgsignal(1, SIGKILL), 0);
	player_wait(member);
	assert_int_equal(of(rms_addproc(1, late->pid)), -EACCES);
	assert_int_equal(members_of(1), 0);
}

static void signals_are_roots_and_the_owners(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *owner = player_start(stage, 1, OWNER_UID);
	struct player *other = player_start(stage, 2, OTHER_UID);

	assert_int_equal(of(rms_prgsignal(NO_PROGRAM, 0)), -ESRCH);
	assert_int_equal(of(rms_prgsignal(1, -1)), -EINVAL);
	assert_int_equal(of(rms_prgsignal(1, 65)), -EINVAL);
	assert_int_equal(of(rms_prgsignal(1, 0)), 0);
	assert_int_equal(play(other, ACT_PRGSIGNAL, .id = 1, .value = SIGTERM),
			 -EACCES);
	assert_int_equal(play(owner, ACT_PRGSIGNAL, .id = 1, .value = SIGUSR1),
			 0);
	assert_int_equal(play(member, ACT_NOTHING), 0);
	/* root's process, by the owner of the program that it is in. */
	assert_int_equal(play(owner, ACT_PRGSIGNAL, .id = 1, .value = SIGTERM),
			 0);
	player_wait(member);
}

static void suspending_is_roots_and_the_owners(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *owner = player_start(stage, 1, OWNER_UID);
	struct player *other = player_start(stage, 2, OTHER_UID);

	assert_int_equal(of(rms_prgsuspend(NO_PROGRAM)), -ESRCH);
	assert_int_equal(of(rms_prgresume(NO_PROGRAM)), -ESRCH);
	assert_int_equal(play(other, ACT_PRGSUSPEND, .id = 1), -EACCES);
	assert_int_equal(play(other, ACT_PRGRESUME, .id = 1), -EACCES);
	assert_int_equal(play(owner, ACT_PRGSUSPEND, .id = 1), 0);
	assert_int_equal(play(owner, ACT_PRGSUSPEND, .id = 1), 0);
	assert_int_equal(play(owner, ACT_PRGRESUME, .id = 1), 0);
	assert_int_equal(play(member, ACT_NOTHING), 0);
}

static void accounts_are_roots_the_owners_and_members(void **state)
{
	struct stage *stage = *state;
	struct rms_elanstats moved = { .ebytes = 1000, .exfers = 10 };
	struct player *member = must_create(stage, 0, 1);
	struct player *owner = player_start(stage, 1, OWNER_UID);
	struct player *other = player_start(stage, 2, OTHER_UID);

	assert_int_equal(play(other, ACT_PRGGETSTATS, .id = 1), -EACCES);
	assert_int_equal(play(other, ACT_PRGGETSTATS, .id = -1), -ESRCH);
	assert_int_equal(play(other, ACT_PRGGETSTATS, .id = NO_PROGRAM),
			 -ESRCH);
	assert_int_equal(play(other, ACT_SETELANSTATS, .id = 1), -EACCES);
	assert_int_equal(play(other, ACT_SETELANSTATS, .id = -1), -ESRCH);
	assert_int_equal(play(other, ACT_SETELANSTATS, .id = NO_PROGRAM),
			 -ESRCH);
	assert_int_equal(play(member, ACT_SETELANSTATS, .id = -1,
			      .elanstats = { 5, 5 }),
			 0);
	assert_int_equal(
		play(owner, ACT_SETELANSTATS, .id = 1, .elanstats = moved), 0);
	/* Whoever the members are now: their own is open to them. */
	assert_int_equal(play(member, ACT_BECOME, .uid = OTHER_UID), 0);
	assert_int_equal(play(member, ACT_PRGGETSTATS, .id = -1), 0);
	assert_int_equal(member->script->stats.ncpus, 2);
	assert_int_equal(play(owner, ACT_PRGGETSTATS, .id = 1), 0);
	assert_int_equal(owner->script->stats.ebytes, 1000);
	assert_int_equal(owner->script->stats.exfers, 10);
	assert_int_equal(owner->script->stats.flags, RMS_PRG_RUNNING);
}

static void core_paths_are_kept(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, 0);
	struct player *owner = player_start(stage, 2, OWNER_UID);
	struct player *other = player_start(stage, 3, OTHER_UID);
	struct script script = { .act = ACT_SETCOREPATH };
	char path[8];

	assert_int_equal(play(other, ACT_SETCOREPATH, .text = "/x"), -ESRCH);
	assert_int_equal(play(other, ACT_GETCOREPATH, .value = 0), -ESRCH);
	assert_int_equal(play(member, ACT_GETCOREPATH, .value = 0), -ESRCH);
	memset(script.text, 'x', RMS_COREPATH_MAX);
	assert_int_equal(play_script(member, &script), -ENAMETOOLONG);
	assert_int_equal(play(member, ACT_SETCOREPATH, .text = "/cores"), 0);
	assert_int_equal(play(child, ACT_GETCOREPATH, .value = 0), 0);
	assert_string_equal(child->script->text, "/cores");
	assert_int_equal(play(owner, ACT_GETCOREPATH, .value = child->pid), 0);
	assert_string_equal(owner->script->text, "/cores");
	assert_int_equal(play(other, ACT_GETCOREPATH, .value = child->pid),
			 -EACCES);
	assert_int_equal(of(rms_getcorepath(child->pid, path, 6)),
			 -ENAMETOOLONG);
	assert_int_equal(of(rms_getcorepath(child->pid, path, 7)), 0);
	assert_int_equal(play(child, ACT_BECOME, .uid = OTHER_UID), 0);
	assert_int_equal(play(child, ACT_SETCOREPATH, .text = "/mine"),
			 -EACCES);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		stage_test(each_call_says_that_there_is_no_daemon),
		stage_test(version_and_kind_are_said),
		stage_test(null_pointers_are_refused),
		stage_test(processor_sets_are_not_there),
		stage_test(programs_are_made_by_root_once),
		stage_test(programs_are_destroyed_when_they_are_empty),
		stage_test(programs_are_listed_by_rising_id),
		stage_test(members_are_listed_and_counted),
		stage_test(a_process_is_asked_for_its_program),
		stage_test(processes_are_added_and_removed),
		stage_test(nobody_joins_a_program_that_was_killed),
		stage_test(signals_are_roots_and_the_owners),
		stage_test(suspending_is_roots_and_the_owners),
		stage_test(accounts_are_roots_the_owners_and_members),
		stage_test(core_paths_are_kept),
	};
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
