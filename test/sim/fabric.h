/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An interconnect that exists here only: `fabric`. Its lanes need a fabric
 * manager outside of the nodes, in two steps, and their end needs it again, so
 * that effects are tried too. On a node a lane is one object with the lane's
 * identifier, on a device that never fails.
 *
 * Setting of the manager half: pool, an id set below FABRIC_LIMIT.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fairlead_driver.h"
#include "nic.h"

#define FABRIC_LIMIT       64
#define FABRIC_DEVICE      100 /* in events, where NICs have their number */
#define FABRIC_EFFECT_KIND "fabric-manager"
#define FABRIC_DEADLINE_MS 8000

extern const struct fairlead_driver fabric_driver;

struct fabric_node;

/* The node half's state, with the events of the node's hardware. */
struct fabric_node *fabric_node_create(const struct hardware_events *events,
				       void *ctx);
void fabric_node_destroy(struct fabric_node *node);
/* Without power, without events. */
void fabric_node_reset(struct fabric_node *node);
