/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the manager orders, as node-protocol.md has it: believed only when its
 * signature, its digest and its epoch are right and this node is named, and
 * then decided by the state of the grant.
 *
 * A command that is not believed gets no answer. One that is refused gets its
 * refusal, but for HELLO, ACK and DRAIN, which are never answered.
 */
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/memory.h"
#include "base/runs.h"
#include "lanes/proto/seal.h"
#include "lanes/node/guard/internal.h"

/* A refusal with its reason. */
static int refuse(struct reply *reply, int result, const char *text)
{
	text_add(reply->head.text, text);
	return result;
}

/*
 * While keys are rotated a manager goes on in the same life: its proof is kept
 * as the newest key has signed it, for those that retire verify nothing more.
 * A later command brings it again when it cannot be written now.
 */
static void proof_renew(struct guard *guard, const struct command *command,
			const uint8_t *header)
{
	struct writer batch;

	if (command->key_id <= guard->ledger.key_id)
		return;
	batch_begin(guard, &batch);
	ledger_write_epoch(&batch, header);
	(void)batch_commit(guard, &batch);
}

/* A new epoch is on disk before anything that it orders is done. */
static int epoch_check(struct guard *guard, const struct command *command,
		       const uint8_t *header, struct reply *reply)
{
	const struct ledger *ledger = &guard->ledger;
	struct writer batch;
	int result;

	if (ledger->has_epoch && command->epoch < ledger->epoch)
		return refuse(reply, -ESTALE,
			      "a manager with a higher epoch was obeyed");
	if (ledger->has_epoch && command->epoch == ledger->epoch) {
		if (command->life != ledger->life)
			return refuse(reply, -ESTALE,
				      "another manager with this epoch was "
				      "obeyed");
		proof_renew(guard, command, header);
		return 0;
	}
	batch_begin(guard, &batch);
	ledger_write_epoch(&batch, header);
	result = batch_commit(guard, &batch);
	if (result < 0)
		return refuse(reply, result, "cannot write the journal");
	guard->drain_sequence = 0;
	guard->lease_sequence = 0;
	return 0;
}

/* --- APPLY and REVOKE --- */

static int apply_read(const struct guard *guard, const struct command *command,
		      const struct apply_body *body, struct ledger_grant *grant,
		      struct reply *reply)
{
	int index = hostlist_find(body->nodes, guard->config.name);
	int count = hostlist_count(body->nodes);
	int64_t cores, tasks;

	if (!guard->has_hello || command->life != guard->hello_life ||
	    command->sequence <= guard->hello_sequence)
		return refuse(reply, -ENOTCONN,
			      "it was made before this node registered");
	cores = runs_at(body->cores, (size_t)index);
	tasks = runs_at(body->tasks, (size_t)index);
	if (count < 0 || cores < 0 || tasks < 0)
		return refuse(reply, -EINVAL,
			      "the command has no cores or tasks of this node");
	grant->lane.grant_id = command->grant_id;
	grant->lane.uid = body->uid;
	grant->lane.gid = body->gid;
	grant->lane.cores = (uint32_t)cores;
	grant->lane.tasks = (uint32_t)tasks;
	grant->lane.id_count = body->id_count;
	memcpy(grant->lane.ids, body->ids, sizeof(body->ids));
	memcpy(grant->lane.options, body->options, sizeof(body->options));
	grant->lane.index = (uint32_t)index;
	grant->lane.node_count = (uint32_t)count;
	grant->lane.members_size = body->members_size;
	grant->lane.members = body->members_size > 0 ? body->members : NULL;
	memcpy(grant->digest, command->digest, DIGEST_SIZE);
	memcpy(grant->key, body->key, sizeof(body->key));
	memcpy(grant->driver, body->driver, sizeof(body->driver));
	return 0;
}

/* Make the lane, with the secrets that are sealed to this node. */
static int apply_new(struct guard *guard, const struct ledger_grant *wanted,
		     const struct apply_body *body, struct reply *reply)
{
	const struct guard_driver *driver = guard_driver(guard, wanted->driver);
	struct ledger_grant grant = *wanted;
	struct secret secret;
	int result;

	if (body->sealed_size == 0)
		return lane_apply(guard, wanted, reply->head.text);
	if (!driver || !driver->driver->manager ||
	    !driver->driver->manager->pack)
		return refuse(reply, -EOPNOTSUPP,
			      "no driver of this node takes such secrets");
	result = seal_open(guard->keys.confirms, guard->keys.confirm_count,
			   grant.lane.grant_id, grant.lane.index, body->sealed,
			   body->sealed_size, &secret);
	if (result < 0)
		return refuse(reply, result,
			      "the secrets cannot be opened by this node");
	grant.lane.secrets = secret.bytes;
	grant.lane.secrets_size = secret.size;
	result = lane_apply(guard, &grant, reply->head.text);
	secret_fini(&secret);
	return result;
}

static int apply_decide(struct guard *guard, const struct ledger_grant *wanted,
			const struct apply_body *body, struct reply *reply)
{
	uint64_t grant_id = wanted->lane.grant_id;
	const struct ledger_grant *grant =
		ledger_grant(&guard->ledger, grant_id);
	int result;

	if (ledger_has_tombstone(&guard->ledger, grant_id) ||
	    (grant && grant->state == GRANT_REVOKING))
		return refuse(reply, -ESTALE, "the grant was revoked");
	if (grant &&
	    sodium_memcmp(grant->digest, wanted->digest, DIGEST_SIZE) != 0)
		return refuse(reply, -EEXIST,
			      "the grant is here with another content");
	if (grant)
		return refuse(reply, 0, grant->text ? grant->text : "");
	if (grant_id < guard->floor)
		return refuse(reply, -ESTALE,
			      "the grant is below the apply floor");
	result = grant_check_capacity(guard, reply->head.text);
	if (result < 0)
		return result;
	return apply_new(guard, wanted, body, reply);
}

static int obey_apply(struct guard *guard, const struct command *command,
		      const union command_body *body, struct reply *reply)
{
	struct ledger_grant wanted = { .state = GRANT_APPLYING };
	int result = apply_read(guard, command, &body->apply, &wanted, reply);

	if (result == 0)
		result = apply_decide(guard, &wanted, &body->apply, reply);
	return result;
}

static int obey_revoke(struct guard *guard, const struct command *command,
		       const union command_body *body, struct reply *reply)
{
	return revoke_decide(guard, command, &body->revoke, reply);
}

/* --- the others --- */

static int obey_query(struct guard *guard, const struct command *command,
		      const union command_body *body, struct reply *reply)
{
	reply->head.what = body->query.what;
	return 0;
}

static int obey_clean(struct guard *guard, const struct command *command,
		      const union command_body *body, struct reply *reply)
{
	reply->head.is_all = body->clean.is_all;
	reply->head.is_dry_run = body->clean.is_dry_run;
	return 0;
}

static int obey_hello(struct guard *guard, const struct command *command,
		      const union command_body *body, struct reply *reply)
{
	if (!guard->has_nonce ||
	    sodium_memcmp(body->hello.nonce, guard->nonce, NONCE_SIZE) != 0)
		return refuse(reply, -ESTALE,
			      "it answers another registration");
	if (sodium_memcmp(body->hello.cluster, guard->keys.cluster,
			  CLUSTER_ID_SIZE) != 0)
		return refuse(reply, -EPERM, "it is of another cluster");
	guard->has_nonce = false;
	guard->has_hello = true;
	guard->hello_life = command->life;
	guard->hello_sequence = command->sequence;
	return 0;
}

static int obey_ack(struct guard *guard, const struct command *command,
		    const union command_body *body, struct reply *reply)
{
	const struct pending_confirm *pending = guard->ledger.pending;
	struct writer batch;

	while (pending && pending->sequence != body->ack.sequence)
		pending = pending->next;
	if (!pending)
		return 0;
	batch_begin(guard, &batch);
	ledger_write_acknowledged(&batch, body->ack.sequence);
	return batch_commit(guard, &batch);
}

static int obey_drain(struct guard *guard, const struct command *command,
		      const union command_body *body, struct reply *reply)
{
	if (command->sequence <= guard->drain_sequence)
		return refuse(reply, -ESTALE, "a later one was obeyed");
	guard->drain_sequence = command->sequence;
	reply->head.is_drained = body->drain.is_drained;
	text_add(reply->head.text, body->drain.reason);
	return 0;
}

/* A repeated request, whose answer was lost, is answered again. */
static int obey_lease(struct guard *guard, const struct command *command,
		      const union command_body *body, struct reply *reply)
{
	if (command->sequence < guard->lease_sequence)
		return refuse(reply, -ESTALE, "a later one was obeyed");
	guard->lease_sequence = command->sequence;
	reply->head.lease_s = body->lease.lease_s;
	return 0;
}

/* --- answers --- */

static int answer(const struct guard *guard, const struct command *command,
		  int result, const void *bytes, size_t size,
		  struct reply *reply)
{
	struct confirm confirm;

	confirm_answer(command, guard->keys.name, guard->config.incarnation,
		       result, &confirm);
	memcpy(confirm.reason, reply->head.text, sizeof(confirm.reason));
	confirm.answer = bytes;
	confirm.answer_size = size;
	return confirm_write(guard, &confirm, reply);
}

int command_answer_revoke(const struct guard *guard,
			  const struct command *command, int result,
			  struct reply *reply)
{
	int written;

	reply->head.op = command->op;
	reply->head.sequence = command->sequence;
	reply_grant(guard, command->grant_id, reply);
	written = answer(guard, command, result, NULL, 0, reply);
	return written < 0 ? written : result;
}

/* Only the guard's own inventory counts, since it frees identifiers. */
static int answer_inventory(struct guard *guard, const struct command *command,
			    struct reply *reply)
{
	struct writer bytes = { .limit = CONFIRM_ANSWER_MAX };
	int result = inventory_answer(guard, &bytes);

	result = answer(guard, command, result, bytes.data,
			result < 0 ? 0 : bytes.size, reply);
	writer_fini(&bytes);
	return result;
}

/* QUERY and CLEAN wait for the agent; the oldest is dropped if too many. */
static void query_add(struct guard *guard, const struct command *command)
{
	struct command *slot = &guard->queries[guard->query_next];

	guard->query_next = (guard->query_next + 1) % GUARD_QUERIES_MAX;
	*slot = *command;
	slot->body = NULL;
	slot->body_size = 0;
}

int command_answer(struct guard *guard, const struct guard_request *request,
		   struct reply *reply)
{
	for (size_t i = 0; i < GUARD_QUERIES_MAX; i++) {
		struct command command = guard->queries[i];

		if (command.op == 0 || command.sequence != request->number)
			continue;
		guard->queries[i] = (struct command){ 0 };
		reply->head.sequence = command.sequence;
		return answer(guard, &command, request->result, request->bytes,
			      request->size, reply);
	}
	return -ENOENT;
}

static int op_obey(struct guard *guard, const struct command *command,
		   struct reply *reply)
{
	static int (*const obey[])(struct guard *, const struct command *,
				   const union command_body *,
				   struct reply *) = {
		[COMMAND_HELLO] = obey_hello,   [COMMAND_APPLY] = obey_apply,
		[COMMAND_REVOKE] = obey_revoke, [COMMAND_QUERY] = obey_query,
		[COMMAND_CLEAN] = obey_clean,   [COMMAND_ACK] = obey_ack,
		[COMMAND_DRAIN] = obey_drain,   [COMMAND_LEASE] = obey_lease,
	};
	union command_body body;
	const char *nodes;
	int result;

	if (command->apply_floor > guard->floor)
		guard->floor = command->apply_floor;
	result = memory_check(command_body_decode(command->op, command->body,
						  command->body_size, &body));
	if (result < 0)
		return refuse(reply, result, "the body cannot be read");
	nodes = command_body_nodes(command->op, &body);
	if (hostlist_find(nodes, guard->config.name) < 0)
		result = refuse(reply, -EPERM,
				"the command does not name this node");
	else
		result = obey[command->op](guard, command, &body, reply);
	command_body_fini(command->op, &body);
	return result;
}

int command_obey(struct guard *guard, const struct guard_request *request,
		 struct reply *reply)
{
	struct command command;
	int result, written = 0;

	result = command_verify(request->bytes, request->size,
				guard->keys.commands, guard->keys.command_count,
				&command);
	if (result < 0)
		return refuse(reply, result, "not a command of our manager");
	if (command.op != COMMAND_REVOKE)
		waiting_settle(guard);
	reply->head.op = command.op;
	reply->head.sequence = command.sequence;
	result = epoch_check(guard, &command, request->bytes, reply);
	if (result == 0)
		result = op_obey(guard, &command, reply);
	switch (command.op) {
	case COMMAND_REVOKE:
		if (result != REPLY_WAITS)
			result = command_answer_revoke(guard, &command, result,
						       reply);
		break;
	case COMMAND_APPLY:
		reply_grant(guard, command.grant_id, reply);
		written = answer(guard, &command, result, NULL, 0, reply);
		break;
	case COMMAND_LEASE:
		written = answer(guard, &command, result, NULL, 0, reply);
		if (result == 0)
			inventory_tend(guard, reply);
		break;
	case COMMAND_QUERY:
	case COMMAND_CLEAN:
		if (result == 0 && reply->head.what == QUERY_INVENTORY)
			written = answer_inventory(guard, &command, reply);
		else if (result == 0)
			query_add(guard, &command);
		else
			written =
				answer(guard, &command, result, NULL, 0, reply);
		break;
	}
	return written < 0 ? written : result;
}

/*
 * --- deferred revokes: each waits for those of the next requests, since
 * drivers and the journal take little longer for many than for one. Any other
 * request runs them first. ---
 */

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

static void waiting_answer(struct guard *guard,
			   const struct revocation *revocation,
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

		waiting_answer(guard, &guard->waiting[i], reply);
	}
}
