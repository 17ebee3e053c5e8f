/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs of one owner, kept apart by the cgroups that a job manager gives them:
 * real ones, in a network namespace of each test's own with one NIC, eth1. The
 * gate looks at the sockets of that namespace only, and goes with the program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lanes/driver/ethernet/gate_cgroup.h"
#include "lanes/driver/ethernet/naming.h"
#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/node_world.h"

#define GRANT 9
#define JOB   "77"

static char site[PATH_MAX];    /* where the job manager has its cgroups */
static char pattern[PATH_MAX]; /* of the setting */
static char job[PATH_MAX];     /* the cgroup of JOB */

/* --- the world --- */

static int group_setup(void **state)
{
	struct fairlead_error error = { .text = "" };
	char root[PATH_MAX];
	int result = node_world_group_setup(state);

	if (result < 0 || !world.is_there)
		return result;
	if (gate_cgroup_root(root, &error) < 0) {
		print_message("skipped: %s\n", error.text);
		world.is_there = false;
		return 0;
	}
	snprintf(site, sizeof(site), "%.200s/fairlead-cgroup-test-%d", root,
		 getpid());
	snprintf(pattern, sizeof(pattern), "%.300s/user-%%u-job_%%j", site);
	snprintf(job, sizeof(job), "%.300s/user-%d-job_" JOB, site,
		 NODE_WORLD_OWNER);
	return mkdir(site, 0755);
}

static int group_teardown(void **state)
{
	return world.is_there ? rmdir(site) : 0;
}

static int teardown(void **state)
{
	if (rmdir(job) < 0 && errno != ENOENT)
		return -1;
	return node_world_teardown(state);
}

static void node_open_for(const char *job_cgroup)
{
	const struct fairlead_setting settings[] = {
		{ .name = "job_cgroup", .value = job_cgroup },
	};

	world.warning_count = 0;
	if (node_world_try_open(settings, job_cgroup ? 1 : 0) == 0)
		return;
	if (world.error.code != -EOPNOTSUPP)
		fail_msg("%s", world.error.text);
	print_message("skipped: %s\n", world.error.text);
	skip();
}

static void node_open(void)
{
	node_open_for(pattern);
}

static int lane_apply(const char *name, const char *isolation, bool is_dry_run)
{
	struct fairlead_lane lane = node_world_lane(GRANT, isolation);

	lane.job = name;
	return ethernet_node_ops.apply(world.state, &lane, is_dry_run,
				       &world.record, &node_world_warnings,
				       &world.error);
}

static void tend(void)
{
	if (ethernet_node_ops.tend(world.state, &world.error) != 0)
		fail_msg("%s", world.error.text);
}

static int tend_result(void)
{
	world.error.text[0] = '\0';
	return ethernet_node_ops.tend(world.state, &world.error);
}

/* The owner keeps others out of where the cgroups are, and we may not all. */
static void shut_site(bool is_shut)
{
	const cap_value_t any_file[] = { CAP_DAC_OVERRIDE,
					 CAP_DAC_READ_SEARCH };
	cap_t mine = cap_get_proc();

	assert_int_equal(chown(site, is_shut ? NODE_WORLD_OWNER : 0, 0), 0);
	assert_int_equal(chmod(site, is_shut ? 0700 : 0755), 0);
	assert_int_equal(cap_set_flag(mine, CAP_EFFECTIVE, 2, any_file,
				      is_shut ? CAP_CLEAR : CAP_SET),
			 0);
	assert_int_equal(cap_set_proc(mine), 0);
	cap_free(mine);
}

/* --- processes --- */

static int bind_lane(void)
{
	struct ethernet_names names;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(7000) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	ethernet_name(&ethernet_networks_default, NODE_WORLD_VNI, 0, 1, &names);
	memcpy(&address.sin_addr, names.ipv4.bytes, 4);
	return bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0
		       ? errno
		       : 0;
}

/*
 * What a process of the user gets that takes the lane's address: 0, or its
 * errno. cgroup: that it is in; NULL: the test's.
 */
static int use_lane(const char *cgroup, uid_t uid)
{
	pid_t pid = fork();
	char path[PATH_MAX + 20];
	int status, fd;

	assert_true(pid >= 0);
	if (pid == 0) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
		fd = cgroup ? open(path, O_WRONLY | O_CLOEXEC) : -1;
		if (cgroup && write(fd, "0", 1) != 1)
			_exit(200);
		if (setresgid(uid, uid, uid) < 0 ||
		    setresuid(uid, uid, uid) < 0)
			_exit(201);
		_exit(bind_lane());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void assert_is_of_job(void)
{
	assert_int_equal(use_lane(job, NODE_WORLD_OWNER), 0);
	assert_int_equal(use_lane(NULL, NODE_WORLD_OWNER), EPERM);
	assert_int_equal(use_lane(job, NODE_WORLD_OWNER + 1), EPERM);
}

static void assert_is_of_owner(void)
{
	assert_int_equal(use_lane(NULL, NODE_WORLD_OWNER), 0);
	assert_int_equal(use_lane(NULL, NODE_WORLD_OWNER + 1), EPERM);
}

/* --- tests --- */

static void a_lane_is_for_the_cgroup_that_is_called_as_its_job(void **state)
{
	node_open();
	assert_int_equal(mkdir(job, 0755), 0);
	assert_int_equal(lane_apply(JOB, "host", false), 0);
	assert_int_equal(world.warning_count, 0);
	assert_is_of_job();
}

static void a_lane_whose_job_has_no_cgroup_yet_warns_of_it(void **state)
{
	node_open();
	assert_int_equal(lane_apply(JOB, "host", true), 0);
	/* Of a dry run there is one more: what would be made. */
	assert_int_equal(world.warning_count, 2);
	assert_int_equal(lane_apply(JOB, "host", false), 0);
	assert_int_equal(world.warning_count, 3);
	assert_non_null(strstr(world.warning, "all processes of uid 20001"));
	assert_non_null(strstr(world.warning, job));
	assert_is_of_owner();
}

static void a_cgroup_that_comes_later_is_taken_up(void **state)
{
	node_open();
	assert_int_equal(lane_apply(JOB, "host", false), 0);
	tend();
	assert_is_of_owner();
	assert_int_equal(mkdir(job, 0755), 0);
	tend();
	assert_is_of_job();
}

/* As between two steps: the next one's cgroup has the name, and another id. */
static void a_recreated_cgroup_is_taken_up(void **state)
{
	node_open();
	assert_int_equal(mkdir(job, 0755), 0);
	assert_int_equal(lane_apply(JOB, "host", false), 0);
	assert_int_equal(rmdir(job), 0);
	tend();
	assert_is_of_owner();
	assert_int_equal(mkdir(job, 0755), 0);
	tend();
	assert_is_of_job();
}

/*
 * As where the job's owner forbids it to a daemon that may not all: only a
 * cgroup that is not there opens the lane to all processes of the owner.
 */
static void a_cgroup_that_cannot_be_looked_for_leaves_the_lane_shut(
	void **state)
{
	node_open();
	assert_int_equal(mkdir(job, 0755), 0);
	assert_int_equal(lane_apply(JOB, "host", false), 0);
	shut_site(true);
	assert_int_equal(tend_result(), -EACCES);
	assert_non_null(strstr(world.error.text, "user-20001-job_" JOB));
	assert_int_equal(tend_result(), -EACCES);
	assert_string_equal(world.error.text, "");
	shut_site(false);
	assert_is_of_job();
}

static void a_lane_whose_cgroup_cannot_be_looked_for_is_for_nobody(void **state)
{
	node_open();
	shut_site(true);
	assert_int_equal(lane_apply(JOB, "host", false), 0);
	assert_int_equal(world.warning_count, 1);
	assert_non_null(strstr(world.warning, "the lane is for nobody"));
	assert_int_equal(use_lane(NULL, NODE_WORLD_OWNER), EPERM);
	shut_site(false);
	tend();
	assert_is_of_owner();
	assert_int_equal(mkdir(job, 0755), 0);
	tend();
	assert_is_of_job();
}

static void a_start_finds_the_cgroup_of_a_lane_that_is_there(void **state)
{
	node_open();
	assert_int_equal(lane_apply(JOB, "host", false), 0);
	assert_int_equal(mkdir(job, 0755), 0);
	node_world_close();
	node_open();
	assert_is_of_job();
}

static void a_lane_in_a_namespace_needs_no_cgroup(void **state)
{
	node_open();
	assert_int_equal(lane_apply(JOB, "netns", false), 0);
	assert_int_equal(world.warning_count, 0);
}

static void a_job_whose_name_is_a_path_has_no_lane(void **state)
{
	static const char *const names[] = { "..", "../" JOB, "a/b", "" };

	node_open();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(lane_apply(names[i], "host", false), -EINVAL);
		assert_false(netns_holds("ip link show fl%d", NODE_WORLD_VNI));
	}
}

/* `ip -d link` shows it to all users. */
static void a_job_is_named_at_its_device_where_that_names_a_cgroup(void **state)
{
	const struct {
		const char *job_cgroup;
		bool is_named;
	} cases[] = { { NULL, false },
		      { "/a/job_%g", false },
		      { pattern, true } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fairlead_lane lane = node_world_lane(GRANT, "host");

		node_open_for(cases[i].job_cgroup);
		assert_int_equal(lane_apply(JOB, "host", false), 0);
		assert_true(netns_holds("ip -d link show fl%d | grep -q "
					"'alias fairlead:grant=%d:'",
					NODE_WORLD_VNI, GRANT));
		assert_int_equal(netns_holds("ip -d link show fl%d | "
					     "grep -q 'job=" JOB "'",
					     NODE_WORLD_VNI),
				 cases[i].is_named);
		assert_int_equal(ethernet_node_ops.revoke(world.state, &lane,
							  &world.record, false,
							  &node_world_warnings,
							  &world.error),
				 0);
		node_world_close();
	}
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, node_world_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_lane_is_for_the_cgroup_that_is_called_as_its_job),
		TEST(a_lane_whose_job_has_no_cgroup_yet_warns_of_it),
		TEST(a_cgroup_that_comes_later_is_taken_up),
		TEST(a_recreated_cgroup_is_taken_up),
		TEST(a_cgroup_that_cannot_be_looked_for_leaves_the_lane_shut),
		TEST(a_lane_whose_cgroup_cannot_be_looked_for_is_for_nobody),
		TEST(a_start_finds_the_cgroup_of_a_lane_that_is_there),
		TEST(a_lane_in_a_namespace_needs_no_cgroup),
		TEST(a_job_whose_name_is_a_path_has_no_lane),
		TEST(a_job_is_named_at_its_device_where_that_names_a_cgroup),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
