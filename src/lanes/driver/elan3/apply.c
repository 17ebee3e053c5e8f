/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All capabilities of the lane are left with fairlead-rms, or none: what was
 * left before a failure is taken back at once, or said. A daemon that ends in
 * between has it still when it is back, and revoke finds it.
 *
 * What has the lane's program, or its contexts on one of its rails, is in the
 * way, whoever left it: nothing of another's gets another key. So is a program
 * description of the lane's number, which could claim them.
 */
#include "lanes/driver/elan3/node.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lanes/driver/elan3/record.h"
#include "lanes/driver/elan3/reply.h"

/* Who may write to it could be there in the daemon's place, and gets keys. */
static int dir_check(const struct elan3_node *node,
		     struct fairlead_error *ret_error)
{
	struct stat status;

	if (stat(node->dir, &status) < 0)
		return elan3_fail(node, -errno, ret_error,
				  "cannot leave a capability");
	if (status.st_uid != 0 || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return error_set(ret_error, -EPERM,
				 "%s is not root's alone to write to (chown "
				 "root, chmod go-w)",
				 node->dir);
	return 0;
}

static int rails_check(const struct elan3_node *node, uint32_t rails,
		       struct fairlead_error *ret_error)
{
	struct rms_client_rails found;
	char text[ELAN3_RAILS_TEXT_MAX];
	int result = elan3_rails_read(node, &found, ret_error);

	if (result < 0)
		return result;
	if ((rails & ~found.up) == 0)
		return 0;
	elan3_rails_format(rails & ~found.up, text);
	return error_set(ret_error, -ENODEV,
			 "%s: fairlead-rms has no such rail on this node (its "
			 "option --rails says which there are)",
			 text);
}

static int clash_check(const struct elan3_node *node,
		       const struct fairlead_lane *lane, uint32_t rails,
		       struct fairlead_error *ret_error)
{
	struct rms_client_deposit deposit = { 0 };
	char text[ELAN3_RAILS_TEXT_MAX];
	int result;

	while ((result = elan3_deposit_next(node, &deposit, ret_error)) > 0) {
		const struct elan_capability *cap = &deposit.cap;
		bool meets = (cap->cap_railmask & rails) != 0 &&
			     (uint32_t)cap->cap_lowcontext <=
				     lane->ids[ELAN3_ID_LAST] &&
			     (uint32_t)cap->cap_highcontext >=
				     lane->ids[ELAN3_ID_FIRST];

		if (!meets && deposit.grant_id != lane->ids[ELAN3_ID_PROGRAM])
			continue;
		elan3_rails_format(cap->cap_railmask, text);
		if (elan3_deposit_is_of(&deposit, lane))
			return error_set(ret_error, -EEXIST,
					 "%s: capability %u is this lane's "
					 "already (program %u)",
					 text, (uint32_t)deposit.number,
					 lane->ids[ELAN3_ID_PROGRAM]);
		return error_set(ret_error, -EEXIST,
				 "%s: program %u or contexts %u-%u are in use "
				 "by capability %u of uid %u, which is not "
				 "this lane's",
				 text, lane->ids[ELAN3_ID_PROGRAM],
				 lane->ids[ELAN3_ID_FIRST],
				 lane->ids[ELAN3_ID_LAST],
				 (uint32_t)deposit.number, deposit.uid);
	}
	if (result < 0)
		return result;
	result = rms_client_members(node->dir, (int)lane->ids[ELAN3_ID_PROGRAM],
				    NULL, 0);
	if (result == -ESRCH)
		return 0;
	return result < 0
		       ? elan3_fail(node, result, ret_error,
				    "cannot look for program %u",
				    lane->ids[ELAN3_ID_PROGRAM])
		       : error_set(ret_error, -EEXIST,
				   "program description %u is there already, "
				   "with %d processes (rms_prgdestroy())",
				   lane->ids[ELAN3_ID_PROGRAM], result);
}

/* What was opened for this node is for this lane. */
static int reply_check(const struct elan3_node *node,
		       const struct fairlead_lane *lane,
		       const struct elan3_request *asked,
		       const struct elan3_reply *reply,
		       struct elan3_share *ret_share,
		       struct fairlead_error *ret_error)
{
	bool fits = reply->program == lane->ids[ELAN3_ID_PROGRAM] &&
		    reply->cap_count == asked->set_count;

	for (uint32_t i = 0; i < reply->cap_count && fits; i++) {
		const struct elan_capability *cap = &reply->caps[i];

		fits = (uint32_t)cap->cap_lowcontext ==
			       lane->ids[ELAN3_ID_FIRST] &&
		       (uint32_t)cap->cap_highcontext ==
			       lane->ids[ELAN3_ID_LAST] &&
		       cap->cap_railmask == asked->sets[i];
	}
	if (!fits)
		return error_set(ret_error, -EBADMSG,
				 "the capabilities that came with the lane are "
				 "another's");
	if (elan3_share_of(&reply->caps[0], (uint32_t)node->elan_id,
			   ret_share) < 0)
		return error_set(ret_error, -EINVAL,
				 "this node is ElanID %d, and the lane has no "
				 "process there (ElanIDs %d-%d)",
				 node->elan_id, reply->caps[0].cap_lownode,
				 reply->caps[0].cap_highnode);
	return 0;
}

static void undo(const struct elan3_node *node,
		 const struct fairlead_lane *lane,
		 struct fairlead_warnings *warnings,
		 struct fairlead_error *ret_error)
{
	const struct fairlead_record none = { .size = 0 };
	struct fairlead_error before = *ret_error;
	struct fairlead_error error;

	if (elan3_revoke((void *)node, lane, &none, false, warnings, &error) <
	    0)
		error_set(ret_error, before.code,
			  "%s; what was left before cannot be taken back: %s",
			  before.text, error.text);
}

static int deposit_all(const struct elan3_node *node,
		       const struct fairlead_lane *lane,
		       const struct elan3_reply *reply,
		       struct fairlead_warnings *warnings,
		       struct fairlead_error *ret_error)
{
	char text[ELAN3_RAILS_TEXT_MAX];

	for (uint32_t i = 0; i < reply->cap_count; i++) {
		const struct elan_capability *cap = &reply->caps[i];
		int result = rms_client_deposit(node->dir, reply->program,
						lane->uid, cap);

		if (result == 0)
			continue;
		elan3_rails_format(cap->cap_railmask, text);
		if (result == -EACCES)
			result = error_set(ret_error, -EEXIST,
					   "%s: a program has a capability "
					   "with contexts of %u-%u already, "
					   "which no lane gave it",
					   text, lane->ids[ELAN3_ID_FIRST],
					   lane->ids[ELAN3_ID_LAST]);
		else
			result = elan3_fail(node, result, ret_error,
					    "%s: cannot leave a capability",
					    text);
		/* Also when it may have been this one that was left. */
		undo(node, lane, warnings, ret_error);
		return result;
	}
	return 0;
}

/* What processes send to others of the lane goes there. */
static int routes_send(const struct elan3_node *node,
		       const struct fairlead_lane *lane,
		       struct fairlead_warnings *warnings,
		       struct fairlead_error *ret_error)
{
	int result = rms_client_route(node->dir, lane->ids[ELAN3_ID_PROGRAM],
				      node->elan_id, lane->members,
				      lane->members_size);

	if (result == 0)
		return 0;
	if (result == -EINVAL)
		result = error_set(ret_error, -EBADMSG,
				   "what came with the lane about its nodes is "
				   "damaged");
	else
		result =
			elan3_fail(node, result, ret_error,
				   "cannot pass on where the lane's nodes are");
	undo(node, lane, warnings, ret_error);
	return result;
}

static void dry_run_report(const struct fairlead_lane *lane,
			   const struct elan3_request *asked,
			   struct fairlead_warnings *warnings)
{
	char text[ELAN3_RAILS_TEXT_MAX];

	for (uint32_t i = 0; i < asked->set_count; i++) {
		elan3_rails_format(asked->sets[i], text);
		warnings_add(warnings,
			     "%s: would leave a capability uid=%u program=%u "
			     "contexts=%u-%u",
			     text, lane->uid, lane->ids[ELAN3_ID_PROGRAM],
			     lane->ids[ELAN3_ID_FIRST],
			     lane->ids[ELAN3_ID_LAST]);
	}
}

static int lane_check(const struct elan3_node *node,
		      const struct fairlead_lane *lane, bool is_dry_run,
		      struct elan3_request *ret_asked,
		      struct fairlead_error *ret_error)
{
	struct elan3_request asked = { 0 };
	int result = elan3_request_parse(lane->options, ELAN3_RAILS_MAX, &asked,
					 ret_error);

	if (result < 0)
		return result;
	if (lane->id_count != ELAN3_ID_COUNT || asked.is_off)
		return error_set(ret_error, -EINVAL,
				 "the lane has %u identifiers, and a program "
				 "and a run of contexts are wanted",
				 lane->id_count);
	if (node->elan_id < 0)
		return error_set(ret_error, -EINVAL, "%s", node->place_flaw);
	result = rails_check(node, elan3_request_rails(&asked), ret_error);
	if (result == 0)
		result = clash_check(node, lane, elan3_request_rails(&asked),
				     ret_error);
	/* Who only looks may not be root. */
	if (result == -EACCES && is_dry_run)
		result = 0;
	if (result == 0)
		*ret_asked = asked;
	return result;
}

int elan3_apply(void *state, const struct fairlead_lane *lane, bool is_dry_run,
		struct fairlead_record *ret_record,
		struct fairlead_warnings *warnings,
		struct fairlead_error *ret_error)
{
	const struct elan3_node *node = state;
	struct elan3_reply reply = { 0 };
	struct elan3_request asked = { 0 };
	struct elan3_share share = { 0 };
	int result = lane_check(node, lane, is_dry_run, &asked, ret_error);

	if (result < 0)
		return result;
	if (is_dry_run) {
		dry_run_report(lane, &asked, warnings);
		return 0;
	}
	if (lane->secrets_size == 0)
		return error_set(ret_error, -EBADMSG,
				 "no capabilities came with the lane");
	result = dir_check(node, ret_error);
	if (result == 0)
		result = elan3_reply_decode(lane->secrets, lane->secrets_size,
					    &reply, ret_error);
	if (result == 0)
		result = reply_check(node, lane, &asked, &reply, &share,
				     ret_error);
	if (result == 0)
		result = deposit_all(node, lane, &reply, warnings, ret_error);
	if (result == 0)
		result = routes_send(node, lane, warnings, ret_error);
	if (result == 0)
		elan3_record_encode(&share, lane->ids[ELAN3_ID_PROGRAM],
				    ret_record);
	elan3_reply_fini(&reply);
	return result;
}
