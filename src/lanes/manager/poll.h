/* SPDX-License-Identifier: BSD-3-Clause */
/* What the manager asks nodes of itself: their inventory, and LEASE. */
#pragma once

#include "lanes/manager/internal.h"

struct live_node;

/* It was greeted: its registration is new. */
void poll_begin(struct engine *engine, struct live_node *live);
/* The keys have changed: have all show that they follow. */
void poll_all(struct engine *engine);
/* Query the nodes that are due. */
void poll_tick(struct engine *engine, uint64_t now_ms);
/* A foreign object is in the way there: query the node at once. */
void poll_now(struct engine *engine, const char *node);
/*
 * A lane was revoked there: drop an answer under way, which may be older. Query
 * at once if the node had unrecorded objects of it.
 */
void poll_gone(struct engine *engine, const char *node, uint64_t grant_id);
/*
 * A node's answer to the query of that number; ignored unless it is the last
 * one.
 */
void poll_answer(struct engine *engine, uint64_t number,
		 const struct fanout_answer *answer);

/* --- LEASE --- */

/*
 * Send LEASE to many nodes (doc/rfc/fan-out.md); a node that confirms is up
 * until the lease ends. Uses as few commands as possible; sorted names give
 * fewer.
 */
void lease_send(struct engine *engine, const char *const *names, size_t count,
		enum command_owner owner);

/*
 * A manager that has started, or has read its journal again, knows from it who
 * has registered and where, but none of them is up: it has them called back.
 *
 *	recall_tick -> LEASE to all of them -> each that gets it registers
 */
bool recall_is_due(const struct engine *engine);
void recall_tick(struct engine *engine);

/* A node of such a fan-out. False: it has left the configuration. */
bool recall_incarnation(const struct engine *engine, const char *node,
			uint8_t ret_incarnation[INCARNATION_SIZE]);
