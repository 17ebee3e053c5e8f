/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Namespaces of jobs for tests: the test process is a node, with network and
 * mount namespaces of its own, in which nothing outlives it; "peer" is another
 * node, one of the namespaces that are tested. cmocka's headers come before
 * this one.
 */
#pragma once

#include <string.h>
#include <sys/mount.h>

#include "lanes/driver/ethernet/namespace.h"
#include "lanes/driver/test/netns.h"

#define DIRECTORY "/mnt/netns"
#define JOB       9
#define JOB_PATH  DIRECTORY "/9"
#define PEER      2
#define PEER_PATH DIRECTORY "/2"
#define IN_JOB    "nsenter --net=" JOB_PATH " "
#define IN_PEER   "nsenter --net=" PEER_PATH " "

static bool is_there; /* the namespaces of the test */
static struct netlink *netlink;
static struct fairlead_error error;

static inline int group_setup(void **state)
{
	is_there = netns_enter();
	if (!is_there)
		return 0;
	if (unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", "/mnt", "tmpfs", 0, "mode=0755") != 0) {
		print_message("skipped: no file system can be mounted\n");
		is_there = false;
		return 0;
	}
	netns_run("ip link set lo up");
	return netlink_open(&netlink, NULL);
}

static inline int group_teardown(void **state)
{
	netlink_close(netlink);
	return 0;
}

static inline int setup(void **state)
{
	memset(&error, 0, sizeof(error));
	return 0;
}

static inline int teardown(void **state)
{
	if (!is_there)
		return 0;
	for (int grant = 1; grant < 12; grant++)
		namespace_delete(DIRECTORY, grant, NULL);
	netns_holds("(ip link del fl7; ip link del nic0; umount " DIRECTORY
		    "; rm -rf " DIRECTORY ") 2>&1");
	return 0;
}

static inline void create(uint64_t grant)
{
	if (namespace_create(DIRECTORY, grant, &error) < 0)
		fail_msg("%s", error.text);
}
