/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard's beginning, its one way to change, and what the agent asks for.
 *
 * The apply floor rises with nearly every command and is worth no write of its
 * own: it goes to the journal in front of the next record. Until then a
 * restart knows a lower floor, and has every tombstone still.
 */
#include "lanes/node/guard/core.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/node/guard/internal.h"

const struct guard_driver *guard_driver(const struct guard *guard,
					const char *name)
{
	for (size_t i = 0; i < guard->config.driver_count; i++) {
		const struct guard_driver *driver = &guard->config.drivers[i];

		if (strcmp(driver->driver->name, name) == 0)
			return driver;
	}
	return NULL;
}

void batch_begin(struct guard *guard, struct writer *batch)
{
	*batch = (struct writer){ 0 };
	if (guard->floor > guard->ledger.floor)
		ledger_write_floor(batch, guard->floor);
}

static int journal_renew(struct guard *guard)
{
	struct writer all = { .limit = JOURNAL_SIZE_MAX };
	int result;

	ledger_prune(&guard->ledger);
	ledger_write_all(&all, &guard->ledger);
	result = all.result;
	if (result == 0)
		result = journal_rewrite(&guard->journal, all.data, all.size);
	writer_fini(&all);
	return result;
}

int batch_commit(struct guard *guard, struct writer *batch)
{
	int result = memory_check(batch->result);

	if (result == 0 && journal_wants_rewrite(&guard->journal))
		result = journal_renew(guard);
	if (result == 0)
		result = journal_write(&guard->journal, batch->data,
				       batch->size);
	/* A record that its writer cannot read is a bug. */
	if (result == 0 &&
	    journal_records_take(batch->data, batch->size, ledger_take,
				 &guard->ledger, NULL) < 0)
		abort();
	writer_fini(batch);
	return result;
}

static bool has_capacity(struct guard *guard)
{
	struct writer batch;

	if (ledger_has_capacity(&guard->ledger))
		return true;
	batch_begin(guard, &batch);
	if (batch_commit(guard, &batch) < 0)
		return false;
	ledger_prune(&guard->ledger);
	return ledger_has_capacity(&guard->ledger);
}

int grant_check_capacity(struct guard *guard, char text[GUARD_TEXT_MAX + 1])
{
	if (has_capacity(guard))
		return 0;
	text_add(text, "the node's journal is full of grants or tombstones");
	return -ENOSPC;
}

/* --- beginning --- */

/* Read the journal; its incarnation decides whether an error matters. */
struct guard_replay {
	struct guard *guard;
	bool is_other;
};

static int replay_take(void *arg, uint8_t kind, struct reader *body,
		       struct fairlead_error *ret_error)
{
	struct guard_replay *replay = arg;
	struct ledger *ledger = &replay->guard->ledger;
	int result = ledger_take(ledger, kind, body, ret_error);

	if (result == 0 && kind == LEDGER_INCARNATION)
		replay->is_other = memcmp(ledger->incarnation,
					  replay->guard->config.incarnation,
					  INCARNATION_SIZE) != 0;
	return result;
}

static void ledger_begin(struct guard *guard)
{
	/* Random, so that no late ACK of another incarnation fits. */
	uint64_t sequence = (rng_u64(&guard->config.rng) >> 2) + 1;

	ledger_fini(&guard->ledger);
	ledger_init(&guard->ledger, guard->config.incarnation, sequence);
}

/* The lanes of another incarnation are gone; their files are not. */
static void leave_other(struct guard *guard)
{
	for (struct ledger_grant *grant = guard->ledger.grants; grant;
	     grant = grant->hh.next) {
		struct request_key key;

		if (request_key_parse(grant->key, &key, NULL) == 0)
			guard->config.ops->remove_environment(
				guard->config.ops_ctx, &key);
	}
}

static int journal_begin(struct guard *guard, struct fairlead_error *ret_error)
{
	struct journal_file *file = &guard->config.journal;
	struct guard_replay replay = { .guard = guard };
	int result = journal_open(&guard->journal, file, replay_take, &replay,
				  ret_error);

	if (result < 0 && !replay.is_other)
		return result;
	if (replay.is_other) {
		leave_other(guard);
		result = file->ops->set_aside(file->ctx);
		if (result < 0)
			return error_set(ret_error, result,
					 "cannot move the journal of another "
					 "incarnation aside: %s",
					 strerror(-result));
		ledger_begin(guard);
	} else if (guard->ledger.next_sequence == 0) {
		ledger_begin(guard);
	}
	guard->journal.file = *file;
	result = journal_renew(guard);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot write the journal: %s",
				 strerror(-result));
	return 0;
}

/* All at once: they may be many. */
static void take_back_unfinished(struct guard *guard)
{
	_auto_(freep) struct revocation *list =
		memory_array(HASH_COUNT(guard->ledger.grants), sizeof(*list));
	const struct ledger_grant *grant;
	size_t count = 0;

	for (grant = guard->ledger.grants; grant; grant = grant->hh.next) {
		if (grant->state == GRANT_APPLYING)
			list[count++].grant_id = grant->lane.grant_id;
	}
	if (count > 0)
		lanes_revoke(guard, list, count);
}

static int keys_load(struct guard *guard, struct fairlead_error *ret_error)
{
	struct node_keys keys;
	int result = guard->config.ops->load_keys(guard->config.ops_ctx, &keys,
						  ret_error);

	if (result < 0)
		return result;
	if (strcmp(keys.name, guard->config.name) != 0) {
		error_set(ret_error, -EINVAL,
			  "the key file is for node '%s', and this is '%s'",
			  keys.name, guard->config.name);
		node_keys_fini(&keys);
		return -EINVAL;
	}
	node_keys_fini(&guard->keys);
	guard->keys = keys;
	sodium_memzero(&keys, sizeof(keys));
	return 0;
}

int guard_create(const struct guard_config *config, struct guard **ret_guard,
		 struct fairlead_error *ret_error)
{
	_auto_(guard_destroyp) struct guard *guard =
		memory_alloc(sizeof(*guard));
	int result;

	guard->config = *config;
	keys_lock(&guard->keys, sizeof(guard->keys), config->log);
	result = keys_load(guard, ret_error);
	if (result < 0)
		return result;
	result = journal_begin(guard, ret_error);
	if (result < 0 && config->journal.path)
		return error_prefix(ret_error, "'%s'", config->journal.path);
	if (result < 0)
		return result;
	guard->floor = guard->ledger.floor;
	rng_fill(&guard->config.rng, guard->nonce, NONCE_START_SIZE);
	take_back_unfinished(guard);
	*ret_guard = take_ptr(guard);
	return 0;
}

void guard_destroy(struct guard *guard)
{
	if (!guard)
		return;
	ledger_fini(&guard->ledger);
	keys_unlock(&guard->keys, sizeof(guard->keys));
	free(guard);
}

/* --- what the agent asks for --- */

static void grant_show(const struct ledger_grant *grant,
		       struct guard_grant *ret_shown)
{
	*ret_shown = (struct guard_grant){
		.grant_id = grant->lane.grant_id,
		.state = (uint8_t)grant->state,
		.uid = grant->lane.uid,
		.id_count = (uint8_t)grant->lane.id_count,
	};
	memcpy(ret_shown->key, grant->key, sizeof(grant->key));
	memcpy(ret_shown->driver, grant->driver, sizeof(grant->driver));
	memcpy(ret_shown->ids, grant->lane.ids, sizeof(grant->lane.ids));
	if (grant->text)
		text_add(ret_shown->text, grant->text);
}

void reply_grant(const struct guard *guard, uint64_t grant_id,
		 struct reply *reply)
{
	const struct ledger_grant *grant =
		ledger_grant(&guard->ledger, grant_id);

	if (grant)
		grant_show(grant, &reply->grants[0]);
	else
		reply->grants[0] = (struct guard_grant){ .grant_id = grant_id };
	reply->head.grant_count = 1;
}

static int grant_compare(const struct ledger_grant *one,
			 const struct ledger_grant *other)
{
	return one->lane.grant_id < other->lane.grant_id ? -1 : 1;
}

static int show_grants(struct guard *guard, const struct guard_request *request,
		       struct reply *reply)
{
	const struct ledger_grant *grant;

	HASH_SORT(guard->ledger.grants, grant_compare);
	for (grant = guard->ledger.grants; grant; grant = grant->hh.next) {
		if (grant->lane.grant_id <= request->number)
			continue;
		if (reply->head.grant_count == GUARD_PAGE_MAX) {
			reply->head.has_more = true;
			break;
		}
		grant_show(grant, &reply->grants[reply->head.grant_count++]);
	}
	return 0;
}

int confirm_write(const struct guard *guard, const struct confirm *confirm,
		  struct reply *reply)
{
	return confirm_encode(confirm, &guard->keys.confirms[0], &reply->bytes);
}

static int show_pending(struct guard *guard,
			const struct guard_request *request,
			struct reply *reply)
{
	const struct pending_confirm *pending = guard->ledger.pending;
	struct confirm confirm = { .version = WIRE_VERSION };

	while (pending && pending->sequence <= request->number)
		pending = pending->next;
	if (!pending)
		return -ENOENT;
	memcpy(confirm.incarnation, guard->config.incarnation,
	       INCARNATION_SIZE);
	strcpy(confirm.node, guard->keys.name);
	confirm.grant_id = pending->grant_id;
	confirm.sequence = pending->sequence;
	confirm.result = pending->result;
	text_add(confirm.reason, pending->text);
	reply->head.sequence = pending->sequence;
	return confirm_write(guard, &confirm, reply);
}

static int take_revoke(struct guard *guard, const struct guard_request *request,
		       struct reply *reply)
{
	unsigned int flags = LANE_REPORTED |
			     (request->is_last ? LANE_LAST : 0) |
			     (request->is_clean ? LANE_CLEAN : 0);
	const struct ledger_grant *grant;
	int result = -ENOENT;

	if (request->is_dry_run || waiting_has(guard, request->number))
		waiting_settle(guard);
	grant = ledger_grant(&guard->ledger, request->number);
	if (grant && !request->is_dry_run)
		return waiting_add(guard, request->number, flags, NULL);
	if (grant)
		result = lane_try_revoke(guard, grant, reply->head.text);
	if (request->number > 0)
		reply_grant(guard, request->number, reply);
	return result;
}

static int take_environment(struct guard *guard,
			    const struct guard_request *request,
			    struct reply *reply)
{
	struct ledger_grant *grant =
		ledger_grant(&guard->ledger, request->number);
	struct fairlead_error error;
	int result;

	if (!grant || grant->state != GRANT_APPLIED)
		return -ENOENT;
	result = lane_environment(guard, grant, grant->record, &reply->bytes,
				  &error);
	if (result < 0)
		text_add(reply->head.text, error.text);
	return result;
}

static int take_reload(struct guard *guard, const struct guard_request *request,
		       struct reply *reply)
{
	struct fairlead_error error;
	int result = keys_load(guard, &error);

	if (result < 0)
		text_add(reply->head.text, error.text);
	return result;
}

static int show_hops(struct guard *guard, const struct guard_request *request,
		     struct reply *reply)
{
	struct hop_keys keys;
	int result;

	node_keys_hops(&guard->keys, &keys);
	result = guard_hops_encode(&keys, &reply->bytes);
	hop_keys_fini(&keys);
	return result;
}

void reply_send(struct guard *guard, struct reply *reply)
{
	struct guard_reply *head = &reply->head;
	struct writer *replies = guard->replies;
	struct writer message = { .limit = GUARD_MESSAGE_MAX };
	uint8_t length[FRAME_LENGTH_SIZE];

	head->pending_count = (uint32_t)guard->ledger.pending_count;
	head->epoch = guard->ledger.epoch;
	head->key_count = (uint8_t)guard->keys.command_count;
	for (size_t i = 0; i < guard->keys.command_count; i++)
		head->key_ids[i] = guard->keys.commands[i].id;
	head->grants = reply->grants;
	head->bytes = reply->bytes.data;
	head->size = reply->bytes.size;
	if (guard_reply_encode(head, &message) < 0) {
		replies->result = message.result;
	} else {
		frame_length(message.size, length);
		write_bytes(replies, length, sizeof(length));
		write_bytes(replies, message.data, message.size);
	}
	writer_fini(&message);
	writer_fini(&reply->bytes);
	free(reply->objects);
	reply->objects = NULL;
}

/* Any other request first completes deferred revokes. */
static bool may_wait(const struct guard_request *asked)
{
	return asked->type == GUARD_REVOKE || asked->type == GUARD_COMMAND;
}

int guard_take(struct guard *guard, const void *request, size_t size,
	       struct writer *replies)
{
	static int (*const handlers[])(struct guard *,
				       const struct guard_request *,
				       struct reply *) = {
		[GUARD_COMMAND] = command_obey,
		[GUARD_REGISTER] = inventory_register,
		[GUARD_GRANTS] = show_grants,
		[GUARD_PENDING] = show_pending,
		[GUARD_ANSWER] = command_answer,
		[GUARD_REVOKE] = take_revoke,
		[GUARD_DESTROY] = inventory_destroy,
		[GUARD_ENVIRONMENT] = take_environment,
		[GUARD_RELOAD] = take_reload,
		[GUARD_HOPS] = show_hops,
		[GUARD_DRIVERS] = inventory_drivers,
		[GUARD_OBJECTS] = inventory_objects,
	};
	_auto_(freep) struct reply *parts = memory_alloc(sizeof(*parts));
	struct guard_request asked;
	int result = memory_check(guard_request_decode(request, size, &asked));

	if (result < 0)
		return result;
	guard->replies = replies;
	if (!may_wait(&asked))
		waiting_settle(guard);
	parts->bytes.limit = FRAME_SIZE_MAX;
	parts->head.type = asked.type;
	parts->head.result = handlers[asked.type](guard, &asked, parts);
	if (parts->head.result != REPLY_WAITS) {
		waiting_settle(guard);
		reply_send(guard, parts);
	} else if (guard->waiting_count == GUARD_WAITING_MAX) {
		waiting_settle(guard);
	}
	guard_request_fini(&asked);
	guard->replies = NULL;
	return replies->result;
}

bool guard_is_waiting(const struct guard *guard)
{
	return guard->waiting_count > 0;
}

int guard_settle(struct guard *guard, struct writer *replies)
{
	guard->replies = replies;
	waiting_settle(guard);
	guard->replies = NULL;
	return replies->result;
}
