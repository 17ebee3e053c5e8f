/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may do what, with other users than the one who runs the test: needs
 * root, and says so where it is not. Usage: identity_test PATH-OF-
 * fairlead-softnic PATH-OF-softnic_probe.
 */
#include "lanes/driver/slingshot/libcxi_abi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sys/packet_server.h"
#include "emu/cxi/test/daemon.h"

#define EXIT_SKIPPED     77
#define OWNER_UID        54321
#define OTHER_UID        54322
#define SOME_GID         54300
#define LANE_GID         54301
#define NIC_COUNT        "7"
#define NIC_COUNT_NUMBER 7

static const char *program; /* argv[1] */
static const char *probe;   /* argv[2] */

struct fixture {
	struct daemon daemon;
	char program[96]; /* the daemon's copy */
	struct cxil_dev *dev;
};

/* Into a folder that everybody can reach, as the build's may not be. */
static void copy_program(const char *from, const char *to)
{
	_auto_(closep) int from_fd = open(from, O_RDONLY | O_CLOEXEC);
	_auto_(closep) int to_fd =
		open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat status;

	assert_true(from_fd >= 0 && to_fd >= 0);
	assert_int_equal(fstat(from_fd, &status), 0);
	assert_int_equal(sendfile(to_fd, from_fd, NULL, (size_t)status.st_size),
			 status.st_size);
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	daemon_init(&fixture->daemon, program);
	snprintf(fixture->program, sizeof(fixture->program), "%s/softnic",
		 fixture->daemon.folder);
	copy_program(program, fixture->program);
	fixture->daemon.program = fixture->program;
	assert_true(daemon_start(&fixture->daemon, "--nics", NIC_COUNT, NULL));
	assert_int_equal(cxil_open_device(0, &fixture->dev), 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	cxil_close_device(fixture->dev);
	unlink(fixture->program);
	daemon_fini(&fixture->daemon);
	free(fixture);
	return 0;
}

static struct cxi_svc_desc desc_of(uint32_t id, enum cxi_svc_member_type type)
{
	return (struct cxi_svc_desc){
		.restricted_members = true,
		.restricted_vnis = true,
		.resource_limits = true,
		.num_vld_vnis = 1,
		.vnis = { 1024 },
		.members = { { .svc_member.uid = id, .type = type } },
	};
}

/* Positive errno of an LNI allocation in a process of its own, or 0. */
static int try_lni(void *ctx)
{
	const unsigned int *id = ctx;
	struct cxil_lni *lni;
	struct cxil_dev *dev;
	int result;

	result = cxil_open_device(0, &dev);
	if (result == 0)
		result = cxil_alloc_lni(dev, &lni, *id);
	return -result;
}

/* Positive errno of making a service, or 0. */
static int try_alloc(void *ctx)
{
	struct cxi_svc_desc desc = desc_of(geteuid(), CXI_SVC_MEMBER_UID);
	struct cxil_dev *dev;
	int result;

	result = cxil_open_device(0, &dev);
	if (result == 0)
		result = cxil_alloc_svc(dev, &desc, NULL);
	return result < 0 ? -result : 0;
}

static int try_ctl(void *ctx)
{
	return daemon_ctl(ctx, "dump");
}

static void owner_gets_in_and_nobody_else(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(OWNER_UID, CXI_SVC_MEMBER_UID);
	unsigned int id =
		(unsigned int)cxil_alloc_svc(fixture->dev, &desc, NULL);

	assert_int_equal(run_as(OWNER_UID, SOME_GID, try_lni, &id), 0);
	assert_int_equal(run_as(OTHER_UID, SOME_GID, try_lni, &id), EPERM);
	assert_int_equal(run_as(0, 0, try_lni, &id), EPERM);
	assert_int_equal(cxil_svc_enable(fixture->dev, id, false), 0);
	assert_int_equal(run_as(OWNER_UID, SOME_GID, try_lni, &id),
			 EKEYREVOKED);
	assert_int_equal(cxil_destroy_svc(fixture->dev, id), 0);
	assert_int_equal(run_as(OWNER_UID, SOME_GID, try_lni, &id), EINVAL);
}

static int try_with_other_group(void *ctx)
{
	gid_t group = LANE_GID;

	if (setgroups(1, &group) < 0 || setegid(SOME_GID) < 0 ||
	    seteuid(OTHER_UID) < 0)
		return 99;
	return try_lni(ctx);
}

static void supplementary_groups_do_not_count(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(LANE_GID, CXI_SVC_MEMBER_GID);
	unsigned int id =
		(unsigned int)cxil_alloc_svc(fixture->dev, &desc, NULL);

	assert_int_equal(run_as(OTHER_UID, LANE_GID, try_lni, &id), 0);
	assert_int_equal(run_as(0, 0, try_with_other_group, &id), EPERM);
}

static int try_as_effective_owner(void *ctx)
{
	if (seteuid(OWNER_UID) < 0)
		return 99;
	return try_lni(ctx);
}

static void effective_uid_is_what_counts(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(OWNER_UID, CXI_SVC_MEMBER_UID);
	unsigned int id =
		(unsigned int)cxil_alloc_svc(fixture->dev, &desc, NULL);

	assert_int_equal(run_as(0, 0, try_as_effective_owner, &id), 0);
}

static void services_are_made_by_root_alone(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(run_as(OWNER_UID, SOME_GID, try_alloc, NULL), EPERM);
	assert_int_equal(run_as(0, 0, try_alloc, NULL), 0);
	assert_int_equal(run_as(OWNER_UID, SOME_GID, try_ctl, &fixture->daemon),
			 77);
	assert_int_equal(run_as(0, 0, try_ctl, &fixture->daemon), 0);
}

static void owner_can_be_root(void **state)
{
	struct fixture *fixture = *state;

	daemon_stop(&fixture->daemon, SIGTERM);
	assert_int_equal(rmdir(fixture->daemon.dir), 0); /* it was root's */
	assert_true(daemon_start_as(&fixture->daemon, OWNER_UID, SOME_GID,
				    "--owner-is-root", NULL));
	assert_int_equal(run_as(OWNER_UID, SOME_GID, try_alloc, NULL), 0);
	assert_int_equal(run_as(OTHER_UID, SOME_GID, try_alloc, NULL), EPERM);
	assert_int_equal(run_as(0, 0, try_alloc, NULL), 0);
	assert_int_equal(run_as(OWNER_UID, SOME_GID, try_ctl, &fixture->daemon),
			 0);
	assert_int_equal(run_as(OTHER_UID, SOME_GID, try_ctl, &fixture->daemon),
			 77);
	daemon_stop(&fixture->daemon, SIGTERM);
	assert_true(
		daemon_start_as(&fixture->daemon, OWNER_UID, SOME_GID, NULL));
	assert_int_equal(run_as(OWNER_UID, SOME_GID, try_alloc, NULL), EPERM);
}

/* What comes of one more connection: devices, or a positive errno. */
static int try_devices(void *ctx)
{
	struct cxil_device_list *list;
	int result = cxil_get_device_list(&list);

	if (result == 0)
		result = (int)list->count;
	return result < 0 ? -result : result;
}

/* Connect as often as one user may, say so, and wait for the end. */
static int take_connections(void *ctx)
{
	struct cxil_dev *dev = NULL;
	struct rlimit limit;
	int *fds = ctx;
	char byte;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1;
	for (int i = 0; i < PACKET_CLIENTS_UID_MAX; i++) {
		if (cxil_open_device(0, &dev) < 0)
			return 1;
	}
	if (cxil_open_device(0, &dev) != -EUSERS)
		return 1;
	return write(fds[1], "", 1) == 1 && read(fds[2], &byte, 1) == 0 ? 0 : 1;
}

static void one_user_cannot_take_all_connections(void **state)
{
	int fds[4];
	char byte;
	pid_t pid;
	int status;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pipe(fds + 2), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[3]);
		_exit(run_as(OWNER_UID, SOME_GID, take_connections, fds));
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(run_as(OWNER_UID, SOME_GID, try_devices, NULL),
			 EUSERS);
	assert_int_equal(run_as(OTHER_UID, SOME_GID, try_devices, NULL),
			 NIC_COUNT_NUMBER);
	assert_int_equal(run_as(0, 0, try_devices, NULL), NIC_COUNT_NUMBER);
	close(fds[3]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(fds[0]);
	close(fds[2]);
}

static int run_probe(void *ctx)
{
	execl(ctx, ctx, NULL);
	return 99;
}

static void setuid_programs_ignore_the_variable(void **state)
{
	struct fixture *fixture = *state;
	struct statvfs file_system;
	char path[128];

	assert_int_equal(statvfs(fixture->daemon.folder, &file_system), 0);
	if (file_system.f_flag & (ST_NOSUID | ST_NOEXEC)) {
		print_message("%s has no setuid programs\n",
			      fixture->daemon.folder);
		skip();
	}
	snprintf(path, sizeof(path), "%s/probe", fixture->daemon.folder);
	copy_program(probe, path);
	assert_int_equal(run_as(OWNER_UID, SOME_GID, run_probe, path),
			 NIC_COUNT_NUMBER);
	assert_int_equal(chown(path, OTHER_UID, SOME_GID), 0);
	assert_int_equal(chmod(path, 04755), 0);
	assert_int_not_equal(run_as(OWNER_UID, SOME_GID, run_probe, path),
			     NIC_COUNT_NUMBER);
	assert_int_equal(unlink(path), 0);
}

static int do_nothing(void *ctx)
{
	return 0;
}

/* Root, and in a user namespace where there are other users. */
static bool can_be_others(void)
{
	return geteuid() == 0 &&
	       run_as(OWNER_UID, SOME_GID, do_nothing, NULL) == 0 &&
	       run_as(OTHER_UID, LANE_GID, do_nothing, NULL) == 0;
}

#define node_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		node_test(owner_gets_in_and_nobody_else),
		node_test(supplementary_groups_do_not_count),
		node_test(effective_uid_is_what_counts),
		node_test(services_are_made_by_root_alone),
		node_test(owner_can_be_root),
		node_test(one_user_cannot_take_all_connections),
		node_test(setuid_programs_ignore_the_variable),
	};

	if (argc != 3) {
		fprintf(stderr, "usage: %s FAIRLEAD-SOFTNIC PROBE\n", argv[0]);
		return 2;
	}
	if (!can_be_others()) {
		fputs("skipped: being other users needs root\n", stderr);
		return EXIT_SKIPPED;
	}
	program = argv[1];
	probe = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
