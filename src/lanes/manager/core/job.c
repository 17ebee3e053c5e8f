/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two tables say which edges exist; an edge that is not there is a bug and
 * ends the process.
 *
 * One hash table serves keys and names: it has the first grant of each
 * SUBMITTER/JOB, and attempts are few.
 */
#include "lanes/manager/core/job.h"

#include <assert.h>
#include <sodium.h>

#include "base/seam.h"

const char *const edge_texts[EDGE_COUNT + 1] = {
#define EDGE_TEXT(name, text) [EDGE_##name] = text,
	EDGE_TABLE(EDGE_TEXT)
#undef EDGE_TEXT
		[EDGE_COUNT] = NULL,
};

void edge_hit(const struct edge_probe *probe, enum edge edge)
{
	assert(edge < EDGE_COUNT);
	if (probe->hit != NULL)
		probe->hit(probe->ctx, edge_texts[edge]);
}

#define NO_EDGE EDGE_COUNT

/* Rows: from; columns: reserved applying active releasing released failed. */
static const enum edge job_edges[JOB_STATE_COUNT][JOB_STATE_COUNT] = {
	[JOB_RESERVED] = { NO_EDGE, EDGE_JOB_APPLY, EDGE_JOB_ACTIVATE_BARE,
			   EDGE_JOB_CANCEL, NO_EDGE, NO_EDGE },
	[JOB_APPLYING] = { NO_EDGE, NO_EDGE, EDGE_JOB_ACTIVATE, EDGE_JOB_UNDO,
			   NO_EDGE, NO_EDGE },
	[JOB_ACTIVE] = { NO_EDGE, NO_EDGE, NO_EDGE, EDGE_JOB_RELEASE, NO_EDGE,
			 NO_EDGE },
	[JOB_RELEASING] = { NO_EDGE, NO_EDGE, NO_EDGE, NO_EDGE,
			    EDGE_JOB_RELEASED, EDGE_JOB_FAILED },
	[JOB_RELEASED] = { NO_EDGE, NO_EDGE, NO_EDGE, NO_EDGE, NO_EDGE,
			   NO_EDGE },
	[JOB_FAILED] = { NO_EDGE, NO_EDGE, NO_EDGE, NO_EDGE, NO_EDGE, NO_EDGE },
};

/*
 * Rows: from; columns: pending applying applied missing revoking revoked lost.
 */
static const enum edge part_edges[PART_STATE_COUNT][PART_STATE_COUNT] = {
	[PART_PENDING] = { NO_EDGE, EDGE_PART_ASK, NO_EDGE, NO_EDGE, NO_EDGE,
			   NO_EDGE },
	[PART_APPLYING] = { NO_EDGE, NO_EDGE, EDGE_PART_APPLIED, NO_EDGE,
			    EDGE_PART_UNDO, EDGE_PART_UNDONE },
	[PART_APPLIED] = { NO_EDGE, NO_EDGE, NO_EDGE, EDGE_PART_MISS,
			   EDGE_PART_REVOKE, EDGE_PART_GONE, EDGE_PART_LOSE },
	[PART_MISSING] = { NO_EDGE, NO_EDGE, EDGE_PART_FIND, NO_EDGE,
			   EDGE_PART_REVOKE_MISSING, NO_EDGE,
			   EDGE_PART_LOSE_MISSING },
	[PART_REVOKING] = { NO_EDGE, NO_EDGE, NO_EDGE, NO_EDGE, NO_EDGE,
			    EDGE_PART_REVOKED },
	[PART_REVOKED] = { NO_EDGE, NO_EDGE, NO_EDGE, NO_EDGE, NO_EDGE,
			   NO_EDGE },
};

static const char *const state_names[JOB_STATE_COUNT] = {
	[JOB_RESERVED] = "reserved", [JOB_APPLYING] = "applying",
	[JOB_ACTIVE] = "active",     [JOB_RELEASING] = "releasing",
	[JOB_RELEASED] = "released", [JOB_FAILED] = "failed",
};

void jobs_init(struct jobs *jobs)
{
	*jobs = (struct jobs){ 0 };
}

void jobs_fini(struct jobs *jobs)
{
	HASH_CLEAR(hh, jobs->by_id);
	HASH_CLEAR(hh_name, jobs->by_name);
	for (uint32_t slot = 0; slot < jobs->slot_capacity; slot++)
		job_destroy(jobs->slots[slot]);
	free(jobs->slots);
	free(jobs->free_slots);
	*jobs = (struct jobs){ 0 };
}

struct job *jobs_find(const struct jobs *jobs, uint64_t grant_id)
{
	struct job *job;

	HASH_FIND(hh, jobs->by_id, &grant_id, sizeof(grant_id), job);
	return job;
}

struct job *jobs_after(const struct jobs *jobs, uint64_t grant_id)
{
	struct job *job = jobs_find(jobs, grant_id);

	if (job != NULL)
		return job->hh.next;
	for (job = jobs->by_id; job != NULL; job = job->hh.next)
		if (job->grant_id > grant_id)
			break;
	return job;
}

struct job *jobs_find_name(const struct jobs *jobs, const char *name,
			   size_t name_size)
{
	struct job *job;

	HASH_FIND(hh_name, jobs->by_name, name, name_size, job);
	return job;
}

struct job *jobs_find_key(const struct jobs *jobs, const char *key)
{
	struct job *job = jobs_find_name(jobs, key, job_name_size(key));

	while (job != NULL && strcmp(job->key, key) != 0)
		job = job->sibling;
	return job;
}

struct job *jobs_at(const struct jobs *jobs, uint32_t slot)
{
	assert(slot < jobs->slot_capacity && jobs->slots[slot] != NULL);
	return jobs->slots[slot];
}

size_t job_name_size(const char *key)
{
	const char *slash = strrchr(key, '/');

	return slash == NULL ? strlen(key) : (size_t)(slash - key);
}

struct job *job_create(uint32_t part_count)
{
	struct job *job = memory_array(1, sizeof(*job));

	job->parts = memory_array(part_count, sizeof(*job->parts));
	job->part_count = part_count;
	job->retry_at_ms = DEADLINE_NONE;
	return job;
}

void job_destroy(struct job *job)
{
	if (job == NULL)
		return;
	free(job->key);
	free(job->options);
	free(job->cores);
	free(job->tasks);
	free(job->empty_reason);
	free(job->why);
	free(job->parts);
	free(job->runs);
	if (job->secret != NULL)
		sodium_memzero(job->secret, job->secret_size);
	free(job->secret);
	free(job);
}

static void slots_grow(struct jobs *jobs)
{
	uint32_t old = jobs->slot_capacity;
	uint32_t capacity = (uint32_t)memory_more(old);

	jobs->slots =
		memory_resize(jobs->slots, capacity, sizeof(struct job *));
	jobs->free_slots = memory_resize(jobs->free_slots, capacity,
					 sizeof(*jobs->free_slots));
	for (uint32_t slot = capacity; slot-- > old;) {
		jobs->slots[slot] = NULL;
		jobs->free_slots[jobs->free_count++] = slot;
	}
	jobs->slot_capacity = capacity;
}

static void slot_assign(struct jobs *jobs, struct job *job)
{
	if (jobs->free_count == 0)
		slots_grow(jobs);
	job->slot = jobs->free_slots[--jobs->free_count];
	jobs->slots[job->slot] = job;
}

void jobs_add(struct jobs *jobs, struct job *job)
{
	struct job *first;

	assert(jobs_find(jobs, job->grant_id) == NULL);
	job->name_size = (uint32_t)job_name_size(job->key);
	slot_assign(jobs, job);
	HASH_ADD(hh, jobs->by_id, grant_id, sizeof(job->grant_id), job);
	memory_added(hh, job);
	first = jobs_find_name(jobs, job->key, job->name_size);
	if (first == NULL) {
		HASH_ADD_KEYPTR(hh_name, jobs->by_name, job->key,
				job->name_size, job);
		memory_added(hh_name, job);
	} else {
		while (first->sibling != NULL)
			first = first->sibling;
		first->sibling = job;
	}
	jobs->count++;
	jobs->state_counts[job->state]++;
}

static void sibling_remove(struct jobs *jobs, struct job *job)
{
	struct job *first = jobs_find_name(jobs, job->key, job->name_size);

	if (first != job) {
		while (first->sibling != job)
			first = first->sibling;
		first->sibling = job->sibling;
		return;
	}
	HASH_DELETE(hh_name, jobs->by_name, job);
	first = job->sibling;
	if (first == NULL)
		return;
	HASH_ADD_KEYPTR(hh_name, jobs->by_name, first->key, first->name_size,
			first);
	memory_added(hh_name, first);
}

void jobs_remove(struct jobs *jobs, struct job *job)
{
	sibling_remove(jobs, job);
	HASH_DELETE(hh, jobs->by_id, job);
	jobs->slots[job->slot] = NULL;
	jobs->free_slots[jobs->free_count++] = job->slot;
	jobs->count--;
	jobs->state_counts[job->state]--;
	job_destroy(job);
}

void jobs_set_state(struct jobs *jobs, struct job *job, enum job_state state,
		    const struct edge_probe *probe)
{
	enum edge edge = job_edges[job->state][state];

	assert(edge != NO_EDGE);
	jobs->state_counts[job->state]--;
	jobs->state_counts[state]++;
	job->state = (uint8_t)state;
	edge_hit(probe, edge);
}

static bool is_unconfirmed(enum part_state state)
{
	return state != PART_PENDING && state != PART_REVOKED &&
	       state != PART_LOST;
}

bool part_is_gone(const struct part *part)
{
	return part->state == PART_REVOKED || part->state == PART_LOST;
}

bool part_is_unconfirmed(const struct part *part)
{
	return is_unconfirmed((enum part_state)part->state);
}

bool part_is_lost(const struct job *job, const struct part *part)
{
	return job->state == JOB_ACTIVE &&
	       (part->state == PART_MISSING || part->state == PART_LOST);
}

enum part_state part_state_lost(const struct job *job, const struct part *part)
{
	bool is_needed =
		job->state == JOB_ACTIVE &&
		(part->state == PART_APPLIED || part->state == PART_MISSING);

	return is_needed ? PART_LOST : PART_REVOKED;
}

void part_set_state(struct job *job, struct part *part, enum part_state state,
		    const struct edge_probe *probe)
{
	enum edge edge = part_edges[part->state][state];

	assert(edge != NO_EDGE);
	job->unconfirmed_count += (uint32_t)is_unconfirmed(state);
	job->unconfirmed_count -= (uint32_t)part_is_unconfirmed(part);
	part->state = state & 7u;
	edge_hit(probe, edge);
}

struct part *job_part(const struct job *job, uint32_t node)
{
	for (uint32_t i = 0; i < job->part_count; i++)
		if (job->parts[i].node == node)
			return &job->parts[i];
	return NULL;
}

const char *job_state_name(enum job_state state)
{
	return state_names[state];
}

const char *job_reason_name(enum job_reason reason)
{
	static const char *const names[REASON_COUNT] = {
		[REASON_NONE] = "none",
		[REASON_REQUEST] = "request",
		[REASON_APPLY_FAILED] = "apply-failed",
		[REASON_RESERVE_FAILED] = "reserve-failed",
		[REASON_OPERATOR] = "operator",
	};

	return names[reason];
}

const char *part_state_name(enum part_state state)
{
	static const char *const names[PART_STATE_COUNT] = {
		[PART_PENDING] = "pending",   [PART_APPLYING] = "applying",
		[PART_APPLIED] = "applied",   [PART_MISSING] = "lost",
		[PART_REVOKING] = "revoking", [PART_REVOKED] = "revoked",
		[PART_LOST] = "lost",
	};

	return names[state];
}
