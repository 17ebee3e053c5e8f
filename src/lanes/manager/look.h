/* SPDX-License-Identifier: BSD-3-Clause */
/* What nodes are asked between their registrations. */
#pragma once

#include "lanes/manager/internal.h"

struct member;

/* It was greeted: its registration is new. */
void look_begin(struct engine *engine, struct member *member);
/* The keys have changed: have all show that they follow. */
void look_all(struct engine *engine);
/* Ask those whose time has come. */
void look_tick(struct engine *engine, uint64_t now_ms);
/* Something of others is in the way there: do not wait. */
void look_now(struct engine *engine, const char *node);
/*
 * A lane has gone there: an answer under way may be older, and is not taken.
 * What the node had of it without a record is asked about at once.
 */
void look_gone(struct engine *engine, const char *node, uint64_t grant_id);
/*
 * What came of a node that was asked by the look of that number. It counts when
 * that was the last one.
 */
void look_answer(struct engine *engine, uint64_t number,
		 const struct fanout_answer *answer);
