/* SPDX-License-Identifier: BSD-3-Clause */
/* Inventories of nodes, and operators' decisions about them. */
#pragma once

#include "lanes/manager/core/state.h"

/* --- report.c: objects and grants that nodes should not hold --- */

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
/* Revoke again the reported grants; the node is up. */
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
 * Is it to be revoked for its own sake? Not while a job
 * has it pending on the node, and asks for it.
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
/* Undrain a node that we drained and that has nothing pending. */
void core_drain_settle(struct core *core, struct node *node);
/* Grants that the node has not confirmed as revoked. */
uint32_t core_node_pending_count(const struct core *core,
				 const struct node *node);
/* After a start: changes that an earlier core has not notified. */
void core_notify_resume(struct core *core);
void core_notify_tick(struct core *core, uint64_t now_ms);

/* --- waive.c --- */

/* False, and it is answered: it touches too many without force. */
bool core_operator_check(struct core *core, const struct core_operator *by,
			 size_t touched, size_t all, const char *what,
			 uint64_t token);
/* Host list to nodes, for an operator; false: wrong, and it is answered. */
bool core_nodes_named(struct core *core, const char *text, uint64_t token,
		      struct node ***ret_nodes, size_t *ret_count);

/* --- quarantine.c --- */

/* Keep what is in quarantine now, of CORE_DRIVERS_MAX interconnects. */
void core_quarantine_copy(const struct core *core,
			  struct idset *copies[][FAIRLEAD_POOLS_MAX]);
/* Answer with identifiers that have left it since; frees `before`. */
void core_quarantine_answer(struct core *core, uint64_t token,
			    struct idset *before[][FAIRLEAD_POOLS_MAX]);

/* --- core.c: recovery --- */

void core_recovery_begin(struct core *core);
/* After a start: the journal shows whether one was under way. */
void core_recovery_resume(struct core *core);
/* End it if nobody is awaited. */
void core_recovery_settle(struct core *core);
/* The node has said what it holds; its row is the caller's business. */
void core_account(struct core *core, struct node *node);

/* --- configure.c --- */

/* A node that is not configured and holds nothing goes. */
void core_node_settle(struct core *core, struct node *node);
/* The event about the node is over: it may go. */
void core_node_unpin(struct core *core, struct node *node);

/* A configuration on its way into the core. */
struct config_plan {
	struct hostlist *nodes; /* NULL: none */
	struct driver_plan drivers;
};

/* -EINVAL with all errors; the plan is to be taken or ended in any case. */
int config_plan(const struct core *core, const struct core_config *config,
		struct config_plan *ret_plan, struct fairlead_error *ret_error);
void config_plan_fini(struct config_plan *plan);
/* All but the nodes. */
void config_take(struct core *core, const struct core_config *config,
		 struct config_plan *plan);
/* The nodes, once the journal has been read. -EINVAL. */
int config_nodes_start(struct core *core, const struct hostlist *list,
		       struct fairlead_error *ret_error);

/* --- load.c: between core_load and core_start --- */

/* A TOMBSTONE row until all are there and can be put into order. */
struct loaded_tombstone {
	uint64_t grant_id;
	uint64_t number;
	char *key;
	uid_t uid;
	gid_t gid;
};

/* All rows are there: fit them together. -EBADMSG. */
int core_loaded(struct core *core, struct fairlead_error *ret_error);
void core_loaded_free(struct core *core);
