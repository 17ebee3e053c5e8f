/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node that was taken over and stands between others and the manager: what
 * it passes on it leaves out, alters, makes up, keeps for a while, or takes
 * from an earlier answer, also one to another command. It has the keys of its
 * own node and of hops, and no others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanes/node/fanout/fanout.h"
#include "world.h"

struct liar;
struct agent;

/* Between the agent and the collectives of a node, honest at first. */
struct liar *liar_create(struct world *world, unsigned int node,
			 struct node_rounds *node_rounds);
/* Nothing that it has kept comes any more. */
void liar_destroy(struct liar *liar);
/* From now on, or not any more. */
void liar_set(struct liar *liar, bool is_lying);
/* As node_rounds_serve(). */
int liar_serve(struct liar *liar, struct agent *agent);
/* What the agent has combined. */
void liar_answer(struct liar *liar, uint64_t collective, const void *bytes,
		 size_t size, bool is_last);
