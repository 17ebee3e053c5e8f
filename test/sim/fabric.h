/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An interconnect that exists here only: `fabric`. On a node a lane is one
 * object with the lane's identifier, on a device that never fails.
 *
 * A node's place changes now and then when it is asked for, and has a number
 * that rises; at times it has none to tell. The members of a lane are the
 * places of its nodes. A lane with an odd identifier needs one of each node; in
 * another one's members zeros stand for a node without one.
 *
 * A job with the option "trees" wants an external reservation (fmsim.h), and
 * goes without; with "trees,must" it does not. There is none for "trees,many".
 *
 * Settings of the manager half: pool, an id set below FABRIC_LIMIT; trees,
 * which turns that on, says whether a loss is "fatal".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fairlead_driver.h"
#include "nic.h"

#define FABRIC_LIMIT      64
#define FABRIC_DEVICE     100 /* in events, where NICs have their number */
#define FABRIC_PLACE_SIZE 5   /* bytes */
#define FABRIC_PLACE_NONE 13  /* a number that it divides is of none */

extern const struct fairlead_driver fabric_driver;

struct fabric_node;

/* A place, read: the node's index, and the number of the place. */
struct fabric_place {
	unsigned int node;
	uint32_t number; /* 0: the node has none */
};

struct fabric_place fabric_place_read(const uint8_t *bytes, size_t size);

/* Whoever watches sees the lane as an apply has it. */
typedef void fabric_joined_fn(void *ctx, const struct fairlead_lane *lane);

/* The node half's state, with the events of the node's hardware. */
struct fabric_node *fabric_node_create(unsigned int index,
				       const struct hardware_events *events,
				       fabric_joined_fn *joined, void *ctx);
/* The number of its place. */
uint32_t fabric_node_number(const struct fabric_node *node);
void fabric_node_destroy(struct fabric_node *node);
/* Without power, without events. */
void fabric_node_reset(struct fabric_node *node);
