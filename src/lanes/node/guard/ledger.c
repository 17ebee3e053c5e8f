/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records and what they change. Bodies, after the kind:
 *
 *	INCARNATION  u16 version, u8[16] incarnation, u64 next sequence
 *	EPOCH        u8[148] header
 *	APPLYING     u64 grant, u8[32] digest, text key, text driver, u32 uid,
 *	             u32 gid, u32 cores, u32 tasks, u8 n, u32 ids[], text options
 *	APPLIED      u64 grant, blob the driver's record, text warnings
 *	REVOKING, TOMBSTONE           u64 grant
 *	PENDING      u64 sequence, u64 grant, u32 result, text
 *	ACKNOWLEDGED u64 sequence     FLOOR  u64 floor
 *
 * Of one grant only the latest confirmation is pending.
 */
#include "lanes/node/guard/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "base/memory.h"

static void grant_destroy(struct ledger_grant *grant)
{
	free(grant->record);
	free(grant->text);
	free(grant);
}

void ledger_init(struct ledger *ledger,
		 const uint8_t incarnation[INCARNATION_SIZE],
		 uint64_t first_sequence)
{
	*ledger = (struct ledger){ .next_sequence = first_sequence };
	memcpy(ledger->incarnation, incarnation, INCARNATION_SIZE);
}

static void pending_remove(struct ledger *ledger,
			   struct pending_confirm *pending)
{
	DL_DELETE(ledger->pending, pending);
	ledger->pending_count--;
	free(pending->text);
	free(pending);
}

void ledger_fini(struct ledger *ledger)
{
	struct ledger_grant *grant, *next_grant;
	struct guard_tombstone *tombstone, *next_tombstone;

	HASH_ITER (hh, ledger->grants, grant, next_grant) {
		HASH_DEL(ledger->grants, grant);
		grant_destroy(grant);
	}
	HASH_ITER (hh, ledger->tombstones, tombstone, next_tombstone) {
		HASH_DEL(ledger->tombstones, tombstone);
		free(tombstone);
	}
	while (ledger->pending)
		pending_remove(ledger, ledger->pending);
	*ledger = (struct ledger){ 0 };
}

struct ledger_grant *ledger_grant(const struct ledger *ledger,
				  uint64_t grant_id)
{
	struct ledger_grant *grant;

	HASH_FIND(hh, ledger->grants, &grant_id, sizeof(grant_id), grant);
	return grant;
}

bool ledger_has_tombstone(const struct ledger *ledger, uint64_t grant_id)
{
	struct guard_tombstone *tombstone;

	HASH_FIND(hh, ledger->tombstones, &grant_id, sizeof(grant_id),
		  tombstone);
	return tombstone != NULL;
}

bool ledger_has_capacity(const struct ledger *ledger)
{
	size_t grants = HASH_COUNT(ledger->grants);

	return grants + ledger->pending_count < LEDGER_GRANTS_MAX &&
	       grants + HASH_COUNT(ledger->tombstones) < LEDGER_TOMBSTONES_MAX;
}

void ledger_prune(struct ledger *ledger)
{
	struct guard_tombstone *tombstone, *next;

	HASH_ITER (hh, ledger->tombstones, tombstone, next) {
		if (tombstone->grant_id >= ledger->floor)
			continue;
		HASH_DEL(ledger->tombstones, tombstone);
		free(tombstone);
	}
}

/* --- taking records: 0, -EUCLEAN or -EPROTONOSUPPORT --- */

static int take_incarnation(struct ledger *ledger, struct reader *body)
{
	const uint8_t *incarnation;
	uint16_t version = read_u16(body);

	if (!body->failed && version != LEDGER_VERSION)
		return -EPROTONOSUPPORT;
	incarnation = read_bytes(body, INCARNATION_SIZE);
	if (!incarnation || ledger->next_sequence > 0)
		return -EUCLEAN;
	ledger_init(ledger, incarnation, read_u64(body));
	return 0;
}

static int take_epoch(struct ledger *ledger, struct reader *body)
{
	const uint8_t *header = read_bytes(body, COMMAND_HEADER_SIZE);
	struct command fields;

	if (!header || command_header_read(header, &fields) < 0)
		return -EUCLEAN;
	ledger->has_epoch = true;
	memcpy(ledger->header, header, COMMAND_HEADER_SIZE);
	ledger->key_id = fields.key_id;
	ledger->epoch = fields.epoch;
	ledger->life = fields.life;
	return 0;
}

static int take_applying(struct ledger *ledger, struct reader *body)
{
	_auto_(freep) struct ledger_grant *grant = memory_alloc(sizeof(*grant));
	const uint8_t *digest;

	grant->state = GRANT_APPLYING;
	grant->lane.grant_id = read_u64(body);
	digest = read_bytes(body, DIGEST_SIZE);
	read_text(body, grant->key, sizeof(grant->key));
	read_text(body, grant->driver, sizeof(grant->driver));
	grant->lane.uid = read_u32(body);
	grant->lane.gid = read_u32(body);
	grant->lane.cores = read_u32(body);
	grant->lane.tasks = read_u32(body);
	grant->lane.id_count = read_u8(body);
	if (body->failed || grant->lane.id_count > FAIRLEAD_LANE_IDS_MAX ||
	    ledger_grant(ledger, grant->lane.grant_id))
		return -EUCLEAN;
	memcpy(grant->digest, digest, DIGEST_SIZE);
	for (uint32_t i = 0; i < grant->lane.id_count; i++)
		grant->lane.ids[i] = read_u32(body);
	read_text(body, grant->lane.options, sizeof(grant->lane.options));
	HASH_ADD(hh, ledger->grants, lane.grant_id,
		 sizeof(grant->lane.grant_id), grant);
	memory_have(grant->hh.tbl);
	(void)take_ptr(grant);
	return 0;
}

static int take_applied(struct ledger *ledger, struct reader *body)
{
	struct ledger_grant *grant = ledger_grant(ledger, read_u64(body));
	const uint8_t *bytes;
	size_t size;

	bytes = read_blob(body, FAIRLEAD_RECORD_MAX, &size);
	if (!grant || grant->state != GRANT_APPLYING || !bytes)
		return -EUCLEAN;
	grant->text = read_text_alloc(body, LEDGER_TEXT_MAX);
	if (!grant->text)
		return -EUCLEAN;
	grant->record = memory_alloc(sizeof(*grant->record));
	grant->record->size = size;
	memcpy(grant->record->bytes, bytes, size);
	grant->state = GRANT_APPLIED;
	return 0;
}

static int take_revoking(struct ledger *ledger, struct reader *body)
{
	struct ledger_grant *grant = ledger_grant(ledger, read_u64(body));
	uint8_t is_lost = read_u8(body);

	if (!grant || grant->state == GRANT_REVOKING || is_lost > 1)
		return -EUCLEAN;
	grant->state = GRANT_REVOKING;
	grant->is_lost = is_lost != 0;
	free(grant->text);
	grant->text = NULL;
	return 0;
}

static int take_tombstone(struct ledger *ledger, struct reader *body)
{
	uint64_t grant_id = read_u64(body);
	struct ledger_grant *grant = ledger_grant(ledger, grant_id);
	struct guard_tombstone *tombstone;

	/* One that was pruned may come again. */
	if (!ledger_has_tombstone(ledger, grant_id)) {
		tombstone = memory_alloc(sizeof(*tombstone));
		tombstone->grant_id = grant_id;
		HASH_ADD(hh, ledger->tombstones, grant_id,
			 sizeof(tombstone->grant_id), tombstone);
		memory_have(tombstone->hh.tbl);
	}
	if (grant) {
		HASH_DEL(ledger->grants, grant);
		grant_destroy(grant);
	}
	return 0;
}

static int take_pending(struct ledger *ledger, struct reader *body)
{
	struct pending_confirm *pending = memory_alloc(sizeof(*pending));
	struct pending_confirm *old;

	pending->sequence = read_u64(body);
	pending->grant_id = read_u64(body);
	pending->result = (int32_t)read_u32(body);
	pending->text = read_text_alloc(body, LEDGER_TEXT_MAX);
	if (!pending->text) {
		free(pending);
		return -EUCLEAN;
	}
	if (pending->sequence >= ledger->next_sequence)
		ledger->next_sequence = pending->sequence + 1;
	DL_SEARCH_SCALAR(ledger->pending, old, grant_id, pending->grant_id);
	if (old)
		pending_remove(ledger, old);
	DL_APPEND(ledger->pending, pending);
	ledger->pending_count++;
	return 0;
}

static int take_acknowledged(struct ledger *ledger, struct reader *body)
{
	uint64_t sequence = read_u64(body);
	struct pending_confirm *pending;

	DL_SEARCH_SCALAR(ledger->pending, pending, sequence, sequence);
	if (body->failed || !pending)
		return -EUCLEAN;
	pending_remove(ledger, pending);
	return 0;
}

static int take_floor(struct ledger *ledger, struct reader *body)
{
	ledger->floor = read_u64(body);
	return 0;
}

int ledger_take(void *arg, uint8_t kind, struct reader *body,
		struct fairlead_error *ret_error)
{
	static int (*const takers[])(struct ledger *, struct reader *) = {
		[LEDGER_INCARNATION] = take_incarnation,
		[LEDGER_EPOCH] = take_epoch,
		[LEDGER_APPLYING] = take_applying,
		[LEDGER_APPLIED] = take_applied,
		[LEDGER_REVOKING] = take_revoking,
		[LEDGER_TOMBSTONE] = take_tombstone,
		[LEDGER_PENDING] = take_pending,
		[LEDGER_ACKNOWLEDGED] = take_acknowledged,
		[LEDGER_FLOOR] = take_floor,
	};
	struct ledger *ledger = arg;
	int result;

	if (kind == 0 || kind >= sizeof(takers) / sizeof(takers[0]))
		result = -EPROTONOSUPPORT;
	else if (kind != LEDGER_INCARNATION && ledger->next_sequence == 0)
		result = -EUCLEAN;
	else
		result = takers[kind](ledger, body);
	if (result == 0 && !reader_is_done(body))
		result = -EUCLEAN;
	if (result == -EPROTONOSUPPORT)
		return error_set(ret_error, result,
				 "the journal is of a later version of "
				 "fairleadd (record kind %u); start that one",
				 kind);
	if (result < 0)
		return error_set(ret_error, result,
				 "the journal has a record of kind %u that "
				 "cannot be taken (%s); move it away, start "
				 "again, and release what the node held",
				 kind, strerror(-result));
	return 0;
}

/* --- writing records --- */

void ledger_write_epoch(struct writer *batch,
			const uint8_t header[COMMAND_HEADER_SIZE])
{
	size_t at = journal_record_begin(batch, LEDGER_EPOCH);

	write_bytes(batch, header, COMMAND_HEADER_SIZE);
	journal_record_end(batch, at);
}

void ledger_write_applying(struct writer *batch,
			   const struct ledger_grant *grant)
{
	size_t at = journal_record_begin(batch, LEDGER_APPLYING);

	write_u64(batch, grant->lane.grant_id);
	write_bytes(batch, grant->digest, DIGEST_SIZE);
	write_text(batch, grant->key);
	write_text(batch, grant->driver);
	write_u32(batch, grant->lane.uid);
	write_u32(batch, grant->lane.gid);
	write_u32(batch, grant->lane.cores);
	write_u32(batch, grant->lane.tasks);
	write_u8(batch, (uint8_t)grant->lane.id_count);
	for (uint32_t i = 0; i < grant->lane.id_count; i++)
		write_u32(batch, grant->lane.ids[i]);
	write_text(batch, grant->lane.options);
	journal_record_end(batch, at);
}

void ledger_write_applied(struct writer *batch, uint64_t grant_id,
			  const struct fairlead_record *record,
			  const char *text)
{
	size_t at = journal_record_begin(batch, LEDGER_APPLIED);

	write_u64(batch, grant_id);
	write_blob(batch, record->bytes, record->size);
	write_text(batch, text);
	journal_record_end(batch, at);
}

/* A record whose body is one number. */
static void write_number(struct writer *batch, enum ledger_kind kind,
			 uint64_t number)
{
	size_t at = journal_record_begin(batch, (uint8_t)kind);

	write_u64(batch, number);
	journal_record_end(batch, at);
}

void ledger_write_revoking(struct writer *batch, uint64_t grant_id,
			   bool is_lost)
{
	size_t at = journal_record_begin(batch, LEDGER_REVOKING);

	write_u64(batch, grant_id);
	write_u8(batch, is_lost);
	journal_record_end(batch, at);
}

void ledger_write_tombstone(struct writer *batch, uint64_t grant_id)
{
	write_number(batch, LEDGER_TOMBSTONE, grant_id);
}

void ledger_write_acknowledged(struct writer *batch, uint64_t sequence)
{
	write_number(batch, LEDGER_ACKNOWLEDGED, sequence);
}

void ledger_write_floor(struct writer *batch, uint64_t floor)
{
	write_number(batch, LEDGER_FLOOR, floor);
}

void ledger_write_pending(struct writer *batch, uint64_t sequence,
			  uint64_t grant_id, int32_t result, const char *text)
{
	size_t at = journal_record_begin(batch, LEDGER_PENDING);

	write_u64(batch, sequence);
	write_u64(batch, grant_id);
	write_u32(batch, (uint32_t)result);
	write_text(batch, text);
	journal_record_end(batch, at);
}

static void write_grant(struct writer *batch, const struct ledger_grant *grant)
{
	ledger_write_applying(batch, grant);
	if (grant->record)
		ledger_write_applied(batch, grant->lane.grant_id, grant->record,
				     grant->state == GRANT_APPLIED ? grant->text
								   : "");
	if (grant->state == GRANT_REVOKING)
		ledger_write_revoking(batch, grant->lane.grant_id,
				      grant->is_lost);
}

void ledger_write_all(struct writer *batch, const struct ledger *ledger)
{
	size_t at = journal_record_begin(batch, LEDGER_INCARNATION);

	write_u16(batch, LEDGER_VERSION);
	write_bytes(batch, ledger->incarnation, INCARNATION_SIZE);
	write_u64(batch, ledger->next_sequence);
	journal_record_end(batch, at);
	if (ledger->has_epoch)
		ledger_write_epoch(batch, ledger->header);
	ledger_write_floor(batch, ledger->floor);
	for (const struct ledger_grant *grant = ledger->grants; grant;
	     grant = grant->hh.next)
		write_grant(batch, grant);
	for (const struct guard_tombstone *tombstone = ledger->tombstones;
	     tombstone; tombstone = tombstone->hh.next)
		ledger_write_tombstone(batch, tombstone->grant_id);
	for (const struct pending_confirm *pending = ledger->pending; pending;
	     pending = pending->next)
		ledger_write_pending(batch, pending->sequence,
				     pending->grant_id, pending->result,
				     pending->text);
}
