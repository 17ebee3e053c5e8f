/* SPDX-License-Identifier: BSD-3-Clause */
/* Periodic inventory queries to nodes. */
#pragma once

#include "lanes/manager/internal.h"

struct member;

/* It was greeted: its registration is new. */
void poll_begin(struct engine *engine, struct member *member);
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
