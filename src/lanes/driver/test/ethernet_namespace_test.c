/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/ethernet/namespace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "lanes/driver/test/job_namespace.h"

#define GRANTS_MAX 8

static bool is_namespace(const char *path)
{
	struct statfs stat;

	return statfs(path, &stat) == 0 && stat.f_type == NSFS_MAGIC;
}

struct listing {
	size_t count;
	uint64_t grants[GRANTS_MAX];
};

static void take(void *arg, uint64_t grant_id)
{
	struct listing *listing = arg;

	assert_true(listing->count < GRANTS_MAX);
	listing->grants[listing->count++] = grant_id;
}

static struct listing list(void)
{
	struct listing listing = { 0 };

	assert_int_equal(namespace_list(DIRECTORY, take, &listing, &error), 0);
	return listing;
}

/* --- the namespace --- */

static void a_new_one_has_loopback_up_and_nothing_else(void **state)
{
	if (!is_there)
		skip();
	netns_run("ip link add nic0 type veth peer name peer0");
	create(JOB);
	assert_true(is_namespace(JOB_PATH));
	netns_run(IN_JOB "ip -o link show lo | grep -q UP");
	netns_run("test $(" IN_JOB "ip -o link | wc -l) = 1");
}

static void the_caller_stays_where_it_is(void **state)
{
	struct netlink *inside;
	struct stat before, after;

	if (!is_there)
		skip();
	assert_int_equal(stat("/proc/thread-self/ns/net", &before), 0);
	create(JOB);
	assert_int_equal(namespace_netlink(DIRECTORY, JOB, &inside, &error), 0);
	assert_int_equal(stat("/proc/thread-self/ns/net", &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	netlink_close(inside);
}

static void a_second_one_for_the_grant_is_refused(void **state)
{
	struct stat before, after;

	if (!is_there)
		skip();
	create(JOB);
	assert_int_equal(stat(JOB_PATH, &before), 0);
	assert_int_equal(namespace_create(DIRECTORY, JOB, &error), -EEXIST);
	assert_non_null(strstr(error.text, JOB_PATH));
	assert_int_equal(stat(JOB_PATH, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}

static void what_is_not_there_is_deleted_and_listed_as_nothing(void **state)
{
	struct netlink *inside;

	if (!is_there)
		skip();
	assert_int_equal(namespace_delete(DIRECTORY, JOB, &error), 0);
	assert_int_equal(list().count, 0);
	assert_int_equal(namespace_netlink(DIRECTORY, JOB, &inside, &error),
			 -ENOENT);
	create(JOB);
	assert_int_equal(namespace_delete(DIRECTORY, JOB, &error), 0);
	assert_int_equal(namespace_delete(DIRECTORY, JOB, &error), 0);
	assert_int_equal(list().count, 0);
	assert_int_equal(access(JOB_PATH, F_OK), -1);
}

static void only_grants_with_a_namespace_are_listed(void **state)
{
	struct listing listing;

	if (!is_there)
		skip();
	create(JOB);
	create(PEER);
	netns_run("cd " DIRECTORY " && touch 3 007 x 9a ./-1 .4 && mkdir 5");
	/* We make no links, and enter none. */
	netns_run("cd " DIRECTORY " && ln -s " JOB_PATH " 8");
	netns_run("touch " DIRECTORY "/07 && mount --bind " JOB_PATH
		  " " DIRECTORY "/07");
	/* Nor is a namespace of another kind a job's. */
	netns_run("touch " DIRECTORY
		  "/6 && mount --bind /proc/self/ns/uts " DIRECTORY "/6");
	listing = list();
	assert_int_equal(listing.count, 2);
	assert_int_equal(listing.grants[0] + listing.grants[1], JOB + PEER);
	netns_run("umount " DIRECTORY "/07 " DIRECTORY "/6");
}

static void what_a_crash_left_is_no_namespace_and_in_no_way(void **state)
{
	struct netlink *inside;

	if (!is_there)
		skip();
	create(PEER);
	netns_run("touch " JOB_PATH);
	assert_int_equal(list().count, 1);
	assert_int_equal(namespace_netlink(DIRECTORY, JOB, &inside, &error),
			 -ENOENT);
	assert_int_equal(namespace_delete(DIRECTORY, JOB, &error), 0);
	assert_int_equal(access(JOB_PATH, F_OK), -1);
	netns_run("touch " JOB_PATH);
	create(JOB);
	assert_int_equal(list().count, 2);
}

static void it_outlives_who_made_it(void **state)
{
	int status;
	pid_t pid;

	if (!is_there)
		skip();
	pid = fork();
	if (pid == 0) {
		create(JOB);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(list().count, 1);
	netns_run(IN_JOB "ip -o link show lo | grep -q UP");
}

/*
 * Run namespace_create in a child, and kill it at the entry or exit of its nth
 * system call, in whichever thread. False: it was through before.
 */
static bool create_and_kill(int nth)
{
	pid_t pid = fork(), traced;
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(namespace_create(DIRECTORY, JOB, &error) < 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL,
				PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL),
			 0);
	ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	for (int i = 0; i < nth;) {
		traced = waitpid(-1, &status, __WALL);
		if (traced == pid && WIFEXITED(status)) {
			assert_int_equal(status, 0);
			return false;
		}
		if (!WIFSTOPPED(status))
			continue; /* the thread has ended */
		if (status >> 8 == SIGTRAP)
			i++;
		if (i < nth)
			ptrace(PTRACE_SYSCALL, traced, NULL, NULL);
	}
	kill(pid, SIGKILL);
	do
		traced = waitpid(-1, &status, __WALL);
	while (traced != pid || WIFSTOPPED(status));
	return true;
}

static void a_kill_at_any_call_leaves_it_whole_or_not_at_all(void **state)
{
	int wholes = 0, nothings = 0;
	struct netlink *inside;

	if (!is_there)
		skip();
	create(PEER); /* with the directory */
	for (int nth = 1; create_and_kill(nth); nth++) {
		bool is_whole = list().count == 2;

		if (is_whole) {
			netns_run(IN_JOB "ip -o link show lo | grep -q UP");
			wholes++;
		} else {
			assert_int_equal(namespace_netlink(DIRECTORY, JOB,
							   &inside, &error),
					 -ENOENT);
			create(JOB);
			nothings++;
		}
		assert_int_equal(namespace_delete(DIRECTORY, JOB, &error), 0);
		assert_int_equal(access(JOB_PATH, F_OK), -1);
	}
	assert_true(wholes > 0 && nothings > 0);
	assert_int_equal(list().count, 2);
}

static void a_directory_of_others_is_refused(void **state)
{
	if (!is_there)
		skip();
	netns_run("mkdir -m 0777 " DIRECTORY);
	assert_int_equal(namespace_create(DIRECTORY, JOB, &error), -EPERM);
	netns_run("chmod 0755 " DIRECTORY " && chown 65534 " DIRECTORY);
	assert_int_equal(namespace_create(DIRECTORY, JOB, &error), -EPERM);
	assert_non_null(strstr(error.text, DIRECTORY));
	netns_run("rmdir " DIRECTORY " && ln -s /etc " DIRECTORY);
	assert_true(namespace_create(DIRECTORY, JOB, &error) < 0);
	assert_int_equal(access("/etc/9", F_OK), -1);
	netns_run("rm " DIRECTORY);
	assert_int_equal(namespace_create("/mnt/not/there", JOB, &error),
			 -ENOENT);
}

static void a_path_that_does_not_fit_is_refused(void **state)
{
	char directory[NAMESPACE_PATH_MAX + 1], path[NAMESPACE_PATH_MAX];

	memset(directory, 'd', sizeof(directory));
	directory[0] = '/';
	directory[NAMESPACE_PATH_MAX - 2] = '\0';
	namespace_path(directory, JOB, path);
	assert_string_equal(path, "");
	assert_int_equal(namespace_create(directory, JOB, &error),
			 -ENAMETOOLONG);
	assert_int_equal(namespace_delete(directory, JOB, &error),
			 -ENAMETOOLONG);
	directory[NAMESPACE_PATH_MAX - 3] = '\0';
	namespace_path(directory, JOB, path);
	assert_int_equal(strlen(path), NAMESPACE_PATH_MAX - 1);
}

/* As an ordinary user; says by its exit code what was refused. */
static void try_to_enter(void)
{
	struct netlink *inside;
	int fd;

	if (setgid(65534) != 0 || setuid(65534) != 0)
		_exit(2);
	fd = open(JOB_PATH, O_RDONLY);
	_exit(setns(fd, CLONE_NEWNET) == -1 && errno == EPERM &&
			      namespace_netlink(DIRECTORY, JOB, &inside,
						&error) == -EPERM
		      ? 0
		      : 1);
}

static void an_ordinary_user_cannot_enter(void **state)
{
	int status;
	pid_t pid;

	if (!is_there)
		skip();
	create(JOB);
	pid = fork();
	if (pid == 0)
		try_to_enter();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* As systemd has it for a unit with PrivateTmp= and the like. */
static void create_in_a_unit(void)
{
	if (unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/mnt", NULL, MS_SLAVE | MS_REC, NULL) != 0 ||
	    mount(NULL, "/mnt", NULL, MS_SHARED | MS_REC, NULL) != 0)
		_exit(2);
	if (namespace_create(DIRECTORY, JOB, &error) != -EOPNOTSUPP)
		_exit(3);
	_exit(strstr(error.text, DIRECTORY) && list().count == 0 &&
			      namespace_delete(DIRECTORY, JOB, &error) == 0
		      ? 0
		      : 1);
}

static void one_that_launchers_would_not_see_is_refused(void **state)
{
	int status;
	pid_t pid;

	if (!is_there)
		skip();
	assert_int_equal(mount(NULL, "/mnt", NULL, MS_SHARED, NULL), 0);
	pid = fork();
	if (pid == 0)
		create_in_a_unit();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(mount(NULL, "/mnt", NULL, MS_PRIVATE, NULL), 0);
	assert_int_equal(status, 0);
}

/* In a mount namespace of its own: tells of each byte what is to be seen. */
static void watch(int fd)
{
	char byte;

	if (unshare(CLONE_NEWNS) != 0)
		_exit(1);
	do {
		byte = is_namespace(JOB_PATH) ? 'y' : 'n';
		if (write(fd, &byte, 1) != 1)
			_exit(1);
	} while (read(fd, &byte, 1) == 1);
	_exit(0);
}

static char see(int fd, bool is_first)
{
	char byte = '?';

	if (!is_first)
		assert_int_equal(write(fd, "", 1), 1);
	assert_int_equal(read(fd, &byte, 1), 1);
	return byte;
}

static void it_comes_and_goes_in_other_mount_namespaces_too(void **state)
{
	int fds[2], status;
	pid_t pid;

	if (!is_there)
		skip();
	create(PEER); /* with it the directory, which is shared then */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		watch(fds[1]);
	}
	close(fds[1]);
	assert_int_equal(see(fds[0], true), 'n');
	create(JOB);
	assert_int_equal(see(fds[0], false), 'y');
	assert_int_equal(namespace_delete(DIRECTORY, JOB, &error), 0);
	assert_int_equal(see(fds[0], false), 'n');
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define one(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		one(a_new_one_has_loopback_up_and_nothing_else),
		one(the_caller_stays_where_it_is),
		one(a_second_one_for_the_grant_is_refused),
		one(what_is_not_there_is_deleted_and_listed_as_nothing),
		one(only_grants_with_a_namespace_are_listed),
		one(what_a_crash_left_is_no_namespace_and_in_no_way),
		one(it_outlives_who_made_it),
		one(a_kill_at_any_call_leaves_it_whole_or_not_at_all),
		one(a_directory_of_others_is_refused),
		one(a_path_that_does_not_fit_is_refused),
		one(an_ordinary_user_cannot_enter),
		one(one_that_launchers_would_not_see_is_refused),
		one(it_comes_and_goes_in_other_mount_namespaces_too),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
