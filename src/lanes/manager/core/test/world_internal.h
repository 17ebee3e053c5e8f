/* SPDX-License-Identifier: BSD-3-Clause */
/* What a world, and what happens in it, share. */
#pragma once

#include "lanes/manager/core/test/world.h"

static inline bool core_world_chance(struct world *world, uint32_t percent)
{
	return sim_rng_chance(&world->rng, percent * 10000);
}

static inline size_t core_world_below(struct world *world, size_t n)
{
	return (size_t)sim_rng_below(&world->rng, n);
}

void world_messages_drop(struct world *world, size_t node,
			 enum message_kind kind);
struct world_lane *world_lane_held(struct world *world, size_t n);
void world_node_epilog(struct world *world, size_t n);
void world_node_off(struct world *world, size_t n);
void world_node_lost(struct world *world, size_t n);
void world_node_connect(struct world *world, size_t n);
void world_deliver(struct world *world);
void world_fanout_end(struct world *world, size_t i);
void world_outputs_take(struct world *world);
bool world_is_known(const struct world *world, size_t n);
