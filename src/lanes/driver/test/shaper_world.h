/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A NIC for tests of shaping, nic0 in a network namespace of the test program's
 * own: it has 10.77.0.1, and behind it nobody is asked for anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanes/driver/ethernet/shaper.h"
#include "lanes/driver/ethernet/tc.h"

#define CLASSES_MAX 16

struct shaper_world {
	bool is_there; /* the namespace, and HTB; else tests are skipped */
	struct netlink *netlink;
	struct underlay nic;
	struct fairlead_error error;
};

extern struct shaper_world world;

/* Of cmocka; each test has a new NIC. */
int world_group_setup(void **state);
int world_group_teardown(void **state);
int world_setup(void **state);
int world_teardown(void **state);

/* The link has that rate; it has to work. */
void world_start(uint32_t mbit);
/* A lane of one class, of low latency: the result of shaper_add(). */
int world_add(uint16_t minor, uint32_t reserved_mbit, uint32_t max_mbit);
/* A class that is free and not one of these; it has to work. */
uint16_t world_choose(const uint16_t *taken, size_t count);

/* What the kernel says of the class. False: it is not there. */
bool world_class(uint32_t minor, struct tc_item *ret_item);
void world_check_class(uint32_t minor, uint64_t mbit, uint64_t ceil_mbit);
uint64_t world_packets(uint32_t minor);

struct listing {
	size_t count;
	struct shaper_class classes[CLASSES_MAX];
};

/* What shaper_list() says; and how many. */
struct listing world_list(void);
size_t world_lanes(void);

/* Datagrams of a root process that says where they belong. */
void world_send(const char *address, const char *to, uint32_t priority,
		int count);
