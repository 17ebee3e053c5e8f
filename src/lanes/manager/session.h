/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of nodes, their registrations, and a higher epoch that one proves. */
#pragma once

#include "lanes/manager/internal.h"

struct live_node;

struct session {
	uint64_t peer;
	char address[64];
	struct live_node *live; /* whose it is; NULL: not registered */
	bool is_challenged;     /* the nonce waits for its one REGISTER */
	bool is_refused;        /* it is being closed, and read no more */
	uint64_t challenged_ms; /* or opened */
	uint64_t challenge;     /* number of the last one */
	uint64_t seen_ms;
	uint64_t pinged_ms;
	uint8_t nonce[NONCE_SIZE];
	bool is_waiting;             /* in engine.waiting */
	struct session *prev, *next; /* there */
	UT_hash_handle hh;           /* by peer */
};

/*
 * Complete a command (op, body, grant_id and apply_floor are set) with version,
 * epoch, life and the next sequence, and append it to the writer, signed.
 */
void session_seal(struct engine *engine, struct command *command,
		  struct writer *writer);
/*
 * The same of a body for a node with a link; send it there as a frame. The body
 * is ended.
 */
void session_command(struct engine *engine, const struct live_node *live,
		     enum command_op op, struct writer *body);
void session_hello(struct engine *engine, uint64_t peer, const char *node,
		   const uint8_t nonce[NONCE_SIZE]);
/* Nothing is sent to a node without a link. */
void session_drain(struct engine *engine, const char *node, bool is_drained,
		   const char *reason);
/* All have to register again: the core is new. */
void session_challenge_all(struct engine *engine);
/* Tell the node why, and close. */
void session_refuse(struct engine *engine, struct session *session,
		    const char *text);
/* The same for a forbidden message: counted and logged. */
void session_reject(struct engine *engine, struct session *session,
		    enum manager_refusal refusal, const char *text);
/* It has registered, or will not: nobody takes its place. */
void session_wait_end(struct engine *engine, struct session *session);
void session_tick(struct engine *engine, uint64_t now_ms);
uint64_t session_deadline_ms(const struct engine *engine);
void session_fini(struct engine *engine);

/* --- register.c --- */

void session_register(struct engine *engine, struct session *session,
		      const struct frame *frame);
/*
 * Report to the core what a node has. challenge: that it answers; 0 for a
 * report that is no registration. The errors of `take`.
 */
int register_report(struct engine *engine,
		    const struct registration *registration, uint64_t challenge,
		    int (*take)(struct core *core,
				const struct core_registration *report,
				struct fairlead_error *ret_error),
		    struct fairlead_error *ret_error);
/* The counter for an error of registration_open() or confirm_open(). */
enum manager_refusal session_refusal(int result);

#define HALT_TEXT                                                         \
	"the manager has stopped: a node has obeyed a newer manager, so " \
	"this journal is old"
#define HALT_HINT                                                          \
	"stop the other manager; if there is none, run 'fairlead manager " \
	"recover'"

/* A proof came with a registration; true: the manager has stopped. */
bool halt_check(struct engine *engine, const struct registration *registration);
/* A row of the journal: true when it was the halt's. */
bool halt_load(struct engine *engine, const struct store_row *row);
/* A recovery overcomes it. */
void halt_clear(struct engine *engine);
