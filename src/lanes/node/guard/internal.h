/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the guard, which share its state. */
#pragma once

#include "lanes/node/guard/core.h"
#include "lanes/node/guard/ledger.h"

#define GUARD_QUERIES_MAX 16  /* QUERY and CLEAN that wait for the agent */
#define GUARD_WAITING_MAX 128 /* lanes that are revoked together */

/* The revoke of a grant's lane, and its result. */
struct revocation {
	uint64_t grant_id;
	unsigned int flags;     /* LANE_REPORTED, ... */
	struct command command; /* the manager's; op 0: the agent asks for it */
	int result;             /* 0: it is gone, and the grant with it */
	char text[GUARD_TEXT_MAX + 1]; /* warnings, and the reason */
};

#define GUARD_LEVEL_MAX 15 /* bytes of the level after FAIRLEAD_SUMMARY_LEVEL */

/* What the manager knows of a driver here. */
struct guard_reported {
	struct fairlead_place place;
	char level[GUARD_LEVEL_MAX + 1];
};

struct guard {
	struct guard_config config;
	struct node_keys keys;
	struct ledger ledger;
	struct journal journal;
	uint64_t floor; /* highest seen; in the ledger with the next record */
	bool has_nonce; /* a REGISTER waits for its HELLO */
	uint8_t nonce[NONCE_SIZE]; /* of our start and the last REGISTER */
	bool has_hello;            /* the last REGISTER has its HELLO */
	uint64_t hello_life, hello_sequence;
	uint64_t drain_sequence; /* of the last DRAIN, in this epoch */
	uint64_t lease_sequence; /* of the last LEASE, in this epoch */
	/* By driver: what the last REGISTER or inventory reported. */
	struct guard_reported reported[REGISTRATION_DRIVERS_MAX];
	struct command queries[GUARD_QUERIES_MAX];
	size_t query_next;
	struct revocation waiting[GUARD_WAITING_MAX];
	size_t waiting_count;
	struct writer *replies; /* of the request that is being handled */
};

/* A reply under construction; the handler returns its result. */
struct reply {
	struct guard_reply head;
	struct guard_grant grants[GUARD_PAGE_MAX];
	struct guard_object *objects; /* owned; NULL: none */
	struct writer bytes;
};

/* A text of at most GUARD_TEXT_MAX bytes that grows by lines. */
void text_add(char text[GUARD_TEXT_MAX + 1], const char *line);

/* --- core.c --- */

/* Begin a batch for the journal; it is in the caller's memory. */
void batch_begin(struct guard *guard, struct writer *batch);
/*
 * Write the batch to the journal and let the ledger take it; the writer is
 * freed. 0, or why nothing has changed.
 */
int batch_commit(struct guard *guard, struct writer *batch);
/*
 * 0: one more grant fits, once what the floor covers is forgotten. -ENOSPC, with
 * the reason in text.
 */
int grant_check_capacity(struct guard *guard, char text[GUARD_TEXT_MAX + 1]);
/* The driver of that name, open or not, or NULL. */
const struct guard_driver *guard_driver(const struct guard *guard,
					const char *name);

/* The grant as it is now, or that it is gone, into the reply. */
void reply_grant(const struct guard *guard, uint64_t grant_id,
		 struct reply *reply);
/* Behind those that were sent before; its content is freed. */
void reply_send(struct guard *guard, struct reply *reply);
/* A CONFIRM, with its MAC, into the reply's bytes. */
int confirm_write(const struct guard *guard, const struct confirm *confirm,
		  struct reply *reply);

/* --- lane.c: lanes on the drivers --- */

/* The drivers' way to add lines to a text. */
struct guard_collector {
	struct fairlead_warnings warnings;
	char *text;
};
struct guard_collector collector_of(char text[GUARD_TEXT_MAX + 1]);
/* That of a grant. -ENODEV: there is none here, or it is not open. */
int lane_driver(const struct guard *guard, const struct ledger_grant *grant,
		const struct guard_driver **ret_driver,
		struct fairlead_error *ret_error);

/*
 * Make the lane of a grant that is not in the ledger (lane, digest, key and
 * driver are set, and what only an apply has), or leave a tombstone and nothing
 * else. text: warnings, or the reason.
 */
int lane_apply(struct guard *guard, const struct ledger_grant *grant,
	       char text[GUARD_TEXT_MAX + 1]);
/* The environment file's content, appended. */
int lane_environment(const struct guard *guard,
		     const struct ledger_grant *grant,
		     const struct fairlead_record *record,
		     struct writer *writer, struct fairlead_error *ret_error);

/* --- revoke.c: revokes of lanes --- */

enum {
	LANE_REPORTED = 1u << 0, /* report its end to the manager */
	LANE_LAST = 1u << 1,  /* and when it is still busy: it wants a drain */
	LANE_CLEAN = 1u << 2, /* nobody ended the job: it loses the lane */
};

/*
 * Take lanes back, together as far as their drivers can; sets result and text.
 * No grant is named twice.
 */
void lanes_revoke(struct guard *guard, struct revocation *list, size_t count);
/* Remove grants whose lanes are gone; frees them. */
void lanes_bury(struct guard *guard, struct revocation *list, size_t count);
/* Describe what a revoke would do now. */
int lane_try_revoke(const struct guard *guard, const struct ledger_grant *grant,
		    char text[GUARD_TEXT_MAX + 1]);
/* Obey a REVOKE that names this node; returns as a handler. */
int revoke_decide(struct guard *guard, const struct command *command,
		  const struct revoke_body *body, struct reply *reply);

/* --- command.c: the manager's commands --- */

int command_obey(struct guard *guard, const struct guard_request *request,
		 struct reply *reply);
int command_answer(struct guard *guard, const struct guard_request *request,
		   struct reply *reply);
/* The reply to a REVOKE with that result; returns the reply's own. */
int command_answer_revoke(const struct guard *guard,
			  const struct command *command, int result,
			  struct reply *reply);
/* A handler's result that is no reply: it comes with that of the last. */
#define REPLY_WAITS 1

bool waiting_has(const struct guard *guard, uint64_t grant_id);
/*
 * Defer the revoke of a grant's lane; at most GUARD_WAITING_MAX. command: the
 * manager's, or NULL. Returns REPLY_WAITS.
 */
int waiting_add(struct guard *guard, uint64_t grant_id, unsigned int flags,
		const struct command *command);
/* Run the deferred revokes, and send their replies. */
void waiting_settle(struct guard *guard);

/* --- inventory.c: grants and objects of the node --- */

int inventory_register(struct guard *guard, const struct guard_request *request,
		       struct reply *reply);
/* The answer to QUERY_INVENTORY. -E2BIG, and those of the writer. */
int inventory_answer(struct guard *guard, struct writer *writer);
/* Each driver, and how it works here. */
int inventory_drivers(struct guard *guard, const struct guard_request *request,
		      struct reply *reply);
/*
 * What the drivers are to look after (tend), and whether a place or a level has
 * changed since it was reported, into the reply.
 */
void inventory_tend(struct guard *guard, struct reply *reply);
int inventory_objects(struct guard *guard, const struct guard_request *request,
		      struct reply *reply);
int inventory_destroy(struct guard *guard, const struct guard_request *request,
		      struct reply *reply);
