/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An Elan beside the NICs, in every fifth seed: the shipped manager half of
 * elan3, and a node half that has lanes and nothing else. The watcher is called
 * for each lane as an apply has it, before the lane is made: contexts that two
 * lanes have are not refused here, since they are the manager's to keep apart.
 *
 * Node nI has ElanID elan_id(I). A lane is a service of ELAN_DEVICE whose
 * number is its program, and whose identifiers are its contexts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fairlead/rms.h"
#include "fairlead_driver.h"
#include "nic.h"
#include "world.h"

#define ELAN_DEVICE        101 /* in events, where NICs have their number */
#define ELAN_PROGRAMS      "1-7"
#define ELAN_PROGRAM_LIMIT 8
#define ELAN_CONTEXTS      "1024-1029"
#define ELAN_TASKS_MAX     3 /* of a job, on a node */

extern const struct fairlead_driver elan_driver;

/* Do the seed's nodes have an Elan? Nothing is drawn for it. */
bool elan_is_there(const struct world *world);
uint32_t elan_id(unsigned int index);

/* Settings of the manager half; what they say lives as long as the program. */
#define ELAN_SETTINGS 3
void elan_settings(struct fairlead_setting settings[ELAN_SETTINGS]);

struct elan_node;

/* A lane is about to be there; the key of its capability. */
typedef void elan_joined_fn(void *ctx, const struct fairlead_lane *lane,
			    const struct elan_userkey *key);

/* The node half's state, with the events of the node's hardware. */
struct elan_node *elan_node_create(unsigned int index,
				   const struct hardware_events *events,
				   elan_joined_fn *joined, void *ctx);
void elan_node_destroy(struct elan_node *node);
/* Without power, without events. */
void elan_node_reset(struct elan_node *node);
