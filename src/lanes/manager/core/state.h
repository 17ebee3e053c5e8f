/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core's state, and what its files do for each other. Nothing here is for
 * others: they see core.h.
 *
 * An event goes through the files like this: the file named after the event
 * decides (reserve.c, apply.c, release.c, register.c, confirm.c, ...), changes
 * the tables (pool, node, job, tombstone), and gives out rows (rows.c,
 * event.c) before it gives out anything that becomes visible.
 */
#pragma once

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/seam.h"
#include "lanes/manager/core/core.h"
#include "lanes/manager/core/driver.h"
#include "lanes/manager/core/edge.h"
#include "lanes/manager/core/group.h"
#include "lanes/manager/core/job.h"
#include "lanes/manager/core/memory.h"
#include "lanes/manager/core/metrics.h"
#include "lanes/manager/core/node.h"
#include "lanes/manager/core/tombstone.h"

/* A request that failed: its events are kept, its key is not used up. */
struct trace {
	uint64_t grant_id;
	char *key;
	uid_t uid;
	struct trace *prev, *next;
};

/* Where round robin goes on in a pool, also in one that is turned off. */
struct cursor {
	char key[POOL_CURSOR_KEY_MAX + 1];
	uint64_t id;
	struct cursor *prev, *next;
};

/* A fan-out under way. */
struct fanout_entry {
	uint64_t id;
	uint64_t grant_id;
	enum core_fanout_op op;
	bool is_main; /* the job waits for its end */
	UT_hash_handle hh;
};

/* A driver's request to the outside that has not ended. */
struct effect_entry {
	uint64_t grant_id;
	uint32_t effect_id;
	bool is_release; /* of the driver's `release`, not of `reserve` */
	uint64_t deadline_ms;
	struct effect_entry *prev, *next;
};

/* Who waits for the end of an apply, and what has come in so far. */
struct apply_run {
	uint64_t *tokens;
	size_t token_count;
	enum job_reason release_reason; /* asked for meanwhile */
	uint64_t started_ms;
	struct groups failures;
	struct groups warnings;
	int result; /* of the answer, once it is known to be an error */
	enum edge edge;
	char *text;
	char *members; /* of the answer to an error */
};

/* One answer to a release of several grants; shared by them. */
struct release_wait {
	uint64_t token;
	size_t left;   /* grants that are not over yet */
	char **grants; /* what is left of each, as JSON, by rising ids */
	size_t grant_count;
	struct release_wait *prev, *next;
};

/* One grant's place in such an answer. */
struct release_place {
	struct release_wait *wait_ref;
	size_t place; /* among its grants */
};

struct release_run {
	struct release_place *waits;
	size_t wait_count;
	uint64_t started_ms;
	struct groups busy; /* what nodes answered instead of 0 */
};

struct core {
	const struct core_ops *ops;
	void *ops_ctx;
	const struct clock_seam *clock;
	const struct rng_seam *rng;
	const struct log *log;
	struct edge_probe probe;

	char *interconnect; /* default of requests */
	uint32_t apply_timeout_ms;
	uint32_t revoke_timeout_ms;

	struct hostlist *configured_nodes; /* until core_start */
	bool is_started;
	uint64_t started_ms;
	uint64_t epoch;
	uint64_t next_grant_id;
	uint64_t next_fanout_id;
	uint64_t recovery;      /* the epoch in which it began; 0: none */
	uint64_t retry_at_ms;   /* no job's retry is earlier */
	uint64_t grace_at_ms;   /* no grace ends earlier */
	uint64_t reports_at_ms; /* when reports are revoked again */
	uint64_t tell_at_ms;    /* no node's call is made again earlier */
	uint64_t next_tell_id;

	struct interconnects interconnects;
	struct nodes nodes;
	struct jobs jobs;
	struct tombstones tombstones;
	struct cursor *cursors;
	struct trace *traces; /* oldest first */
	size_t trace_count;
	struct job *unapplied; /* with a lane, reserved or applying; by id */
	struct job *in_grace;  /* releasing, and their nodes have time */
	struct job *owing;     /* over for the job manager, parts are owed */
	struct fanout_entry *fanouts;
	struct effect_entry *effects;
	struct release_wait *release_waits;
	/* While the journal is read. */
	struct loaded_tombstone *loaded;
	size_t loaded_count, loaded_capacity;
	uint64_t last_loaded_id;
	/* Grants that were in the middle of something, by rising ids. */
	uint64_t *resume;
	size_t resume_count, resume_next;

	struct writer scratch; /* of what is given out at once; borrowed */
	uint32_t *places;      /* scratch: place of a node in a job, by index */
	uint32_t places_capacity;
	struct metrics metrics;
};

static inline uint64_t core_now_ms(const struct core *core)
{
	return clock_monotonic_ms(core->clock);
}

static inline void core_hit(const struct core *core, enum edge edge)
{
	edge_hit(&core->probe, edge);
}

/* --- reply.c: answers to clients --- */

/* members: compact text of an object; NULL where an error has none. */
void core_reply_done(struct core *core, uint64_t token, const char *members);
void core_reply_failed(struct core *core, uint64_t token, int code,
		       const char *hint, const char *text, const char *members);
/* The tree becomes such a text, which the caller frees. */
char *core_json_text(json_t *tree_owned);
void core_reply_error(struct core *core, uint64_t token, enum edge edge,
		      int code, const char *hint, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* --- rows.c: rows for the journal --- */

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

/* --- select.c: who may do what to which grants --- */

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

/* --- lane.c: a job as drivers and people see it --- */

struct interconnect *core_interconnect(struct core *core,
				       const struct job *job);
void core_lane(const struct job *job, struct fairlead_lane *ret_lane);
/* A driver's error has a text, if need be the system's; returns result. */
int core_driver_result(int result, struct fairlead_error *error);
/* The driver's words for the lane; the caller frees *ret_context. */
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
struct plane_area core_held_area(const struct core_held *held);
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
/* Host list of the job's nodes; the caller frees it. */
char *core_nodes_text(const struct core *core, const struct job *job);

/* --- grant.c: what a client gets; jobs into and out of the tables --- */

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

/* --- effect.c: requests to the outside --- */

/* Collects what a driver adds, until it is known whether it counts. */
struct effect_list {
	struct fairlead_effects effects; /* first: drivers see only this */
	size_t count;
	size_t room; /* how many more the lane may have */
	struct {
		struct fairlead_effect effect;
		char *kind, *body;
	} list[CORE_EFFECTS_MAX];
};

void effect_list_init(struct effect_list *list, size_t pending);
void effect_list_fini(struct effect_list *list);
/* They gate the job's apply; before its rows. */
void core_effects_pend(struct job *job, const struct effect_list *list);
/* Carry them out; after the job's rows. */
void core_effects_run(struct core *core, struct job *job,
		      const struct effect_list *list, bool is_release);
/* The job ends: what is pending of its reservation is nobody's any more. */
void core_effects_forget(struct core *core, struct job *job);
/* What the driver wants done when the lane ends; the caller ends the list. */
void core_release_effects(struct core *core, struct job *job,
			  struct effect_list *list);
/* After a restart nobody knows how they ended. The job may be gone. */
void core_effects_restart(struct core *core, uint64_t grant_id);
void core_effects_tick(struct core *core, uint64_t now_ms);
uint64_t core_effects_deadline_ms(const struct core *core);
size_t core_effects_count(const struct core *core);

/* --- apply.c --- */

/* The reservation's effects have ended: go on with who waits to apply. */
void core_apply_ready(struct core *core, struct job *job);
/* The reservation has failed: that is the answer of who waits. */
void core_apply_refuse(struct job *job, enum edge edge,
		       const struct fairlead_error *error);
void core_apply_done(struct core *core, struct job *job,
		     const struct core_answer *answers, size_t count);
/* The node was rebooted while the APPLY is under way: it will have failed. */
void core_apply_reset(struct core *core, struct job *job,
		      const struct part *part);
/* Released while the APPLY is under way: it will be undone. */
void core_apply_cancel(struct job *job, enum job_reason reason);
/* The job is over: answer those who waited. NULL: nobody did. */
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
 * Nothing of a job that is over is owed or pending: it gives back what it has
 * and is gone (true).
 */
bool core_settle(struct core *core, struct job *job);
void core_release_run_destroy(struct release_run *run);
void core_release_wait_destroy(struct core *core, struct release_wait *wait);

/* --- place.c: where nodes are reached by the others of a lane --- */

/* True: the node's places have changed; its row is the caller's business. */
bool core_places_told(struct node *node, const struct core_registration *from);

/* What a driver has made of them. All zero: nothing. */
struct core_members {
	uint8_t *bytes; /* the caller frees them */
	size_t size;
};

/* -EINVAL with the driver's text, or another error of its. */
int core_members_assemble(struct core *core, const struct job *job,
			  struct core_members *ret_members,
			  struct fairlead_error *ret_error);

/* --- fanout.c --- */

uint64_t core_apply_floor(const struct core *core);
void core_fanout_apply(struct core *core, struct job *job,
		       const struct core_members *members,
		       const struct writer *sealed);
/* A list of a job, an entry a part; the caller frees it. */
uint32_t *core_list_expand(const char *list, const struct job *job);
/* To the nodes that are up and owe; how many there are. */
size_t core_fanout_revoke(struct core *core, struct job *job, bool is_main);
void core_fanout_revoke_one(struct core *core, struct job *job,
			    const struct node *node);
/* A grant that is long over, which the node still has. */
void core_fanout_revoke_report(struct core *core, const struct node *node,
			       const struct report *report);
/* Between these two a part is found by its node's name. */
void core_places_set(struct core *core, const struct job *job);
void core_places_clear(struct core *core, const struct job *job);
struct part *core_places_find(struct core *core, const struct job *job,
			      const char *name);

/* --- confirm.c --- */

enum confirm_how {
	CONFIRM_REVOKED,
	CONFIRM_FENCED, /* shows in the node's serial; one part only */
	CONFIRM_WAIVED,
};

/*
 * Parts, at least one, are not owed any more: rows and events, but not what
 * follows from it (core_settle). word: who waives them, else NULL.
 */
void core_parts_confirmed(struct core *core, struct job *job,
			  struct part *const *parts, size_t count,
			  enum confirm_how how, const struct core_word *word);
/* All that the job is owed is waived. */
void core_job_waived(struct core *core, struct job *job,
		     const struct core_word *word);

/* --- quarantine.c --- */

void core_quarantine_enter(struct core *core, struct job *job);
/* Put back all identifiers that the job still has, with the event `free`. */
void core_ids_free(struct core *core, struct job *job);
/* word: by whose word, or NULL. */
void core_free_event(struct core *core, struct job *job, const char *pool,
		     const char *ids, const struct core_word *word);
/* Host list of the nodes that owe, or of those among them that are not up;
 * NULL: none. The caller frees it. */
char *core_parts_text(const struct core *core, const struct job *job,
		      bool is_unreachable);

/* --- grace.c --- */

/* A release that has begun waits so long before it asks the nodes. */
void core_grace_begin(struct core *core, struct job *job, uint32_t grace_ms);
void core_grace_end(struct core *core, struct job *job);
/* A node has confirmed, or is down: if it was the last one, the grace is over. */
void core_grace_settle(struct core *core, struct job *job);
void core_grace_node_lost(struct core *core, const struct node *node);
void core_grace_tick(struct core *core, uint64_t now_ms);

/* --- retry.c --- */

/* Ask again for a job's parts, or for reports, after a while. */
void core_retry_schedule(struct core *core, struct job *job);
void core_retry_reports(struct core *core);
void core_retry_tick(struct core *core, uint64_t now_ms);
uint64_t core_retry_deadline_ms(const struct core *core);

/* --- report.c: what nodes hold and should not --- */

void core_reports_attach(struct core *core, const struct node *node);
void core_reports_detach(struct core *core, const struct node *node);
/*
 * Call fn with each identifier that the report withholds in a pool. It names no
 * pool, and of a run only the ends: in a pool of runs it is all from the lowest
 * to the highest one.
 */
void core_report_each(const struct report *report, struct pool *pool,
		      void (*fn)(struct pool *pool, uint32_t id, void *arg),
		      void *arg);
/* Replace a node's reports; its row is the caller's business. */
void core_reports_set(struct core *core, struct node *node,
		      struct report *reports_owned, uint32_t count);
/* Revoke again what is to be; the node is up. */
void core_reports_revoke(struct core *core, const struct node *node);
/*
 * The grant that an object belongs to which the node has lost the record of,
 * or 0: it is not ours.
 */
uint64_t core_report_owner(const struct core *core, const struct node *node,
			   const struct report *report);
/* For people, with the key of a job that the caller may see. */
void core_report_why(const struct core *core, const struct core_caller *caller,
		     const struct report *report, char *text, size_t capacity);
/* One more, whose row is the caller's business too; a copy is kept. */
void core_reports_add(struct core *core, struct node *node,
		      const struct report *report);
/*
 * Is it to be revoked for its own sake? Not while the node owes the same to a
 * job, which asks for it.
 */
bool core_report_is_revoked(const struct core *core, const struct node *node,
			    const struct report *report);
/* The grant is gone from the node; true: there was a report of it. */
bool core_reports_clear(struct core *core, struct node *node,
			uint64_t grant_id);

/* --- drain.c --- */

enum drain_by {
	DRAIN_OPERATOR,
	DRAIN_UNTIL_CLEAN, /* by us, and undrained by us */
	DRAIN_FOR_GOOD,    /* by us, and an operator has to look */
};

void core_drain(struct core *core, struct node *node, const char *reason,
		enum drain_by by);
/* A node that we drained and that owes nothing any more is undrained. */
void core_drain_settle(struct core *core, struct node *node);
/* How many grants the node is to take back and has not. */
uint32_t core_node_owes(const struct core *core, const struct node *node);

/* --- tell.c: the site's tools --- */

/* The node's drain has changed, and its row says that it is untold. */
void core_tell(struct core *core, struct node *node);
/* After a start: what an earlier core has not told. */
void core_tell_resume(struct core *core);
void core_tell_tick(struct core *core, uint64_t now_ms);

/* --- waive.c --- */

/* False, and it is answered: it touches too many to be said once only. */
bool core_word_check(struct core *core, const struct core_word *word,
		     size_t touched, size_t all, const char *what,
		     uint64_t token);
/* Host list to nodes, for an operator; false: wrong, and it is answered. */
bool core_nodes_named(struct core *core, const char *text, uint64_t token,
		      struct node ***ret_nodes, size_t *ret_count);

/* --- freed.c --- */

/* Keep what is in quarantine now, of CORE_DRIVERS_MAX interconnects. */
void core_freed_begin(const struct core *core,
		      struct idset *copies[][FAIRLEAD_POOLS_MAX]);
/* Answer with what has left it since; `before` is used up. */
void core_freed_answer(struct core *core, uint64_t token,
		       struct idset *before[][FAIRLEAD_POOLS_MAX]);

/* --- recover.c --- */

void core_recovery_begin(struct core *core);
/* After a start: the journal says that one was under way, or not. */
void core_recovery_resume(struct core *core);
/* End it if nobody is awaited. */
void core_recovery_settle(struct core *core);
bool core_is_awaited(const struct core *core, const struct node *node);
/* The node has said what it holds; its row is the caller's business. */
void core_account(struct core *core, struct node *node);

/* --- configure.c, start.c --- */

/* A node that is not configured and holds nothing goes. */
void core_node_settle(struct core *core, struct node *node);
/* The event about the node is over: it may go. */
void core_node_unpin(struct core *core, struct node *node);
/* Tell a driver's state of the lanes that are live. -EBADMSG. */
int core_lanes_restore(const struct core *core, uint8_t driver,
		       const struct fairlead_manager_ops *ops, void *state,
		       struct fairlead_error *ret_error);
