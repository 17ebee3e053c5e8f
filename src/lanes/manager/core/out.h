/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs of the core: answers, rows, events and commands. */
#pragma once

#include "base/json_text.h"
#include "lanes/manager/core/state.h"

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

/* --- rows for the journal --- */

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

/*
 * --- events: lines of a grant's log (doc/rfc/request-and-grant.md), written as
 * text since every reservation has two of them ---
 *
 *	struct event event;
 *
 *	event_begin(&event, core, "apply");
 *	event_number(&event, "nodes", count);
 *	event_store(&event, core, job);
 */

#define EVENT_SEVERITY_FATAL   0
#define EVENT_SEVERITY_WARNING 4

struct event {
	struct json_text context;
};

void event_begin(struct event *event, struct core *core, const char *name);
/* Texts are made clean; NULL is written as "". */
void event_text(struct event *event, const char *member, const char *text);
void event_number(struct event *event, const char *member, uint64_t number);
/* The value is JSON already. */
void event_json(struct event *event, const char *member, const char *json);
/* The members of a JSON object's compact text. */
void event_context(struct event *event, const char *context);
/* Give the line out as the next row of the grant's log; the event is empty. */
void event_store(struct event *event, struct core *core, struct job *job);
/* The same where there is no job: number counts from 1. */
void event_store_as(struct event *event, struct core *core, uint64_t grant_id,
		    uint32_t number);

/* `exception`, with the interconnect's event name as its type. */
void event_exception(struct core *core, struct job *job, int severity,
		     const char *note);

/* --- fanout.c --- */

/* True: the node's places have changed; its row is the caller's business. */
bool core_places_take(struct node *node, const struct core_registration *from);

/* What a driver has made of them. All zero: nothing. */
struct core_members {
	uint8_t *bytes; /* the caller frees them */
	size_t size;
};

/* -EINVAL with the driver's text, or another error of its. */
int core_members_assemble(struct core *core, const struct job *job,
			  struct core_members *ret_members,
			  struct fairlead_error *ret_error);

uint64_t core_apply_floor(const struct core *core);
void core_fanout_apply(struct core *core, struct job *job,
		       const struct core_members *members,
		       const struct writer *sealed);
/* To the nodes that are up and have not confirmed; how many there are. */
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

/* All zero is empty. */
void groups_fini(struct groups *groups);
/*
 * code is 0 or a negative errno; text may be NULL. The same text of the same
 * node twice in a row counts once.
 */
void groups_add(struct groups *groups, int code, const char *text,
		uint32_t node);

/*
 * [{"nodes":"n[3-4]","text":"..","errno":-5}], errno where asked for; the
 * caller frees it.
 */
char *groups_json(const struct groups *groups, const struct nodes *nodes,
		  bool has_errno);
/* "n[3-4]: ..; n7: ..", cut to capacity bytes. */
void groups_format(const struct groups *groups, const struct nodes *nodes,
		   char *text, size_t capacity);
