/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Taking back: every deposit of the lane, however many there are, on whatever
 * rails: also on one that went away, since it would be there again with the
 * rail. One that is held does not keep the others. And what is on the node, and
 * taking back one thing of it.
 *
 * What is on no rail that is there is not listed: nobody can use it.
 */
#include "lanes/driver/elan3/node.h"

#include <stdio.h>
#include <string.h>

#include "elan/capability.h"

int elan3_revoke(void *state, const struct fairlead_lane *lane,
		 const struct fairlead_record *record, bool is_dry_run,
		 struct fairlead_warnings *warnings,
		 struct fairlead_error *ret_error)
{
	const struct elan3_node *node = state;
	struct rms_client_deposit deposit = { 0 };
	struct fairlead_error all = { 0 };
	struct fairlead_error error;
	char rails[ELAN3_RAILS_TEXT_MAX];
	int result;

	while ((result = elan3_deposit_next(node, &deposit, &error)) > 0) {
		if (!elan3_deposit_is_of(&deposit, lane))
			continue;
		elan3_rails_format(deposit.cap.cap_railmask, rails);
		if (elan3_deposit_take(node, &deposit, is_dry_run, &error) < 0)
			errors_join(&all, &error);
		else if (is_dry_run)
			warnings_add(warnings,
				     "%s: would take back capability %u", rails,
				     (uint32_t)deposit.number);
	}
	if (result < 0)
		errors_join(&all, &error);
	if (all.code < 0)
		*ret_error = all;
	return all.code;
}

/* --- listing --- */

static void describe(const struct rms_client_deposit *deposit, int rail,
		     struct fairlead_object *ret_object)
{
	const struct elan_capability *cap = &deposit->cap;
	struct fairlead_object object = {
		.id = (uint32_t)deposit->number,
		.uid = deposit->uid,
		.id_count = ELAN3_ID_COUNT,
	};

	snprintf(object.device, sizeof(object.device), "elan%d", rail);
	/* What no driver of ours left has a number that is no program. */
	if (deposit->grant_id <= INT32_MAX)
		object.ids[ELAN3_ID_PROGRAM] = (uint32_t)deposit->grant_id;
	object.ids[ELAN3_ID_FIRST] = (uint32_t)cap->cap_lowcontext;
	object.ids[ELAN3_ID_LAST] = (uint32_t)cap->cap_highcontext;
	if (!deposit->is_ending)
		object.flags |= FAIRLEAD_OBJECT_ENABLED;
	if (deposit->attached_count > 0)
		object.flags |= FAIRLEAD_OBJECT_BUSY;
	snprintf(object.detail, sizeof(object.detail),
		 "elanids=%d-%d processes=%u attached=%u%s", cap->cap_lownode,
		 cap->cap_highnode, capability_process_count(cap),
		 deposit->attached_count,
		 deposit->is_ending ? " being taken back" : "");
	*ret_object = object;
}

static void system_describe(int rail, struct fairlead_object *ret_object)
{
	*ret_object = (struct fairlead_object){
		.flags = FAIRLEAD_OBJECT_ENABLED | FAIRLEAD_OBJECT_SYSTEM,
		.uid = UINT32_MAX,
		.detail = "contexts=0-1023,2047, which no lane gets",
	};
	snprintf(ret_object->device, sizeof(ret_object->device), "elan%d",
		 rail);
}

int elan3_list(void *state,
	       void (*emit)(void *arg, const struct fairlead_object *object),
	       void *arg, struct fairlead_error *ret_error)
{
	const struct elan3_node *node = state;
	struct rms_client_deposit deposit = { 0 };
	struct rms_client_rails rails;
	struct fairlead_object object;
	int result = elan3_rails_read(node, &rails, ret_error);

	if (result < 0)
		return result;
	for (int i = 0; i < ELAN3_RAILS_MAX; i++) {
		if (!(rails.up >> i & 1))
			continue;
		system_describe(i, &object);
		emit(arg, &object);
	}
	while ((result = elan3_deposit_next(node, &deposit, ret_error)) > 0) {
		uint32_t there = deposit.cap.cap_railmask & rails.up;

		for (int i = 0; i < ELAN3_RAILS_MAX; i++) {
			if (!(there >> i & 1))
				continue;
			describe(&deposit, i, &object);
			emit(arg, &object);
		}
	}
	return result;
}

/* --- destroying --- */

/* Is it still what was listed? */
static bool is_it(const struct rms_client_deposit *deposit,
		  const struct fairlead_object *object)
{
	struct fairlead_object now;

	for (int i = 0; i < ELAN3_RAILS_MAX; i++) {
		if (!(deposit->cap.cap_railmask >> i & 1))
			continue;
		describe(deposit, i, &now);
		if (strcmp(now.device, object->device) == 0 &&
		    now.id == object->id && now.uid == object->uid &&
		    now.id_count == object->id_count &&
		    memcmp(now.ids, object->ids, sizeof(now.ids)) == 0)
			return true;
	}
	return false;
}

int elan3_destroy(void *state, const struct fairlead_object *object,
		  bool is_dry_run, struct fairlead_error *ret_error)
{
	const struct elan3_node *node = state;
	struct rms_client_deposit deposit = { 0 };
	int result;

	if (object->flags & FAIRLEAD_OBJECT_SYSTEM)
		return error_set(ret_error, -EPERM,
				 "%s: its own contexts are no lane's",
				 object->device);
	while ((result = elan3_deposit_next(node, &deposit, ret_error)) > 0) {
		if (is_it(&deposit, object))
			return elan3_deposit_take(node, &deposit, is_dry_run,
						  ret_error);
	}
	if (result < 0)
		return result;
	return error_set(ret_error, -ENOENT,
			 "%s: capability %u is not there any more",
			 object->device, object->id);
}
