/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes of slingshot that are for a network namespace (option netns). */
#include "lanes/driver/test/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lanes/driver/slingshot/node.h"

static const struct fairlead_node_ops *const ops = &slingshot_node_ops;
static char folder[] = "/tmp/slingshot-netns.XXXXXX";

/* Where the launcher keeps the job's namespace: a link does as well. */
static void name_namespace(const char *target)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/2000", folder);
	unlink(path);
	assert_int_equal(symlink(target, path), 0);
}

/* A network namespace, as long as the descriptor is open. */
static int make_namespace(void)
{
	int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int fd;

	assert_true(own >= 0);
	if (unshare(CLONE_NEWNET) < 0) {
		close(own);
		return -errno;
	}
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(setns(own, CLONE_NEWNET), 0);
	close(own);
	return fd;
}

static int lni_try_within(int fd, uint32_t dev_id, uint32_t svc_id)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (setns(fd, CLONE_NEWNET) < 0)
			_exit(255);
		_exit(-lni_try(dev_id, svc_id));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static int start(void **state)
{
	static char pattern[PATH_MAX]; /* the driver keeps it */
	struct bench *bench;

	strcpy(folder, "/tmp/slingshot-netns.XXXXXX");
	assert_non_null(mkdtemp(folder));
	bench_start_two(state);
	bench = *state;
	ops->close(bench->state);
	snprintf(pattern, sizeof(pattern), "%s/%%g", folder);
	return bench_open(bench, "job_netns", pattern);
}

static int stop(void **state)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/2000", folder);
	unlink(path);
	rmdir(folder);
	return bench_stop(state);
}

static struct fairlead_lane lane_within(void)
{
	struct fairlead_lane lane = bench_lane(2000, 4);

	strcat(lane.options, ",netns");
	return lane;
}

static void only_who_is_in_the_namespace_can_use_the_lane(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = lane_within();
	struct fairlead_lane other = bench_lane(2000, 4);
	const struct fairlead_object *object;
	char target[64];
	int fd = make_namespace();

	if (fd < 0) {
		print_message("needs root, for network namespaces\n");
		skip();
	}
	snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
	name_namespace(target);
	bench_apply_well(bench, &lane);
	assert_int_equal(bench_services(bench), 2);
	object = &bench->objects[bench->object_count - 1];
	assert_int_equal(object->uid, UINT32_MAX);
	assert_true(object->flags & FAIRLEAD_OBJECT_NETNS);
	assert_true(object->flags & FAIRLEAD_OBJECT_ENABLED);
	assert_int_equal(lni_try(1, object->id), -EPERM);
	assert_int_equal(lni_try_within(fd, 1, object->id), 0);
	/* The owner's lane with this VNI is another one. */
	assert_int_equal(bench_revoke(bench, &other), 0);
	assert_has(bench->all_warnings, "has VNI 2000 too");
	assert_int_equal(bench_services(bench), 2);
	assert_int_equal(bench_revoke(bench, &lane), 0);
	assert_int_equal(bench_services(bench), 0);
	close(fd);
}

static void a_job_without_a_namespace_of_its_own_is_refused(void **state)
{
	static const struct {
		const char *target;
		int code;
		const char *text;
	} cases[] = {
		{ "/proc/self/ns/net", -EINVAL, "is the node's network" },
		{ "/proc/self/ns/uts", -EINVAL, "is no network namespace" },
		{ "/dev/null", -EINVAL, "is no network namespace" },
		{ "/no/such/file", -ENOENT, "cannot open the job's network" },
	};
	struct bench *bench = *state;
	struct fairlead_lane lane = lane_within();
	struct fairlead_record record;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		name_namespace(cases[i].target);
		assert_int_equal(bench_apply(bench, &lane, &record),
				 cases[i].code);
		assert_has(bench->error.text, cases[i].text);
		assert_int_equal(bench_services(bench), 0);
	}
}

static void a_service_that_cannot_be_bound_is_destroyed(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = lane_within();
	struct fairlead_record record;
	char target[64];
	int fd = make_namespace();

	if (fd < 0) {
		print_message("needs root, for network namespaces\n");
		skip();
	}
	snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
	name_namespace(target);
	softnic_control(&bench->softnic,
			"fault op=svc_set_netns nic=1 errno=EOPNOTSUPP");
	assert_int_equal(bench_apply(bench, &lane, &record), -EOPNOTSUPP);
	assert_has(bench->error.text, "cxi1: cannot bind service ");
	assert_has(bench->error.text, "NIC drivers have that from 14.0 on");
	assert_int_equal(bench_services(bench), 0);
	close(fd);
}

static void what_the_node_lacks_is_named(void **state)
{
	struct cxi_library library = { 0 };
	struct slingshot_node node = { .library = &library };
	struct fairlead_lane lane = lane_within();
	struct fairlead_error error = { 0 };
	uint32_t netns;

	assert_int_equal(slingshot_netns_find(&node, &lane, &netns, &error),
			 -EOPNOTSUPP);
	assert_has(error.text, "the library has no cxil_svc_set_netns");
	library.svc_set_netns = (void *)abort;
	library.svc_enable = (void *)abort;
	assert_int_equal(slingshot_netns_find(&node, &lane, &netns, &error),
			 -EOPNOTSUPP);
	assert_has(error.text, "the setting job_netns");
	node.job_netns = "/run/netns/%j";
	assert_int_equal(slingshot_netns_find(&node, &lane, &netns, &error),
			 -ENOENT);
	assert_has(error.text, "does not say of which job");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(only_who_is_in_the_namespace_can_use_the_lane),
		CASE(a_job_without_a_namespace_of_its_own_is_refused),
		CASE(a_service_that_cannot_be_bound_is_destroyed),
		cmocka_unit_test(what_the_node_lacks_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
