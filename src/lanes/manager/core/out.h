/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs of the core: answers, rows and commands. */
#pragma once

#include "lanes/manager/core/state.h"

struct core_members; /* fleet.h */

/* --- answers to clients --- */

/* members: compact text of an object; NULL where an error has none. */
void core_reply_done(struct core *core, uint64_t token, const char *members);
void core_reply_failed(struct core *core, uint64_t token, int code,
		       const char *hint, const char *text, const char *members);
/* The tree becomes such a text, which the caller frees. */
char *core_json_text(json_t *tree_owned);
void core_reply_error(struct core *core, uint64_t token, enum edge edge,
		      int code, const char *hint, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* --- rows for the journal; events are in event.h --- */

void core_store_meta(struct core *core, const char *key, uint64_t number);
void core_store_cursor(struct core *core, const struct pool *pool);
void core_cursor_set(struct core *core, const char *key, uint64_t id);
/* Take up the cursors that are known. */
void core_cursors_apply(struct core *core);
void core_store_job(struct core *core, struct job *job);
/* News of one part, where a whole record would be too much. */
void core_store_part(struct core *core, struct job *job,
		     const struct part *part);
void core_store_node(struct core *core, struct node *node);
void core_delete_node(struct core *core, const struct node *node);
/* Rows of names that have changed. */
void core_store_names(struct core *core);
/* The job is gone: its rows become a tombstone. */
void core_store_tombstone(struct core *core, const struct job *job);
/* The job was never made: a trace of its key, in place of an older one. */
void core_store_trace(struct core *core, const struct job *job);
void core_trace_add(struct core *core, uint64_t grant_id, const char *key,
		    uid_t uid);

/* --- fanout.c --- */

uint64_t core_apply_floor(const struct core *core);
void core_fanout_apply(struct core *core, struct job *job,
		       const struct core_members *members,
		       const struct writer *sealed);
/* To the nodes that are up and owe; how many there are. */
size_t core_fanout_revoke(struct core *core, struct job *job, bool is_main);
void core_fanout_revoke_one(struct core *core, struct job *job,
			    const struct node *node);
/* A grant that is long over, which the node still has. */
void core_fanout_revoke_report(struct core *core, const struct node *node,
			       const struct report *report);
/* Between these two a part is found by its node's name. */
void core_part_index_set(struct core *core, const struct job *job);
void core_part_index_clear(struct core *core, const struct job *job);
struct part *core_part_index_find(struct core *core, const struct job *job,
				  const char *name);
