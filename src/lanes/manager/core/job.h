/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of jobs: grants that still hold something. A job is found by its
 * grant id and by its key; the grants of one SUBMITTER/JOB are siblings. Its
 * slot is a small number by which nodes name it.
 *
 *	reserved -> applying -> active -> releasing -> released -> gone
 *	                 \________________^       \--> failed ---> gone
 *
 * `released` and `failed` are over for the job manager; the job is kept until
 * nothing of it is held any more, and is gone then.
 *
 * A part is what one node has of the job. All but `pending`, `revoked` and
 * `lost` ones are *unconfirmed*: the node may hold something and has to
 * confirm.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "fairlead_driver.h"
#include "lanes/manager/core/edge.h"
#include "base/memory.h"

#define JOB_DIGEST_SIZE 32
#define JOB_WHY_MAX     1023 /* bytes: why identifiers are quarantined */
#define JOB_SERIAL_MAX  ((1u << 29) - 1)

enum job_state {
	JOB_RESERVED,
	JOB_APPLYING,
	JOB_ACTIVE,
	JOB_RELEASING,
	JOB_RELEASED,
	JOB_FAILED,
	JOB_STATE_COUNT,
};

/* Why the job is released; names in the event `release`. */
enum job_reason {
	REASON_NONE,
	REASON_REQUEST,
	REASON_APPLY_FAILED,
	REASON_RESERVE_FAILED,
	REASON_OPERATOR,
	REASON_COUNT,
};

enum part_state {
	PART_PENDING,  /* no APPLY was ever sent */
	PART_APPLYING, /* one is under way, or has ended without an answer */
	PART_APPLIED,
	PART_MISSING,  /* applied, but missing in the node's inventory */
	PART_REVOKING, /* to be revoked */
	PART_REVOKED,  /* confirmed, fenced or waived */
	PART_LOST,     /* the same, while the job was active and needed it */
	PART_STATE_COUNT,
};

struct part {
	uint32_t node;        /* index */
	uint32_t serial : 29; /* of the node when the APPLY was sent */
	uint32_t state : 3;   /* enum part_state */
};

struct apply_run;
struct release_run;

struct job {
	uint64_t grant_id;
	uint64_t epoch;      /* of the manager that made it */
	uint64_t created_us; /* wall clock */
	uint64_t since_us;   /* of the quarantine; 0: none */
	char *key;
	uint8_t digest[JOB_DIGEST_SIZE]; /* of the request */
	uid_t uid;
	gid_t gid;
	uint32_t cpus_per_task;
	uint32_t name_size;  /* bytes of SUBMITTER/JOB in the key */
	uint8_t driver;      /* index in the core's table */
	uint8_t state;       /* enum job_state; job_set_state() */
	uint8_t reason;      /* enum job_reason */
	bool has_lane;       /* false: nothing is applied on any node */
	bool is_quarantined; /* its identifiers are */
	bool has_part_rows;  /* on disk */
	uint8_t id_counts[FAIRLEAD_POOLS_MAX];
	uint8_t id_count;
	uint16_t waived; /* bit i: ids[i] is the job's no more */
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
	/*
	 * Where it has runs, by pool, FAIRLEAD_POOLS_MAX of them; of a run
	 * `ids` has the first identifier and the last. NULL: it has none.
	 */
	struct fairlead_run *runs;
	uint8_t *secret; /* random bytes for its driver, or NULL */
	uint32_t secret_size;
	char *options; /* completed by the driver */
	char *cores;   /* run-length lists along the parts */
	char *tasks;
	char *empty_reason; /* why there are no identifiers; "" */
	char *why;          /* it is quarantined; NULL: it is not */
	uint32_t part_count;
	uint32_t unconfirmed_count;
	struct part *parts; /* in the order of the request */

	/* Not in the record. */
	uint32_t slot;
	uint32_t event_count; /* in this life of the core */
	struct apply_run *apply_run;
	struct release_run *release_run;
	uint64_t retry_at_ms; /* DEADLINE_NONE: none is due */
	bool is_in_grace;     /* released; its nodes are asked then */
	uint32_t retry_delay_ms;
	struct job *prev, *next; /* `unapplied`, `in_grace` or `unconfirmed` */
	struct job *sibling;     /* next grant of the same SUBMITTER/JOB */
	UT_hash_handle hh;       /* by grant id */
	UT_hash_handle hh_name;  /* the first sibling, by name */
};

struct jobs {
	struct job *by_id; /* iterates by rising grant ids */
	struct job *by_name;
	struct job **slots;
	uint32_t slot_capacity;
	uint32_t *free_slots; /* a stack */
	uint32_t free_count;
	uint32_t count;
	uint32_t state_counts[JOB_STATE_COUNT];
};

void jobs_init(struct jobs *jobs);
void jobs_fini(struct jobs *jobs);

struct job *jobs_find(const struct jobs *jobs, uint64_t grant_id);
/*
 * The one with the next higher grant id, or NULL; 0: the first. It is found at
 * once where that grant is there.
 */
struct job *jobs_after(const struct jobs *jobs, uint64_t grant_id);
struct job *jobs_find_key(const struct jobs *jobs, const char *key);
/* The first grant of SUBMITTER/JOB; the others are its siblings. */
struct job *jobs_find_name(const struct jobs *jobs, const char *name,
			   size_t name_size);
struct job *jobs_at(const struct jobs *jobs, uint32_t slot);

/* SUBMITTER/JOB/ATTEMPT: bytes before the last slash. */
size_t job_name_size(const char *key);

/* A job with nothing in it but its parts, all pending; not in the table. */
struct job *job_create(uint32_t part_count);
void job_destroy(struct job *job);
DEFINE_AUTO(struct job, job_destroy)
/*
 * Put it into the table, which owns it from now on. Its grant id is above
 * those of the others and its key is not there.
 */
void jobs_add(struct jobs *jobs, struct job *job);
/* Take it out and destroy it. */
void jobs_remove(struct jobs *jobs, struct job *job);

/* The state changes, along an edge that exists. */
void jobs_set_state(struct jobs *jobs, struct job *job, enum job_state state,
		    const struct edge_probe *probe);
void part_set_state(struct job *job, struct part *part, enum part_state state,
		    const struct edge_probe *probe);
bool part_is_unconfirmed(const struct part *part);
bool part_is_gone(const struct part *part); /* revoked or lost */
/* The job is active, and the node has lost its lane: missing or lost. */
bool part_is_lost(const struct job *job, const struct part *part);
/* The state of a part that the node has lost, or revoked too early. */
enum part_state part_state_lost(const struct job *job, const struct part *part);
/* The part of a node, or NULL. */
struct part *job_part(const struct job *job, uint32_t node);

const char *job_state_name(enum job_state state);
const char *job_reason_name(enum job_reason reason);
const char *part_state_name(enum part_state state);
