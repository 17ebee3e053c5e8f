/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/cluster/container.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char run_dir[64];
static char shm_dir[] = "/dev/shm/fl-container-XXXXXX";
static struct cluster_process holder;

static int record_nowhere(void *arg, struct fairlead_error *ret_error)
{
	return 0;
}

static int make_place(void **state)
{
	struct container_spec spec = { .name = "n7",
				       .run_dir = run_dir,
				       .nic_count = 2,
				       .record = record_nowhere };
	struct fairlead_error error;
	char path[96];

	snprintf(run_dir, sizeof(run_dir), "/tmp/fl-container-XXXXXX");
	if (mkdtemp(run_dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/mark", run_dir);
	if (mkdir(path, 0755) < 0)
		return -1;
	if (container_create(&spec, &holder, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return -1;
	}
	return 0;
}

static int end_place(void **state)
{
	char path[96];

	process_stop(&holder, 0);
	snprintf(path, sizeof(path), "%s/mark", run_dir);
	rmdir(path);
	return rmdir(run_dir);
}

/* Exit code of a child that has entered the container and ran `inside`. */
static int in_place(int (*inside)(void))
{
	struct fairlead_error error;
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(container_enter(&holder, &error) < 0 ? 99 : inside());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int name_is_ours(void)
{
	struct utsname name;

	uname(&name);
	return strcmp(name.nodename, "n7");
}

static int run_is_private(void)
{
	return access("/run/fairlead/mark", F_OK) != 0;
}

static int shm_is_empty(void)
{
	return access(shm_dir, F_OK) == 0;
}

static void a_container_has_its_own_name_run_and_shm(void **state)
{
	assert_non_null(mkdtemp(shm_dir));
	assert_int_equal(in_place(name_is_ours), 0);
	assert_int_equal(in_place(run_is_private), 0);
	assert_int_equal(in_place(shm_is_empty), 0);
	assert_int_equal(rmdir(shm_dir), 0);
}

static bool has_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "re");
	char line[64] = "";
	bool is_it = file && fgets(line, sizeof(line), file) &&
		     strcmp(line, text) == 0;

	if (file)
		fclose(file);
	return is_it;
}

/* What libfabric's cxi provider looks at. */
static int nics_have_network_devices(void)
{
	char target[128];
	ssize_t size = readlink("/sys/class/net/hsn1/device", target,
				sizeof(target) - 1);

	if (size <= 0)
		return 1;
	target[size] = '\0';
	return !(strcmp(strrchr(target, '/'), "/0000:41:00.0") == 0 &&
		 has_text("/sys/class/net/hsn1/operstate", "up\n") &&
		 has_text("/sys/class/net/hsn1/addr_assign_type", "3\n") &&
		 has_text("/sys/class/net/hsn1/address",
			  "02:00:00:00:00:01\n") &&
		 access("/sys/class/net/hsn2", F_OK) < 0 &&
		 access("/sys/class/net/lo/address", F_OK) == 0);
}

static void software_nics_are_in_sys(void **state)
{
	assert_int_equal(in_place(nics_have_network_devices), 0);
	assert_int_not_equal(access("/sys/class/net/hsn0", F_OK), 0);
}

static void ip_configures_the_network_inside(void **state)
{
	struct fairlead_error error;

	assert_int_equal(
		container_ip(&holder, "link add d0 type bridge\n", &error), 0);
	assert_int_not_equal(
		container_ip(&holder, "link add d0 type bridge\n", &error), 0);
	assert_non_null(strstr(error.text, "'ip' failed"));
}

static void sweep_ends_what_lives_there_and_nothing_else(void **state)
{
	struct fairlead_error error;
	struct cluster_process kept, other;
	int ready[2];
	char byte;
	pid_t pids[2];

	assert_int_equal(pipe(ready), 0);
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i] != 0)
			continue;
		if (container_enter(&holder, &error) < 0)
			_exit(1);
		/* As a task does whose job has a network of its own. */
		if (i == 1 && unshare(CLONE_NEWNET) < 0)
			_exit(1);
		if (write(ready[1], "x", 1) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(process_of(pids[0], &kept), 0);
	assert_int_equal(process_of(pids[1], &other), 0);
	assert_int_equal(container_sweep(&holder, &kept, 1, 20000), 0);
	assert_true(process_is_alive(&kept));
	assert_false(process_is_alive(&other));
	assert_true(process_is_alive(&holder));
	process_stop(&kept, 0);
	close(ready[0]);
	close(ready[1]);
}

static void a_container_that_is_gone_says_what_to_do(void **state)
{
	struct cluster_process gone = { .pid = getpid(), .start = 1 };
	struct fairlead_error error;

	assert_int_equal(container_enter(&gone, &error), -ESRCH);
	assert_non_null(strstr(error.text, "cluster down"));
	assert_int_equal(container_sweep(&gone, NULL, 0, 0), -ESRCH);
}

/* Tell who is the holder, and die before that is on record. */
static int die_before_record(void *arg, struct fairlead_error *ret_error)
{
	int *fds = arg;

	_exit(write(fds[1], &holder, sizeof(holder)) == sizeof(holder) ? 0 : 1);
}

static int refuse_record(void *arg, struct fairlead_error *ret_error)
{
	*(struct cluster_process *)arg = holder;
	return error_set(ret_error, -ENOSPC, "the disk is full");
}

static void wait_end(const struct cluster_process *process)
{
	struct pollfd pollfd = { .fd = pidfd_open(process->pid, 0),
				 .events = POLLIN };

	if (pollfd.fd >= 0)
		assert_int_equal(poll(&pollfd, 1, 20000), 1);
	close(pollfd.fd);
	assert_false(process_is_alive(process));
}

static void a_holder_that_nobody_has_recorded_ends(void **state)
{
	struct cluster_process kept = holder, forgotten = { 0 };
	struct fairlead_error error;
	int fds[2], status;
	struct container_spec spec = { .name = "n8",
				       .run_dir = run_dir,
				       .record = die_before_record,
				       .record_arg = fds };
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0)
		_exit(container_create(&spec, &holder, &error) < 0 ? 2 : 3);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(read(fds[0], &forgotten, sizeof(forgotten)),
			 sizeof(forgotten));
	assert_int_not_equal(forgotten.pid, kept.pid);
	wait_end(&forgotten);
	spec.record = refuse_record;
	spec.record_arg = &forgotten;
	assert_int_equal(container_create(&spec, &holder, &error), -ENOSPC);
	assert_int_equal(holder.pid, 0);
	wait_end(&forgotten);
	holder = kept;
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_has_its_own_name_run_and_shm),
		cmocka_unit_test(software_nics_are_in_sys),
		cmocka_unit_test(ip_configures_the_network_inside),
		cmocka_unit_test(sweep_ends_what_lives_there_and_nothing_else),
		cmocka_unit_test(a_container_that_is_gone_says_what_to_do),
		cmocka_unit_test(a_holder_that_nobody_has_recorded_ends),
	};
	struct fairlead_error error;

	if (geteuid() != 0 && container_become_root(&error) < 0) {
		printf("skipped: %s\n", error.text);
		return 77;
	}
	return cmocka_run_group_tests(tests, make_place, end_place);
}
