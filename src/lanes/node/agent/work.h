/* SPDX-License-Identifier: BSD-3-Clause */
/* One request that takes a while, and the grants and objects that it is about. */
#pragma once

#include "lanes/node/agent/internal.h"

#define WORK_OBJECTS_MAX 4096 /* of one clean; the rest is for the next one */
#define WORK_WINDOW      32   /* requests of one work at the guard */

/* A grant. */
struct work_item {
	struct agent_work *work;
	uint64_t grant_id;
	bool is_done;
	int result; /* of the last try */
	char *text; /* likewise */
};

/* An object that is to go, with its grant or alone. */
struct work_object {
	struct agent_work *work;
	struct registration_object object;
	uint64_t grant_id; /* 0: belongs to none */
	int result;
	char *text;
};

enum work_phase {
	WORK_WAITING, /* until next_ms, or until the mirror says more */
	WORK_ITEMS,   /* a round of requests about the items */
	WORK_OBJECTS, /* one about the objects that belong to no grant */
	WORK_DRAIN,   /* until the node is drained, or next_ms */
};

struct agent_work {
	struct work_order order;
	enum work_phase phase;
	bool is_begun; /* what it is about is known */
	bool is_last;  /* the round that asks for a drain */
	uint64_t next_ms, deadline_ms;
	uint32_t pause_ms;
	struct work_item *items;
	size_t item_count;
	struct work_object *objects;
	size_t object_count;
	bool is_full;  /* there were more objects */
	size_t cursor; /* next to ask about in this round */
	size_t asks_open;
	struct agent_work *prev, *next;
};

/* True when the grant belongs to the job of the order. */
bool work_matches(const struct work_order *order,
		  const struct mirror_grant *grant);
/* Fill items with the grants that the order is about. */
void work_collect(struct agent *agent, struct agent_work *work);
/* All of its grants have been revoked, maybe by another request. */
bool work_is_over(const struct agent *agent, const struct agent_work *work);
/* Fill objects, for clean, with those of the list that it is about. */
void work_take_objects(struct agent *agent, struct agent_work *work,
		       const struct guard_object *list, size_t count);

/* -ENOENT, -EPERM, -EBUSY: a clean may not destroy what was collected. */
int work_check_clean(const struct agent *agent, const struct agent_work *work,
		     struct fairlead_error *ret_error);

/* --- the end of a work: these free it --- */

void work_finish(struct agent *agent, struct agent_work *work);
void work_fail(struct agent *agent, struct agent_work *work, int code,
	       const char *text, const char *hint);
void work_finish_environment(struct agent *agent, struct agent_work *work,
			     const struct guard_reply *reply);
void work_remove(struct agent *agent, struct agent_work *work);
