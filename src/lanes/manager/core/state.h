/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core's state. Nothing here is for others: they see core.h.
 *
 * An event goes through the files like this: the file named after the event
 * decides (reserve.c, apply.c, release.c, register.c, confirm.c, ...), changes
 * the tables (pool, node, job, tombstone), and gives out rows (out.c)
 * before it gives out anything that becomes visible.
 */
#pragma once

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/seam.h"
#include "lanes/manager/core/core.h"
#include "lanes/manager/core/driver.h"
#include "lanes/manager/core/edge.h"
#include "lanes/manager/core/job.h"
#include "lanes/manager/core/metrics.h"
#include "lanes/manager/core/node.h"
#include "lanes/manager/core/outside.h"
#include "lanes/manager/core/tombstone.h"

/* A request that failed: its events are kept, its key is not used up. */
struct trace {
	uint64_t grant_id;
	char *key;
	uid_t uid;
	struct trace *prev, *next;
};

/* Where round robin goes on in a pool, also in one that is turned off. */
struct core_cursor {
	char key[POOL_CURSOR_KEY_MAX + 1];
	uint64_t id;
	struct core_cursor *prev, *next;
};

/* A fan-out under way. */
struct fanout_entry {
	uint64_t id;
	uint64_t grant_id;
	enum core_fanout_op op;
	bool is_main; /* the job waits for its end */
	UT_hash_handle hh;
};

#define GROUP_TEXT_MAX 2047 /* bytes of a node's text; longer ones are cut */

/*
 * Nodes that say the same thing are one line. A group is an errno and a text,
 * and the nodes that gave them; there are at most CORE_GROUPS_MAX groups, and
 * nodes with yet another text are only counted.
 */
struct group {
	int code;
	char *text; /* clean */
	uint32_t *nodes;
	size_t node_count, node_capacity;
};

struct groups {
	struct group *list;
	size_t count;
	size_t node_count; /* in all, also the ones that have no group */
	size_t more;       /* nodes that have none */
};

/* Requests that wait for the end of an apply, and its results so far. */
struct apply_run {
	uint64_t *tokens;
	size_t token_count;
	enum job_reason release_reason; /* asked for meanwhile */
	bool is_gated; /* the job's external reservation is awaited */
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

/* One grant's slot in such an answer. */
struct release_slot {
	struct release_wait *wait_ref;
	size_t slot; /* among its grants */
};

struct release_run {
	struct release_slot *waits;
	size_t wait_count;
	uint64_t started_ms;
	struct groups busy; /* nodes' answers other than 0 */
};

/* The external reservations of one interconnect. */
struct core_outside {
	struct core *core;
	uint8_t driver; /* its index */
	struct outside_table table;
};

struct core {
	const struct core_ops *ops;
	void *ops_ctx;
	const struct clock_seam *clock;
	const struct rng_seam *rng;
	const struct log *log;
	struct edge_probe probe;

	const char *cluster;      /* the configuration's */
	const char *interconnect; /* default of requests; the configuration's */
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
	uint64_t notify_at_ms;  /* no node's call is made again earlier */
	uint64_t next_notify_id;

	struct interconnects interconnects;
	struct core_outside outsides[CORE_DRIVERS_MAX];
	bool is_rekey_due;                  /* a secret was under another key */
	struct fairlead_error secret_error; /* one cannot be read; code 0 */
	struct nodes nodes;
	struct jobs jobs;
	struct tombstones tombstones;
	struct core_cursor *cursors;
	struct trace *traces; /* oldest first */
	size_t trace_count;
	struct job *unapplied;   /* with a lane, reserved or applying; by id */
	struct job *in_grace;    /* releasing, and their nodes have time */
	struct job *unconfirmed; /* job manager is done with it */
	struct fanout_entry *fanouts;
	struct release_wait *release_waits;
	/* While the journal is read. */
	struct loaded_tombstone *loaded;
	size_t loaded_count, loaded_capacity;
	uint64_t last_loaded_id;
	/* Grants that were in the middle of something, by rising ids. */
	uint64_t *resume;
	size_t resume_count, resume_next;

	struct writer scratch;  /* of what is given out at once; borrowed */
	uint32_t *part_numbers; /* scratch: of a job, by node, from 1 on */
	uint32_t part_numbers_capacity;
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
