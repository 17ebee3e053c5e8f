/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of clients and what they ask. */
#pragma once

#include "lanes/manager/internal.h"

struct manager_client {
	uint64_t peer;
	uid_t uid;
	bool is_remote;
	uint32_t open_count;
	UT_hash_handle hh;
};

struct open_request {
	uint64_t token;
	uint64_t peer; /* gone: nobody reads the answer */
	uint64_t id;   /* the client's */
	size_t op;     /* index in the table of ops */
	uint64_t started_ms;
	UT_hash_handle hh;
};

/*
 * Answer a request: at once, and the token is over. text: the error, or NULL;
 * hint and members may be NULL; members: compact JSON of an object.
 */
void clients_answer(struct engine *engine, uint64_t token, int result,
		    const char *text, const char *hint, const char *members);
/* The same with a tree. */
void clients_answer_json(struct engine *engine, uint64_t token,
			 json_t *members_owned);
/* Is it root's, or a submitter's? */
bool clients_goes_first(const struct engine *engine, uint64_t token);
/* Answer all that are open with an error. */
void clients_fail_all(struct engine *engine, int result, const char *text,
		      const char *hint);
void engine_clients_fini(struct engine *engine);

/*
 * Read the events of some grants from the journal, and answer with them; or,
 * with a view, answer with that: its member `grants` has items of these grants
 * in their order, which get what the events say.
 */
void events_read(struct engine *engine, uint64_t token, const uint64_t *grants,
		 size_t count, json_t *view);
void events_fini(struct engine *engine);
/*
 * Add to an item of `explain` (doc/rfc/client-protocol.md, "gone") what the
 * event rows of its grant say. Rows that are no events are passed over.
 */
void history_add(json_t *item, const struct store_row *rows, size_t count);

/* --- ops.c, query.c --- */

struct manager_call;

/* Log an operator's request with its uid. */
void call_log_act(const struct manager_call *call);
int run_node_query(struct manager_call *call, struct fairlead_error *ret_error);
int run_node_clean(struct manager_call *call, struct fairlead_error *ret_error);
/* The end of its fan-out. */
void query_done(struct engine *engine, uint64_t token,
		const struct fanout_answer *answers, size_t count);

struct manager_call {
	struct engine *engine;
	struct core_caller caller;
	uint64_t token;
	const json_t *message;
};

struct manager_op {
	const char *name;
	enum {
		OP_FOR_ALL,
		OP_FOR_SUBMITTERS,
		OP_FOR_ROOT
	} who;
	bool is_change; /* refused by a stopped manager */
	bool needs_core;
	const char *const *members; /* besides v, id and op; ended by NULL */
	/* 0: it is answered, or will be; else the error is the answer. */
	int (*run)(struct manager_call *call, struct fairlead_error *ret_error);
	bool needs_caller; /* not run when the client has hung up */
};

extern const struct manager_op ops[];
extern const size_t op_count;
