/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deferred revokes: a revoke waits for those of the next requests, so that all
 * run together: drivers and the journal take little longer for many than for
 * one. Any other request runs them first.
 */
#include "base/memory.h"
#include "lanes/node/guard/internal.h"

bool waiting_has(const struct guard *guard, uint64_t grant_id)
{
	for (size_t i = 0; i < guard->waiting_count; i++) {
		if (guard->waiting[i].grant_id == grant_id)
			return true;
	}
	return false;
}

int waiting_add(struct guard *guard, uint64_t grant_id, unsigned int flags,
		const struct command *command)
{
	struct revocation *waiting = &guard->waiting[guard->waiting_count++];

	*waiting = (struct revocation){ .grant_id = grant_id, .flags = flags };
	if (command) {
		waiting->command = *command;
		waiting->command.body = NULL;
		waiting->command.body_size = 0;
	}
	return REPLY_WAITS;
}

static void answer(struct guard *guard, const struct revocation *revocation,
		   struct reply *reply)
{
	struct guard_reply *head = &reply->head;
	bool is_command = revocation->command.op != 0;

	head->type = is_command ? GUARD_COMMAND : GUARD_REVOKE;
	text_add(head->text, revocation->text);
	head->result = revocation->result;
	if (is_command)
		head->result = command_answer_revoke(
			guard, &revocation->command, revocation->result, reply);
	else
		reply_grant(guard, revocation->grant_id, reply);
	reply_send(guard, reply);
}

void waiting_settle(struct guard *guard)
{
	size_t count = guard->waiting_count;

	if (count == 0)
		return;
	guard->waiting_count = 0;
	lanes_revoke(guard, guard->waiting, count);
	for (size_t i = 0; i < count; i++) {
		_auto_(freep) struct reply *reply =
			memory_alloc(sizeof(*reply));

		answer(guard, &guard->waiting[i], reply);
	}
}
