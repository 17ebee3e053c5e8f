/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ethernet driver's node half, in a network namespace of each test's own
 * with one NIC, eth1, whose other end is p1. /mnt is empty, and the program's
 * own.
 */
#pragma once

#include "lanes/driver/ethernet/ethernet.h"

#define NODE_WORLD_OWNER 20001
#define NODE_WORLD_VNI   4096

struct node_world {
	bool is_there; /* the namespace; else the tests are to be skipped */
	void *state;   /* of the node half, when it is open */
	struct fairlead_error error;
	size_t object_count, device_count;
	struct fairlead_object objects[8]; /* the first ones */
	struct fairlead_device device;     /* the last one */
	struct fairlead_record record;
	size_t warning_count;
	char warning[600]; /* the last one */
};

extern struct node_world world;
extern struct fairlead_warnings node_world_warnings;

int node_world_group_setup(void **state);
int node_world_setup(void **state);
int node_world_teardown(void **state);

/* With these settings beside those of all tests; the result of open. */
int node_world_try_open(const struct fairlead_setting *more, size_t count);
/* It has to open. */
void node_world_open(const struct fairlead_setting *more, size_t count);
/* As a site has it that sets nothing. */
void node_world_open_bare(void);
void node_world_close(void);
/* Probe and list. */
int node_world_look(void);
/* Of this node alone, with NODE_WORLD_VNI; isolation: "host" or "netns". */
struct fairlead_lane node_world_lane(uint64_t grant_id, const char *isolation);
/* Make it. */
void node_world_apply(uint64_t grant_id, const char *isolation);
