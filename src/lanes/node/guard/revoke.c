/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes that are taken back together go through each of these steps together,
 * in the order that survives a crash at any point:
 *
 *	REVOKING | driver, environment file | PENDING, TOMBSTONE | answer
 *
 * This does not wait for the journal: when that cannot be written the lane is
 * taken all the same, but is not said to be gone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/node/guard/internal.h"

static const struct fairlead_record unknown;

static const struct fairlead_record *record_of(const struct ledger_grant *grant)
{
	return grant->record ? grant->record : &unknown;
}

static int driver_revoke(const struct guard *guard,
			 const struct ledger_grant *grant, bool is_dry_run,
			 char text[GUARD_TEXT_MAX + 1],
			 struct fairlead_error *ret_error)
{
	struct guard_collector collector = collector_of(text);
	const struct guard_driver *driver;
	int result = lane_driver(guard, grant, &driver, ret_error);

	if (result < 0)
		return result;
	return driver->driver->node->revoke(driver->state, &grant->lane,
					    record_of(grant), is_dry_run,
					    &collector.warnings, ret_error);
}

static int environment_remove(struct guard *guard,
			      const struct ledger_grant *grant,
			      struct fairlead_error *ret_error)
{
	struct request_key key;
	int result;

	if (!*grant->key)
		return 0; /* lost here and forgotten by the manager */
	result = request_key_parse(grant->key, &key, ret_error);
	if (result < 0)
		return result;
	result = guard->config.ops->remove_environment(guard->config.ops_ctx,
						       &key);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot remove the environment file: %s",
				 strerror(-result));
	return 0;
}

static void fail(struct revocation *revocation, int result, const char *why)
{
	revocation->result = result;
	text_add(revocation->text, why);
}

static struct ledger_grant *grant_of(const struct guard *guard,
				     const struct revocation *revocation)
{
	return ledger_grant(&guard->ledger, revocation->grant_id);
}

static bool is_loss(const struct ledger_grant *grant,
		    const struct revocation *revocation)
{
	return grant->state == GRANT_APPLIED &&
	       (revocation->flags & LANE_CLEAN) != 0;
}

static void mark_revoking(struct guard *guard, struct revocation *list,
			  size_t count)
{
	bool is_any = false;
	struct writer batch;

	batch_begin(guard, &batch);
	for (size_t i = 0; i < count; i++) {
		const struct ledger_grant *grant = grant_of(guard, &list[i]);

		if (grant->state == GRANT_REVOKING)
			continue;
		ledger_write_revoking(&batch, list[i].grant_id,
				      is_loss(grant, &list[i]));
		is_any = true;
	}
	if (!is_any) {
		writer_fini(&batch);
		return;
	}
	if (batch_commit(guard, &batch) == 0)
		return;
	for (size_t i = 0; i < count; i++) {
		struct ledger_grant *grant = grant_of(guard, &list[i]);

		grant->is_lost |= is_loss(grant, &list[i]);
		grant->state = GRANT_REVOKING;
	}
}

static bool takes_many(const struct guard_driver *driver)
{
	return driver && driver->is_open && driver->driver->node->revoke_all;
}

/* Those of one driver that takes many, together. */
static void driver_revoke_all(struct guard *guard,
			      const struct guard_driver *driver,
			      struct revocation *list, size_t count)
{
	_auto_(freep) struct fairlead_revocation *asked =
		memory_array(count, sizeof(*asked));
	_auto_(freep) struct guard_collector *collectors =
		memory_array(count, sizeof(*collectors));
	_auto_(freep) struct revocation **of = memory_array(count, sizeof(*of));
	size_t asked_count = 0;

	for (size_t i = 0; i < count; i++) {
		const struct ledger_grant *grant = grant_of(guard, &list[i]);
		size_t at = asked_count;

		if (guard_driver(guard, grant->driver) != driver)
			continue;
		of[at] = &list[i];
		collectors[at] = collector_of(list[i].text);
		asked[at].lane = &grant->lane;
		asked[at].record = record_of(grant);
		asked[at].warnings = &collectors[at].warnings;
		asked_count++;
	}
	if (asked_count == 0)
		return;
	driver->driver->node->revoke_all(driver->state, asked, asked_count);
	for (size_t i = 0; i < asked_count; i++) {
		if (asked[i].result < 0)
			fail(of[i], asked[i].result, asked[i].error.text);
	}
}

static void drivers_revoke(struct guard *guard, struct revocation *list,
			   size_t count)
{
	struct fairlead_error error;

	for (size_t i = 0; i < guard->config.driver_count; i++) {
		if (takes_many(&guard->config.drivers[i]))
			driver_revoke_all(guard, &guard->config.drivers[i],
					  list, count);
	}
	for (size_t i = 0; i < count; i++) {
		const struct ledger_grant *grant = grant_of(guard, &list[i]);
		int result;

		if (takes_many(guard_driver(guard, grant->driver)))
			continue;
		result = driver_revoke(guard, grant, false, list[i].text,
				       &error);
		if (result < 0)
			fail(&list[i], result, error.text);
	}
}

static void environments_remove(struct guard *guard, struct revocation *list,
				size_t count)
{
	struct fairlead_error error;

	for (size_t i = 0; i < count; i++) {
		int result = environment_remove(
			guard, grant_of(guard, &list[i]), &error);

		if (result < 0 && list[i].result == 0)
			fail(&list[i], result, error.text);
	}
}

void lanes_bury(struct guard *guard, struct revocation *list, size_t count)
{
	uint64_t sequence = guard->ledger.next_sequence;
	struct fairlead_error error;
	struct writer batch;
	int result;

	batch_begin(guard, &batch);
	for (size_t i = 0; i < count; i++) {
		if (list[i].result < 0)
			continue;
		if (list[i].flags & LANE_REPORTED)
			ledger_write_pending(
				&batch, sequence++, list[i].grant_id, 0,
				grant_of(guard, &list[i])->is_lost
					? "'fairlead clean --all' has taken it"
					: "");
		ledger_write_tombstone(&batch, list[i].grant_id);
	}
	result = batch_commit(guard, &batch);
	if (result == 0)
		return;
	error_set(&error, result,
		  "it is taken back, but cannot be written to the journal: %s",
		  strerror(-result));
	for (size_t i = 0; i < count; i++) {
		if (list[i].result == 0)
			fail(&list[i], result, error.text);
	}
}

static void stay(struct guard *guard, const struct revocation *revocation)
{
	struct ledger_grant *grant = grant_of(guard, revocation);
	struct writer batch;

	free(grant->text);
	grant->text = memory_text(revocation->text);
	if (!(revocation->flags & LANE_LAST))
		return;
	batch_begin(guard, &batch);
	ledger_write_pending(&batch, guard->ledger.next_sequence,
			     revocation->grant_id, -EBUSY, revocation->text);
	/* The reply fails in any case; the agent asks again. */
	(void)batch_commit(guard, &batch);
}

void lanes_revoke(struct guard *guard, struct revocation *list, size_t count)
{
	bool is_any_gone = false;

	mark_revoking(guard, list, count);
	drivers_revoke(guard, list, count);
	environments_remove(guard, list, count);
	for (size_t i = 0; i < count; i++)
		is_any_gone |= list[i].result == 0;
	if (is_any_gone)
		lanes_bury(guard, list, count);
	for (size_t i = 0; i < count; i++) {
		if (list[i].result < 0)
			stay(guard, &list[i]);
	}
}

int lane_try_revoke(const struct guard *guard, const struct ledger_grant *grant,
		    char text[GUARD_TEXT_MAX + 1])
{
	struct fairlead_error error;
	int result = driver_revoke(guard, grant, true, text, &error);

	if (result < 0)
		text_add(text, error.text);
	return result;
}

/* --- the manager's order --- */

static bool ids_meet(const struct fairlead_lane *one,
		     const struct fairlead_lane *other)
{
	for (uint32_t i = 0; i < one->id_count; i++) {
		for (uint32_t j = 0; j < other->id_count; j++) {
			if (one->ids[i] == other->ids[j])
				return true;
		}
	}
	return false;
}

/*
 * An identifier has one holder. An object that matches the lane and belongs to
 * another grant is that grant's, so nothing of this lane can be left.
 */
static bool is_elsewhere(const struct guard *guard,
			 const struct ledger_grant *lost)
{
	for (const struct ledger_grant *grant = guard->ledger.grants; grant;
	     grant = grant->hh.next) {
		if (strcmp(grant->driver, lost->driver) == 0 &&
		    ids_meet(&grant->lane, &lost->lane))
			return true;
	}
	return false;
}

/* The journal does not know the grant: find and revoke matching objects. */
static int revoke_unknown(struct guard *guard, const struct command *command,
			  const struct ledger_grant *lost, struct reply *reply)
{
	uint64_t grant_id = lost->lane.grant_id;
	struct writer batch;
	int result;

	if (is_elsewhere(guard, lost))
		waiting_settle(guard);
	result = grant_check_capacity(guard, reply->head.text);
	if (result < 0)
		return result;
	batch_begin(guard, &batch);
	if (is_elsewhere(guard, lost)) {
		ledger_write_tombstone(&batch, grant_id);
	} else {
		ledger_write_applying(&batch, lost);
		ledger_write_revoking(&batch, grant_id, false);
	}
	result = batch_commit(guard, &batch);
	if (result < 0) {
		text_add(reply->head.text, "cannot write the journal");
		return result;
	}
	if (ledger_has_tombstone(&guard->ledger, grant_id))
		return 0;
	return waiting_add(guard, grant_id, 0, command);
}

int revoke_decide(struct guard *guard, const struct command *command,
		  const struct revoke_body *body, struct reply *reply)
{
	struct ledger_grant lost = { .state = GRANT_APPLYING };

	if (waiting_has(guard, command->grant_id))
		waiting_settle(guard);
	if (ledger_has_tombstone(&guard->ledger, command->grant_id))
		return 0;
	if (ledger_grant(&guard->ledger, command->grant_id))
		return waiting_add(guard, command->grant_id, 0, command);
	lost.lane.grant_id = command->grant_id;
	lost.lane.uid = body->uid;
	lost.lane.gid = body->gid;
	lost.lane.id_count = body->id_count;
	memcpy(lost.lane.ids, body->ids, sizeof(body->ids));
	memcpy(lost.key, body->key, sizeof(body->key));
	memcpy(lost.driver, body->driver, sizeof(body->driver));
	return revoke_unknown(guard, command, &lost, reply);
}
