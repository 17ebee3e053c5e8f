/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which members have a connection to each other, as the kernel knows it, when
 * a group was made and nothing was sent over it. The provider, one over TCP, is
 * the program's argument.
 *
 * The tree is 0 -> 1, 2; 1 -> 3, 4.
 */
#include "scoll.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scoll/api/test/member.h"
#include "sys/test/watchdog.h"

#define COUNT       4                    /* members, besides the root */
#define PATIENCE    INT64_C(40000000000) /* P, ns */
#define ENDS_MAX    256
#define ESTABLISHED 1 /* as the kernel numbers states */

/* One end of a connection. */
struct end {
	unsigned int host, port, peer_host, peer_port;
};

static const char *provider = "tcp;ofi_rxm";
static struct person root;
static struct member members[COUNT + 1]; /* from 1 on */

static int setup(void **state)
{
	watchdog_start(NULL);
	memset(members, 0, sizeof(members));
	person_open(&root, 0, provider, "127.0.0.1", NULL,
		    SCOLL_DISCOVERY_GIVEN);
	root.timeout = PATIENCE;
	for (int i = 1; i <= COUNT; i++)
		member_start(&members[i], i, provider, "127.0.0.1", NULL,
			     false);
	members_meet(members, COUNT, &root);
	return 0;
}

static int teardown(void **state)
{
	for (int i = 1; i <= COUNT; i++)
		child_stop(&members[i].child);
	person_close(&root);
	watchdog_stop();
	return 0;
}

static bool process_has(pid_t pid, unsigned long inode)
{
	char path[64], wanted[64], target[64];
	const struct dirent *entry;
	bool is_there = false;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
	folder = opendir(path);
	assert_non_null(folder);
	while (!is_there && (entry = readdir(folder)) != NULL) {
		ssize_t size = readlinkat(dirfd(folder), entry->d_name, target,
					  sizeof(target) - 1);

		target[size < 0 ? 0 : size] = '\0';
		is_there = strcmp(target, wanted) == 0;
	}
	closedir(folder);
	return is_there;
}

/* The ends that the process has; how many there are. */
static int ends_of(pid_t pid, struct end ends[ENDS_MAX])
{
	FILE *file = fopen("/proc/net/tcp", "r");
	char line[256];
	int count = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		struct end end;
		unsigned int status;
		unsigned long inode;

		if (sscanf(line,
			   " %*d: %x:%x %x:%x %x %*x:%*x %*x:%*x %*x %*u %*d "
			   "%lu",
			   &end.host, &end.port, &end.peer_host, &end.peer_port,
			   &status, &inode) != 6 ||
		    status != ESTABLISHED || !process_has(pid, inode))
			continue;
		assert_true(count < ENDS_MAX);
		ends[count++] = end;
	}
	fclose(file);
	return count;
}

/* How many connections members have with each other. */
static int connections(int one, int other)
{
	struct end left[ENDS_MAX], right[ENDS_MAX];
	int left_count = ends_of(members[one].child.pid, left);
	int right_count = ends_of(members[other].child.pid, right);
	int count = 0;

	for (int i = 0; i < left_count; i++) {
		for (int j = 0; j < right_count; j++)
			count += left[i].host == right[j].peer_host &&
				 left[i].port == right[j].peer_port &&
				 left[i].peer_host == right[j].host &&
				 left[i].peer_port == right[j].port;
	}
	return count;
}

static void connections_all(int ret_counts[COUNT + 1][COUNT + 1])
{
	memset(ret_counts, 0, sizeof(int[COUNT + 1][COUNT + 1]));
	for (int i = 1; i <= COUNT; i++) {
		for (int j = i + 1; j <= COUNT; j++)
			ret_counts[i][j] = connections(i, j);
	}
}

static void run(scoll_group_t *group)
{
	struct outcome outcome;

	assert_int_equal(
		crowd_send(&root, group, "first", 5, NULL, 0, 0, &outcome), 0);
	crowd_until(&root, 1, &outcome.is_done);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.tally.node_count, COUNT + 1);
}

static void edges_G01_below_the_root_are_connected_before_the_first_broadcast(
	void **state)
{
	int before[COUNT + 1][COUNT + 1], after[COUNT + 1][COUNT + 1];
	scoll_group_t *group;

	connections_all(before);
	for (int i = 1; i <= COUNT; i++) {
		for (int j = i + 1; j <= COUNT; j++)
			assert_int_equal(before[i][j], 0);
	}
	group = crowd_group_far(&root, COUNT, SCOLL_TREE_KARY(2), true);
	connections_all(before);
	for (int i = 1; i <= COUNT; i++) {
		for (int j = i + 1; j <= COUNT; j++) {
			bool is_edge = i == 1 && j >= 3;

			assert_int_equal(before[i][j] > 0, is_edge);
		}
	}
	/* And there was no other to make. */
	run(group);
	connections_all(after);
	assert_memory_equal(before, after, sizeof(before));
	scoll_group_destroy(group);
}

/* Members below hear of it by that broadcast. */
static void edges_G02_of_a_delayed_group_are_connected_by_the_first_broadcast(
	void **state)
{
	scoll_group_t *group =
		crowd_group_far(&root, COUNT, SCOLL_TREE_KARY(2), false);

	assert_int_equal(connections(1, 3), 0);
	assert_int_equal(connections(1, 4), 0);
	run(group);
	assert_true(connections(1, 3) > 0);
	assert_true(connections(1, 4) > 0);
	scoll_group_destroy(group);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(edges_G01_below_the_root_are_connected_before_the_first_broadcast),
		TEST(edges_G02_of_a_delayed_group_are_connected_by_the_first_broadcast),
	};
	int result = member_main(argc, argv, &provider);

	if (result >= 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
