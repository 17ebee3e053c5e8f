/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a grant, from its reservation until nothing of it is held. */
#pragma once

#include "lanes/manager/core/state.h"

/* --- grant.c: permissions on grants --- */

bool core_may_act(const struct core_caller *caller, const char *key);
bool core_may_see(const struct core_caller *caller, const char *key,
		  uid_t owner);
/* The next live grant that is meant, after `job` (NULL: the first). */
struct job *core_select_next(const struct core *core,
			     const struct core_selector *selector,
			     const struct job *job);
/* Not for a selector by job. */
const struct tombstone *core_select_tombstone(
	const struct core *core, const struct core_selector *selector);

/* A job as drivers and people see it. */

struct interconnect *core_interconnect(struct core *core,
				       const struct job *job);
void core_lane(const struct job *job, struct fairlead_lane *ret_lane);
/* A driver's error has a text, if need be the system's; returns result. */
int core_driver_result(int result, struct fairlead_error *error);
/* The driver's description of the lane; the caller frees *ret_context. */
void core_describe(const struct core *core, const struct job *job,
		   const char *reason, const char **ret_event_name,
		   char **ret_context);
/* An identifier of a job, first and last being the same; or a run. */
struct core_held {
	size_t pool;
	uint32_t first, last;
	const struct fairlead_run *run; /* its positions; NULL: it is none */
};

/* Of a run. */
struct run_area core_held_area(const struct core_held *held);
/* Call fn with all that the job still has. */
void core_ids_each(const struct core *core, const struct job *job,
		   void (*fn)(const struct core_held *held, void *arg),
		   void *arg);
/* They by pool as id sets, "" where there are none. */
#define CORE_IDS_TEXT (FAIRLEAD_LANE_IDS_MAX * 11)
void core_ids_texts(const struct core *core, const struct job *job,
		    char texts[FAIRLEAD_POOLS_MAX][CORE_IDS_TEXT]);
/* The same as {"vni":"1024-1025"}. */
json_t *core_ids_json(const struct core *core, const struct job *job);
/* Names of the job's nodes, in their order; the caller frees the array. */
const char **core_node_names(const struct core *core, const struct job *job);

enum core_nodes {
	CORE_NODES_ALL,
	CORE_NODES_UNAPPLIED,
	CORE_NODES_LOST, /* while the job is active */
	CORE_NODES_UNCONFIRMED,
	CORE_NODES_UNREACHABLE, /* unconfirmed, and not up */
};

/* Host list of those among them; NULL: none. The caller frees it. */
char *core_nodes_text(const struct core *core, const struct job *job,
		      enum core_nodes which);

/* Grants for clients; jobs into and out of the tables. */

/* Draw its random bytes; the job is on no disk yet. */
void core_secret_draw(struct core *core, struct job *job, uint32_t size);
/*
 * Append the job's secrets, sealed to its nodes; nothing where it has none.
 * outside: its external reservation, for an apply, or NULL. -EINVAL with the
 * driver's text.
 */
int core_secret_seal(struct core *core, const struct job *job,
		     const struct outside_item *outside, struct writer *writer,
		     struct fairlead_error *ret_error);

/*
 * Answer with the members of a reserve: grant, grant_id, public. False: its
 * secrets cannot be made, which was the answer.
 */
bool core_grant_answer(struct core *core, const struct job *job,
		       const char *nodes, const char *context, uint64_t token);
/* The same of a job that was answered before. */
void core_grant_answer_again(struct core *core, const struct job *job,
			     uint64_t token);
void core_job_add(struct core *core, struct job *job_owned);
void core_job_set_state(struct core *core, struct job *job,
			enum job_state state);
void core_job_remove(struct core *core, struct job *job);

/* --- apply.c --- */

void core_apply_done(struct core *core, struct job *job,
		     const struct core_answer *answers, size_t count);
/* The node was rebooted while the APPLY is under way: it will have failed. */
void core_apply_reset(struct core *core, struct job *job,
		      const struct part *part);
/* Released while the APPLY is under way: it will be undone. */
void core_apply_cancel(struct job *job, enum job_reason reason);
/* The job is over: answer waiting requests. NULL: there are none. */
void core_apply_end(struct core *core, struct apply_run *run_owned);
void core_apply_run_destroy(struct apply_run *run);

/* --- release.c --- */

/* From any state before `releasing`; the job may be gone afterwards. */
void core_release_begin(struct core *core, struct job *job,
			enum job_reason reason);
/* Ask the nodes; with none to ask the release is over. */
void core_release_ask(struct core *core, struct job *job);
void core_release_over(struct core *core, struct job *job);
/* is_main: the release waited for it. */
void core_revoke_done(struct core *core, struct job *job,
		      const struct core_answer *answers, size_t count,
		      bool is_main);
/*
 * A job that is over, and of which no node may hold anything, gives back its
 * identifiers and is gone (true).
 */
bool core_settle(struct core *core, struct job *job);
void core_release_run_destroy(struct release_run *run);
void core_release_wait_destroy(struct core *core, struct release_wait *wait);

/* --- confirm.c --- */

enum confirm_how {
	CONFIRM_REVOKED,
	CONFIRM_LOST,   /* by the node, from under the job */
	CONFIRM_FENCED, /* shows in the node's serial; one part only */
	CONFIRM_WAIVED,
};

/*
 * Parts, at least one, are confirmed: write rows and events; core_settle() does
 * the rest. by: the operator who waives them, else NULL.
 */
void core_parts_confirmed(struct core *core, struct job *job,
			  struct part *const *parts, size_t count,
			  enum confirm_how how, const struct core_operator *by);
/* The job is active, and the node does not have its lane: event and count. */
void core_part_lost(struct core *core, struct job *job, const struct part *part,
		    const char *why);
/* Waive all unconfirmed parts of the job. */
void core_job_waived(struct core *core, struct job *job,
		     const struct core_operator *by);

/* --- quarantine.c --- */

void core_quarantine_enter(struct core *core, struct job *job);
/* Put back all identifiers that the job still has, with the event `free`. */
void core_ids_free(struct core *core, struct job *job);
/* by: the operator, or NULL. */
void core_free_event(struct core *core, struct job *job, const char *pool,
		     const char *ids, const struct core_operator *by);
/* --- retry.c --- */

/* Ask again for a job's parts, or for reports, after a while. */
void core_retry_schedule(struct core *core, struct job *job);
void core_retry_reports(struct core *core);
void core_retry_tick(struct core *core, uint64_t now_ms);
uint64_t core_retry_deadline_ms(const struct core *core);

/* A release that has begun waits so long before it asks the nodes. */
void core_grace_begin(struct core *core, struct job *job, uint32_t grace_ms);
void core_grace_end(struct core *core, struct job *job);
/* A node has confirmed, or is down: if it was the last one, the grace is over. */
void core_grace_settle(struct core *core, struct job *job);
void core_grace_node_lost(struct core *core, const struct node *node);
void core_grace_tick(struct core *core, uint64_t now_ms);

/* --- outside_jobs.c: external reservations of jobs --- */

/* Fabric managers may be others: look at them at once. */
void core_outside_configured(struct core *core);
void core_outside_init(struct core *core);
void core_outside_fini(struct core *core);
int core_outside_load(struct core *core, const struct store_row *row,
		      struct fairlead_error *error);
void core_outside_start(struct core *core);
/* The job is on its way to the journal, and its driver wants one. */
void core_outside_want(struct core *core, const struct job *job,
		       const struct fairlead_plan *plan);
/* The job is over. */
void core_outside_release(struct core *core, const struct job *job);
/* The job's, or NULL. */
const struct outside_item *core_outside_find(const struct core *core,
					     const struct job *job);
/* What the interconnect's driver says of them; wait_ms is 0: it has none. */
struct fairlead_outside core_outside_terms(const struct core *core,
					   uint8_t driver);
/* NULL: the interconnect has none, and wants none. */
const struct outside_table *core_outside_table(const struct core *core,
					       uint8_t driver);
uint64_t core_outside_deadline_ms(const struct core *core);
void core_outside_tick(struct core *core, uint64_t now_ms);
/* The job's apply waited for it, which is held or refused now. */
void core_apply_go_on(struct core *core, struct job *job);
