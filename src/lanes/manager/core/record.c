/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of every record; jobs, their parts, and tombstones.
 *
 *	job        text driver, u8 state, u8 reason, u8 flags (1 has lane, 2 quarantined,
 *	4 has runs, 8 has a secret), u64 epoch, u64 created_us, u64 since_us,
 *	u8[32] digest, u32 uid, u32 gid, u32 cpus_per_task, text options,
 *	text cores, text tasks, text empty_reason, text why ("": none),
 *	u8 id counts[4], u16 waived, u32 ids[],
 *	where it has runs 4 times {u32 low, u32 high, u32 length} by pool (all 0:
 *	none), where it has a secret u8 n, u8[n + 1],
 *	u32 n, u32 nodes[n], runs {u32 count, u8 state, u32 serial} of them
 *
 * Parts that follow each other and are alike are one run: a job of thousands
 * of nodes that was never applied has one.
 *
 *	part       u8 state, u32 serial
 *	tombstone  u8 is_trace, u32 uid, u32 gid
 *	outside    u8 state, u8 flags (1 may exist, 2 is lost, 4 is fatal),
 *	u64 since_us, text request, text reason, blob secret
 */
#include "lanes/manager/core/record.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/runs.h"
#include "lanes/manager/core/core.h"
#include "lanes/proto/names.h"

void record_begin(struct writer *writer)
{
	write_u16(writer, RECORD_VERSION);
}

void record_end(const struct writer *writer)
{
	memory_check(writer->result);
}

int record_open(const void *body, size_t size, struct reader *ret_reader,
		struct fairlead_error *ret_error)
{
	struct reader reader = reader_of(body, body == NULL ? 0 : size);
	uint16_t version = read_u16(&reader);

	if (version != RECORD_VERSION)
		return error_set(ret_error, -EBADMSG,
				 "the record has version %u, which is not %u",
				 version, RECORD_VERSION);
	*ret_reader = reader;
	return 0;
}

int record_check(const struct reader *reader, bool is_good,
		 struct fairlead_error *ret_error)
{
	if (!reader_is_done(reader))
		return error_set(ret_error, -EBADMSG,
				 "the record is cut or too long");
	if (!is_good)
		return error_set(ret_error, -EBADMSG,
				 "a field of the record is out of range");
	return 0;
}

void record_encode_part(const struct part *part, struct writer *writer)
{
	record_begin(writer);
	write_u8(writer, part->state);
	write_u32(writer, part->serial);
	record_end(writer);
}

int record_decode_part(const void *body, size_t size, struct part *ret_part,
		       struct fairlead_error *ret_error)
{
	struct reader reader;
	uint32_t state, serial;
	int result = record_open(body, size, &reader, ret_error);

	if (result < 0)
		return result;
	state = read_u8(&reader);
	serial = read_u32(&reader);
	result = record_check(
		&reader, state < PART_STATE_COUNT && serial <= JOB_SERIAL_MAX,
		ret_error);
	if (result < 0)
		return result;
	*ret_part = (struct part){ .node = NODE_NONE,
				   .serial = serial & JOB_SERIAL_MAX,
				   .state = state & 7u };
	return 0;
}

void record_encode_tombstone(const struct record_tombstone *tombstone,
			     struct writer *writer)
{
	record_begin(writer);
	write_u8(writer, tombstone->is_trace);
	write_u32(writer, tombstone->uid);
	write_u32(writer, tombstone->gid);
	record_end(writer);
}

int record_decode_tombstone(const void *body, size_t size,
			    struct record_tombstone *ret_tombstone,
			    struct fairlead_error *ret_error)
{
	struct record_tombstone tombstone;
	struct reader reader;
	uint8_t is_trace;
	int result = record_open(body, size, &reader, ret_error);

	if (result < 0)
		return result;
	is_trace = read_u8(&reader);
	tombstone.is_trace = is_trace == 1;
	tombstone.uid = read_u32(&reader);
	tombstone.gid = read_u32(&reader);
	result = record_check(&reader, is_trace <= 1, ret_error);
	if (result == 0)
		*ret_tombstone = tombstone;
	return result;
}

/* --- external reservations --- */

enum {
	OUTSIDE_FLAG_EXISTS = 1,
	OUTSIDE_FLAG_LOST = 2,
	OUTSIDE_FLAG_FATAL = 4,
	OUTSIDE_FLAG_ALL = 7,
};

void record_encode_outside(const struct outside_item *item, uint64_t since_us,
			   struct writer *writer)
{
	record_begin(writer);
	write_u8(writer, item->state);
	write_u8(writer, (uint8_t)((item->may_exist ? OUTSIDE_FLAG_EXISTS : 0) |
				   (item->is_lost ? OUTSIDE_FLAG_LOST : 0) |
				   (item->is_fatal ? OUTSIDE_FLAG_FATAL : 0)));
	write_u64(writer, since_us);
	write_text(writer, item->prefix);
	write_text(writer, item->request);
	write_text(writer, item->reason);
	write_blob(writer, item->secret, item->secret_size);
	record_end(writer);
}

int record_decode_outside(uint64_t grant_id, const void *body, size_t size,
			  struct outside_item *ret_item, uint64_t *ret_since_us,
			  struct fairlead_error *ret_error)
{
	struct outside_item item = { .grant_id = grant_id };
	const uint8_t *secret;
	size_t secret_size = 0;
	struct reader reader;
	uint8_t flags;
	int result = record_open(body, size, &reader, ret_error);

	if (result < 0)
		return result;
	item.state = read_u8(&reader);
	flags = read_u8(&reader);
	*ret_since_us = read_u64(&reader);
	item.prefix = read_text_alloc(&reader, OUTSIDE_PREFIX_MAX);
	item.request = read_text_alloc(&reader, OUTSIDE_REQUEST_MAX);
	item.reason = read_text_alloc(&reader, OUTSIDE_REASON_MAX);
	secret = read_blob(&reader, OUTSIDE_SEALED_MAX, &secret_size);
	result = record_check(&reader,
			      item.prefix != NULL && item.request != NULL &&
				      item.reason != NULL &&
				      item.state < OUTSIDE_STATE_COUNT &&
				      flags <= OUTSIDE_FLAG_ALL &&
				      (item.state == OUTSIDE_HELD ||
				       secret_size == 0),
			      ret_error);
	if (result < 0) {
		free(item.prefix);
		free(item.request);
		free(item.reason);
		return result;
	}
	item.may_exist = flags & OUTSIDE_FLAG_EXISTS;
	item.is_lost = flags & OUTSIDE_FLAG_LOST;
	item.is_fatal = flags & OUTSIDE_FLAG_FATAL;
	if (secret_size > 0)
		item.secret = memory_copy(secret, secret_size);
	item.secret_size = (uint32_t)secret_size;
	*ret_item = item;
	return 0;
}

/* --- jobs --- */

#define LIST_MAX 1048576 /* bytes of a list; a client's frame is not longer */

enum {
	FLAG_LANE = 1,
	FLAG_QUARANTINED = 2,
	FLAG_RUNS = 4,
	FLAG_SECRET = 8,
	FLAGS_ALL = 15,
};

static void runs_encode(const struct job *job, struct writer *writer)
{
	uint32_t from = 0;

	while (from < job->part_count) {
		const struct part *part = &job->parts[from];
		uint32_t to = from + 1;

		while (to < job->part_count &&
		       job->parts[to].state == part->state &&
		       job->parts[to].serial == part->serial)
			to++;
		write_u32(writer, to - from);
		write_u8(writer, part->state);
		write_u32(writer, part->serial);
		from = to;
	}
}

static void runs_of_pools_encode(const struct job *job, struct writer *writer)
{
	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++) {
		write_u32(writer, job->runs[i].low);
		write_u32(writer, job->runs[i].high);
		write_u32(writer, job->runs[i].length);
	}
}

static void ids_encode(const struct job *job, struct writer *writer)
{
	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++)
		write_u8(writer, job->id_counts[i]);
	write_u16(writer, job->waived);
	for (size_t i = 0; i < job->id_count; i++)
		write_u32(writer, job->ids[i]);
	if (job->runs != NULL)
		runs_of_pools_encode(job, writer);
	if (job->secret != NULL) {
		write_u8(writer, (uint8_t)(job->secret_size - 1));
		write_bytes(writer, job->secret, job->secret_size);
	}
}

static uint8_t flags_of(const struct job *job)
{
	uint8_t flags = 0;

	flags |= job->has_lane ? FLAG_LANE : 0;
	flags |= job->is_quarantined ? FLAG_QUARANTINED : 0;
	flags |= job->runs != NULL ? FLAG_RUNS : 0;
	flags |= job->secret != NULL ? FLAG_SECRET : 0;
	return flags;
}

void record_encode_job(const struct job *job, const char *driver,
		       struct writer *writer)
{
	record_begin(writer);
	write_text(writer, driver);
	write_u8(writer, job->state);
	write_u8(writer, job->reason);
	write_u8(writer, flags_of(job));
	write_u64(writer, job->epoch);
	write_u64(writer, job->created_us);
	write_u64(writer, job->since_us);
	write_bytes(writer, job->digest, sizeof(job->digest));
	write_u32(writer, job->uid);
	write_u32(writer, job->gid);
	write_u32(writer, job->cpus_per_task);
	write_text(writer, job->options);
	write_text(writer, job->cores);
	write_text(writer, job->tasks);
	write_text(writer, job->empty_reason);
	write_text(writer, job->why);
	ids_encode(job, writer);
	write_u32(writer, job->part_count);
	for (uint32_t i = 0; i < job->part_count; i++)
		write_u32(writer, job->parts[i].node);
	runs_encode(job, writer);
	record_end(writer);
}

static bool head_decode(struct reader *reader, struct job *job, char *driver,
			uint8_t *ret_flags)
{
	uint8_t flags;

	read_text(reader, driver, FAIRLEAD_DRIVER_NAME_MAX + 1);
	job->state = read_u8(reader);
	job->reason = read_u8(reader);
	flags = read_u8(reader);
	job->has_lane = flags & FLAG_LANE;
	job->is_quarantined = flags & FLAG_QUARANTINED;
	job->epoch = read_u64(reader);
	job->created_us = read_u64(reader);
	job->since_us = read_u64(reader);
	*ret_flags = flags;
	return name_is_driver(driver) && job->state < JOB_STATE_COUNT &&
	       job->reason < REASON_COUNT && (flags & ~FLAGS_ALL) == 0 &&
	       (job->reason != REASON_NONE) == (job->state >= JOB_RELEASING) &&
	       (!job->is_quarantined || job->state >= JOB_RELEASED) &&
	       (job->since_us != 0) == job->is_quarantined;
}

static void texts_decode(struct reader *reader, struct job *job)
{
	const uint8_t *digest = read_bytes(reader, sizeof(job->digest));

	if (digest != NULL)
		memcpy(job->digest, digest, sizeof(job->digest));
	job->uid = read_u32(reader);
	job->gid = read_u32(reader);
	job->cpus_per_task = read_u32(reader);
	job->options = read_text_alloc(reader, FAIRLEAD_OPTIONS_MAX);
	job->cores = read_text_alloc(reader, LIST_MAX);
	job->tasks = read_text_alloc(reader, LIST_MAX);
	job->empty_reason = read_text_alloc(reader, JOB_WHY_MAX);
	job->why = read_text_alloc(reader, JOB_WHY_MAX);
	if (job->why != NULL && job->why[0] == 0) {
		free(job->why);
		job->why = NULL;
	}
}

static bool ids_decode(struct reader *reader, struct job *job)
{
	uint32_t id_count = 0;

	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++) {
		job->id_counts[i] = read_u8(reader);
		id_count += job->id_counts[i];
	}
	if (id_count > FAIRLEAD_LANE_IDS_MAX)
		return false;
	job->id_count = (uint8_t)id_count;
	job->waived = read_u16(reader);
	for (size_t i = 0; i < id_count; i++)
		job->ids[i] = read_u32(reader);
	return job->waived >> id_count == 0;
}

/* A run's two identifiers are checked with it: a waived run is waived whole. */
static bool run_of_pool_decode(struct reader *reader, struct job *job,
			       size_t pool, size_t first)
{
	struct fairlead_run *run = &job->runs[pool];
	const uint32_t *ids = job->ids + first;
	unsigned int waived = job->waived >> first & 3u;

	run->low = read_u32(reader);
	run->high = read_u32(reader);
	run->length = read_u32(reader);
	if (run->length == 0)
		return run->low == 0 && run->high == 0;
	return job->id_counts[pool] == 2 && run->low <= run->high &&
	       run->high < FAIRLEAD_POSITIONS_MAX && ids[0] <= ids[1] &&
	       ids[1] < FAIRLEAD_RUN_IDS_MAX &&
	       ids[1] - ids[0] + 1 == run->length &&
	       (waived == 0 || waived == 3);
}

static bool runs_of_pools_decode(struct reader *reader, struct job *job)
{
	bool has_some = false;
	size_t first = 0;

	job->runs = memory_array(FAIRLEAD_POOLS_MAX, sizeof(*job->runs));
	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++) {
		if (!run_of_pool_decode(reader, job, i, first))
			return false;
		has_some = has_some || job->runs[i].length > 0;
		first += job->id_counts[i];
	}
	return has_some;
}

static void secret_decode(struct reader *reader, struct job *job)
{
	uint32_t size = read_u8(reader) + 1u;
	const uint8_t *bytes = read_bytes(reader, size);

	static_assert(FAIRLEAD_SECRET_MAX == UINT8_MAX + 1, "all sizes");
	if (bytes == NULL)
		return;
	job->secret = memory_array(size, 1);
	job->secret_size = size;
	memcpy(job->secret, bytes, size);
}

/* One run of parts from `from` on: how many, or 0 when it is bad. */
static uint32_t run_decode(struct reader *reader, struct job *job,
			   uint32_t from)
{
	uint32_t count = read_u32(reader);
	uint32_t state = read_u8(reader);
	uint32_t serial = read_u32(reader);
	const struct part *before = from > 0 ? &job->parts[from - 1] : NULL;

	if (count > job->part_count - from || state >= PART_STATE_COUNT ||
	    serial > JOB_SERIAL_MAX)
		return 0;
	if (before != NULL && before->state == state &&
	    before->serial == serial)
		return 0;
	for (uint32_t i = from; i < from + count; i++) {
		job->parts[i].state = state & 7u;
		job->parts[i].serial = serial & JOB_SERIAL_MAX;
		job->unconfirmed_count += part_is_unconfirmed(&job->parts[i]);
	}
	return count;
}

static bool parts_decode(struct reader *reader, struct job *job)
{
	uint32_t count = read_u32(reader);
	uint32_t from = 0;

	if (count == 0 || count > HOSTLIST_COUNT_MAX ||
	    count > reader->left / sizeof(uint32_t))
		return false;
	job->parts = memory_array(count, sizeof(*job->parts));
	job->part_count = count;
	for (uint32_t i = 0; i < count; i++)
		job->parts[i].node = read_u32(reader);
	while (from < count) {
		uint32_t run = run_decode(reader, job, from);

		if (run == 0)
			return false;
		from += run;
	}
	return job->state > JOB_RESERVED || job->unconfirmed_count == 0;
}

static bool is_list(const char *text, uint32_t count)
{
	_auto_(freep) uint32_t *values = NULL;
	int result;

	if (text == NULL)
		return false;
	result = memory_check(runs_parse(text, count, &values, NULL));
	return result == 0;
}

int record_decode_job(uint64_t grant_id, const char *key, const void *body,
		      size_t size, struct job **ret_job,
		      char ret_driver[FAIRLEAD_DRIVER_NAME_MAX + 1],
		      struct fairlead_error *ret_error)
{
	_auto_(job_destroyp) struct job *job = job_create(0);
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	struct reader reader;
	uint8_t flags;
	bool is_good;
	int result = record_open(body, size, &reader, ret_error);

	if (result < 0)
		return result;
	free(job->parts);
	job->parts = NULL;
	job->grant_id = grant_id;
	job->key = memory_text(key);
	is_good = head_decode(&reader, job, driver, &flags);
	texts_decode(&reader, job);
	is_good = is_good && ids_decode(&reader, job) &&
		  (!(flags & FLAG_RUNS) || runs_of_pools_decode(&reader, job));
	if (is_good && flags & FLAG_SECRET)
		secret_decode(&reader, job);
	is_good = is_good && parts_decode(&reader, job) && grant_id > 0 &&
		  name_is_key(key) && is_list(job->cores, job->part_count) &&
		  is_list(job->tasks, job->part_count);
	result = record_check(&reader, true, ret_error);
	if (!is_good)
		result = error_set(ret_error, -EBADMSG,
				   "a field of the record is out of range");
	if (result < 0)
		return result;
	strcpy(ret_driver, driver);
	*ret_job = take_ptr(job);
	return 0;
}
