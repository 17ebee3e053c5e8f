/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes' connections (doc/rfc/node-protocol.md). A connection is challenged,
 * registers once with that nonce (register.c), is greeted once the registration
 * is on disk, and lives as long as something is heard within the lease.
 *
 * Authority is in the messages: a confirmation counts by its MAC, whatever
 * connection it came on. What is forged, or answers nothing, is counted and
 * dropped; only a registration that fails costs the connection.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "manager/fanout.h"
#include "manager/internal.h"

#define SCAN_MS   1000 /* between looks at all leases */
#define LOOKS_MAX 256  /* nodes that are asked in one of them */

struct session *session_find(const struct engine *engine, uint64_t peer)
{
	struct session *session;

	HASH_FIND(hh, engine->sessions, &peer, sizeof(peer), session);
	return session;
}

struct session *session_of(const struct engine *engine, const char *node)
{
	struct session *session;

	HASH_FIND(hh_node, engine->sessions_by_node, node, strlen(node),
		  session);
	return session;
}

void session_send(struct engine *engine, struct session *session,
		  const void *frame, size_t size)
{
	/* What is not sent is asked for again, or the lease runs out. */
	engine->nodes_net.ops->send(engine->nodes_net.ctx, session->peer, frame,
				    size);
}

static void send_frame(struct engine *engine, struct session *session,
		       struct writer *frame)
{
	if (frame->result == 0)
		session_send(engine, session, frame->data, frame->size);
	writer_fini(frame);
}

int session_seal(struct engine *engine, uint16_t version,
		 struct command *command, struct writer *frame)
{
	command->version = version;
	command->epoch = engine->epoch;
	command->life = engine->life;
	frame_begin(frame, FRAME_COMMAND);
	return command_seal(&engine->command_key, command, frame);
}

void session_command(struct engine *engine, struct session *session,
		     struct command *command)
{
	struct writer frame = { 0 };

	command->sequence = ++engine->sequence;
	engine->counters.command_count++;
	if (session_seal(engine, session->version, command, &frame) == 0)
		send_frame(engine, session, &frame);
	else
		writer_fini(&frame);
}

static void wait_begin(struct engine *engine, struct session *session)
{
	if (session->is_waiting)
		return;
	session->is_waiting = true;
	DL_APPEND(engine->waiting, session);
}

void session_wait_end(struct engine *engine, struct session *session)
{
	if (!session->is_waiting)
		return;
	session->is_waiting = false;
	DL_DELETE(engine->waiting, session);
}

void session_unregister(struct engine *engine, struct session *session)
{
	if (!session->is_registered)
		return;
	HASH_DELETE(hh_node, engine->sessions_by_node, session);
	session->is_registered = false;
	session->is_greeted = false;
}

static void lose(struct engine *engine, struct session *session)
{
	if (!session->is_registered)
		return;
	session_unregister(engine, session);
	if (engine->core != NULL)
		core_node_lost(engine->core, session->node);
}

void session_refuse(struct engine *engine, struct session *session,
		    const char *text)
{
	struct refuse refuse = { 0 };
	struct writer frame = { 0 };

	snprintf(refuse.text, sizeof(refuse.text), "%s", text);
	frame_begin(&frame, FRAME_REFUSE);
	if (refuse_encode(&refuse, &frame) == 0)
		send_frame(engine, session, &frame);
	else
		writer_fini(&frame);
	lose(engine, session);
	session_wait_end(engine, session);
	engine->session_count -= !session->is_refused;
	session->is_refused = true;
	engine->nodes_net.ops->close(engine->nodes_net.ctx, session->peer);
}

static void challenge(struct engine *engine, struct session *session)
{
	struct challenge challenge = {
		.version = WIRE_VERSION,
		.version_min = WIRE_VERSION_MIN,
	};
	struct writer frame = { 0 };

	rng_fill(&engine->rng, session->nonce, sizeof(session->nonce));
	memcpy(challenge.nonce, session->nonce, sizeof(challenge.nonce));
	session->is_challenged = true;
	session->challenge = ++engine->challenge_last;
	wait_begin(engine, session);
	session->challenged_ms = engine_now_ms(engine);
	frame_begin(&frame, FRAME_CHALLENGE);
	if (challenge_encode(&challenge, &frame) == 0)
		send_frame(engine, session, &frame);
	else
		writer_fini(&frame);
}

void session_challenge_all(struct engine *engine)
{
	struct session *session;
	struct session *next;

	HASH_ITER (hh, engine->sessions, session, next) {
		session_unregister(engine, session);
		if (!session->is_refused)
			challenge(engine, session);
	}
}

void session_check_all(struct engine *engine)
{
	struct session *session;
	struct session *next;

	HASH_ITER (hh, engine->sessions, session, next) {
		if (session->is_registered &&
		    !core_node_is_up(engine->core, session->node))
			session_refuse(engine, session,
				       "the node has left the manager's "
				       "configuration");
	}
}

void engine_node_opened(struct engine *engine, uint64_t peer,
			const char *address)
{
	struct session *session = NULL;

	if (engine->session_count >= engine->sessions_max &&
	    engine->waiting != NULL)
		session_reject(engine, engine->waiting, REFUSAL_CROWDED,
			       "it took too long while others needed room");
	if (engine->session_count < engine->sessions_max)
		session = calloc(1, sizeof(*session));
	if (session == NULL) {
		engine->nodes_net.ops->close(engine->nodes_net.ctx, peer);
		return;
	}
	session->peer = peer;
	session->heard_ms = engine_now_ms(engine);
	session->challenged_ms = session->heard_ms;
	snprintf(session->address, sizeof(session->address), "%s", address);
	HASH_ADD(hh, engine->sessions, peer, sizeof(session->peer), session);
	engine->session_count++;
	wait_begin(engine, session);
	if (engine->session_scan_ms == DEADLINE_NONE)
		engine->session_scan_ms = session->heard_ms + SCAN_MS;
	if (engine->halted_epoch != 0)
		session_refuse(engine, session, HALT_TEXT);
	else if (engine->core != NULL)
		challenge(engine, session);
	commit_flush(engine);
}

void engine_node_closed(struct engine *engine, uint64_t peer)
{
	struct session *session = session_find(engine, peer);

	if (session == NULL)
		return;
	lose(engine, session);
	session_wait_end(engine, session);
	engine->session_count -= !session->is_refused;
	HASH_DEL(engine->sessions, session);
	free(session);
	commit_flush(engine);
}

void session_hello(struct engine *engine, uint64_t peer, const char *node,
		   const uint8_t nonce[NONCE_SIZE])
{
	struct session *session = session_find(engine, peer);
	struct command command = { .op = COMMAND_HELLO };
	struct hello_body body = { 0 };
	struct writer writer = { 0 };

	if (session == NULL || !session->is_registered)
		return;
	memcpy(body.nonce, nonce, sizeof(body.nonce));
	memcpy(body.cluster, engine->keys.cluster, sizeof(body.cluster));
	snprintf(body.node, sizeof(body.node), "%s", node);
	if (hello_body_encode(&body, session->version, &writer) == 0) {
		command.body = writer.data;
		command.body_size = writer.size;
		session_command(engine, session, &command);
		session->is_greeted = true;
		look_begin(engine, session);
		fanouts_node_up(engine->fanouts, session);
	}
	writer_fini(&writer);
}

static void tell_confirmation(struct engine *engine,
			      const struct confirm *confirm, uint64_t sequence)
{
	struct core_confirmation told = {
		.node = confirm->node,
		.grant_id = confirm->grant_id,
		.sequence = sequence,
		.result = confirm->result,
		.text = confirm->reason,
	};

	memcpy(told.incarnation, confirm->incarnation,
	       sizeof(told.incarnation));
	core_confirm(engine->core, &told);
}

static void take_answer(struct engine *engine, const struct confirm *confirm)
{
	if (look_answer(engine, confirm))
		return;
	if (confirm->op == COMMAND_APPLY && confirm->result == -EEXIST)
		look_now(engine, confirm->node);
	if (confirm->op == COMMAND_REVOKE && confirm->result == 0)
		look_gone(engine, confirm->node, confirm->grant_id);
	switch (fanouts_answer(engine->fanouts, confirm)) {
	case FANOUT_TAKEN:
		return;
	case FANOUT_OVER:
		/* A lane that is gone is news all the same. */
		if (confirm->op == COMMAND_REVOKE && confirm->result == 0) {
			tell_confirmation(engine, confirm, 0);
			return;
		}
		break;
	case FANOUT_FOREIGN:
		break;
	}
	engine->counters.refusals[REFUSAL_STALE]++;
}

static void on_confirm(struct engine *engine, const struct frame *frame)
{
	struct confirm confirm;
	int result = confirm_open(engine->masters, engine->master_count,
				  frame->payload, frame->size, &confirm);

	if (result < 0) {
		engine->counters.refusals[session_refusal(result)]++;
		return;
	}
	if (confirm.op == 0 && confirm.result == 0)
		look_gone(engine, confirm.node, confirm.grant_id);
	if (confirm.op == 0 && confirm.sequence != 0)
		tell_confirmation(engine, &confirm, confirm.sequence);
	else if (confirm.op == 0)
		engine->counters.refusals[REFUSAL_MALFORMED]++;
	else
		take_answer(engine, &confirm);
	confirm_fini(&confirm);
}

static void on_frame(struct engine *engine, struct session *session,
		     const struct frame *frame)
{
	static const uint8_t pong = FRAME_PONG;

	switch (frame->type) {
	case FRAME_REGISTER:
		if (engine->core != NULL)
			session_register(engine, session, frame);
		break;
	case FRAME_CONFIRM:
		if (engine->core != NULL)
			on_confirm(engine, frame);
		break;
	case FRAME_PING:
		session_send(engine, session, &pong, sizeof(pong));
		break;
	case FRAME_PONG:
		break;
	case FRAME_CHALLENGE:
	case FRAME_COMMAND:
	case FRAME_REFUSE:
		session_reject(engine, session, REFUSAL_MALFORMED,
			       "that message is the manager's to send");
		break;
	}
}

void engine_node_received(struct engine *engine, uint64_t peer,
			  const void *bytes, size_t size)
{
	struct session *session = session_find(engine, peer);
	struct frame frame;

	if (session == NULL || session->is_refused)
		return;
	session->heard_ms = engine_now_ms(engine);
	if (frame_parse(bytes, size, &frame) == 0)
		on_frame(engine, session, &frame);
	else
		session_reject(engine, session, REFUSAL_MALFORMED,
			       "that is no message of the node protocol");
	fanouts_tick(engine->fanouts, engine_now_ms(engine));
	commit_flush(engine);
}

static void check_lease(struct engine *engine, struct session *session,
			uint64_t now_ms)
{
	static const uint8_t ping = FRAME_PING;

	if (session->is_refused)
		return;
	if (!session->is_registered) {
		if (engine->core != NULL &&
		    now_ms >= session->challenged_ms + ENGINE_CHALLENGE_MS)
			session_refuse(engine, session,
				       "the registration took too long");
		return;
	}
	if (now_ms >= session->heard_ms + ENGINE_LEASE_MS) {
		engine->counters.lease_count++;
		session_refuse(engine, session,
			       "nothing was heard for too "
			       "long");
		return;
	}
	if (now_ms >= session->heard_ms + ENGINE_PING_MS &&
	    now_ms >= session->pinged_ms + ENGINE_PING_MS) {
		session->pinged_ms = now_ms;
		session_send(engine, session, &ping, sizeof(ping));
	}
}

void session_tick(struct engine *engine, uint64_t now_ms)
{
	struct session *session;
	struct session *next;
	unsigned int budget = LOOKS_MAX;

	if (now_ms < engine->session_scan_ms)
		return;
	HASH_ITER (hh, engine->sessions, session, next) {
		check_lease(engine, session, now_ms);
		look_tick(engine, session, now_ms, &budget);
	}
	engine->session_scan_ms =
		engine->sessions == NULL ? DEADLINE_NONE : now_ms + SCAN_MS;
}

uint64_t session_deadline_ms(const struct engine *engine)
{
	return engine->session_scan_ms;
}

void session_fini(struct engine *engine)
{
	struct session *session;
	struct session *next;

	HASH_CLEAR(hh_node, engine->sessions_by_node);
	HASH_ITER (hh, engine->sessions, session, next) {
		HASH_DEL(engine->sessions, session);
		free(session);
	}
}
