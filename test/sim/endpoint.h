/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The endpoints of managers and nodes on one simulated network for collectives
 * (medium.h), in step with the world's queue. What is between an endpoint and
 * the engine or agent is what ships: manager/fanout, node/fanout, hops.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lanes/manager/fanout/fanout.h"
#include "lanes/proto/keyfile.h"
#include "lanes/node/fanout/fanout.h"
#include "world.h"

struct agent;
struct ether;
struct endpoint;

struct ether *ether_create(struct world *world);
void ether_destroy(struct ether *ether);

/* --- what happens to it --- */

/* From 0, fair, to 3. */
void ether_weather(struct ether *ether, unsigned int harm);
/* The node is cut off from everybody, or not any more. */
void ether_cut(struct ether *ether, unsigned int node, bool is_cut);
/* The node is a liar (liar.h), or not any more. */
void ether_lie(struct ether *ether, unsigned int node, bool is_lying);
void ether_heal(struct ether *ether);

/* Groups that a manager keeps. */
uint64_t endpoint_group_count(const struct endpoint *endpoint);
/* Nothing is under way at this endpoint, and no call is kept. */
bool endpoint_is_idle(const struct endpoint *endpoint);
/* Nor at any node's. */
bool ether_is_idle(const struct ether *ether);

/* --- ether_attack.c: a host on the network, or a node that was taken over --- */

/* A command that a manager sends, which all nodes that it reaches see. */
void ether_overhear(struct ether *ether, const void *command, size_t size);
/* Something evil, with what was seen, or this command that no manager signed. */
void ether_attack(struct ether *ether, const void *command, size_t size);

/* --- endpoints: `settled` is called after each event --- */

struct endpoint *endpoint_open_manager(struct ether *ether, uint64_t epoch,
				       const struct round_events *events,
				       void (*settled)(void *ctx), void *ctx);
struct round_seam endpoint_seam(struct endpoint *endpoint);
struct endpoint *endpoint_open_node(struct ether *ether, unsigned int node,
				    void (*settled)(void *ctx), void *ctx);
/* The node's agent is there. */
void endpoint_serve(struct endpoint *endpoint, struct agent *agent);
size_t endpoint_address(struct endpoint *endpoint,
			uint8_t ret_bytes[COLLECTIVE_ADDRESS_MAX]);
void endpoint_answer(struct endpoint *endpoint, uint64_t collective,
		     const void *bytes, size_t size, bool is_last);
void endpoint_returned(struct endpoint *endpoint);
void endpoint_hops(struct endpoint *endpoint, const struct hop_keys *keys);
/* As a process that is killed. The engine is gone, the agent is not used. */
void endpoint_close(struct endpoint *endpoint);
