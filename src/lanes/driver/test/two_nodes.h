/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ethernet driver's node half on two nodes, each a network namespace of its
 * own, with an eth1. /mnt is the program's own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "fairlead_driver.h"

#define NODES_OWNER      20001
#define NODES_OTHER_USER 20002
#define NODES_VNI        4096
#define NODES_COUNT      2
#define NODES_NETNS_0    "/mnt/netns0" /* namespaces of jobs, by grant id */
#define NODES_NETNS_1    "/mnt/netns1"

struct node_under_test {
	int netns;
	void *state;
	struct fairlead_place place;
	struct fairlead_record record; /* of the last apply */
};

struct two_nodes {
	bool is_there; /* else the tests are to be skipped */
	int home;
	struct node_under_test nodes[NODES_COUNT];
	void *manager;
	struct fairlead_error error;
	size_t warning_count;
	char warning[600]; /* the last one */
};

extern struct two_nodes world;
extern struct fairlead_warnings nodes_warnings;

int nodes_group_setup(void **state);
/* Joined by a veth pair, and open. */
int nodes_setup(void **state);
int nodes_teardown(void **state);
/* For another setup: joined by what `wire` does, and not open yet. */
int nodes_begin(void (*wire)(void));
/* This process is in a new namespace from now on: its descriptor. */
int nodes_netns_make(void);

/* This process is on that node from now on. */
void nodes_enter(size_t i);
/* Open its half, with these settings in place of the usual ones, or besides. */
void nodes_open(size_t i, const struct fairlead_setting *more,
		size_t more_count);
void nodes_close(size_t i);

/* With one VNI, of the class BEST_EFFORT, in the host's namespace. */
struct fairlead_lane nodes_lane(uint64_t grant_id, uid_t uid, uint32_t vni);
/* What the manager makes of what the nodes say; the caller frees it. */
uint8_t *nodes_members(const struct fairlead_lane *lane, size_t *ret_size);
int nodes_apply(size_t i, struct fairlead_lane *lane);
void nodes_apply_all(struct fairlead_lane *lane);
int nodes_revoke(size_t i, const struct fairlead_lane *lane, bool has_record);

struct place_to_be {
	size_t node;
	const char *netns; /* NULL: the node's own */
	uid_t uid;
};

/* Of a child; it ends when it cannot go there. */
void nodes_be_at(const struct place_to_be *place);
/* A node's, in the lane of NODES_VNI; port 7000. */
socklen_t nodes_address(uint8_t family, size_t node,
			struct sockaddr_storage *ret_address);
/*
 * A TCP connection in the lane of NODES_VNI from one to the other: 0, or the
 * errno of the client. The listener is there before the client begins.
 */
int nodes_connect(uint8_t family, const struct place_to_be *from,
		  const struct place_to_be *to);
void nodes_assert_owner_only(void);
