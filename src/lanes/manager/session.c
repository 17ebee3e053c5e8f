/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes' connections (doc/rfc/node-protocol.md). A connection is challenged,
 * registers once with that nonce (register.c), and is greeted once the
 * registration is on disk. It serves for that, for confirmations and for
 * notices; the node closes it when idle, and stays up (live.h).
 *
 * Authority is in the messages: a confirmation counts by its MAC, whatever
 * connection it came on. What is forged, or answers nothing, is counted and
 * dropped; only a registration that fails costs the connection.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "lanes/manager/commit.h"
#include "lanes/manager/poll.h"
#include "lanes/manager/session.h"
#include "lanes/manager/live.h"

#define SCAN_MS 1000 /* between looks at all of them */

static struct session *session_find(const struct engine *engine, uint64_t peer)
{
	struct session *session;

	HASH_FIND(hh, engine->sessions, &peer, sizeof(peer), session);
	return session;
}

static void session_send(struct engine *engine, struct session *session,
			 const void *frame, size_t size)
{
	/* An unsent message is requested again, or the node reconnects. */
	engine->nodes_net.ops->send(engine->nodes_net.ctx, session->peer, frame,
				    size);
}

static void send_frame(struct engine *engine, struct session *session,
		       struct writer *frame)
{
	session_send(engine, session, frame->data, frame->size);
	writer_fini(frame);
}

void session_seal(struct engine *engine, struct command *command,
		  struct writer *writer)
{
	command->version = WIRE_VERSION;
	command->epoch = engine->epoch;
	command->life = engine->life;
	command->sequence = ++engine->sequence;
	engine->counters.command_count++;
	memory_check(command_seal(&engine->command_key, command, writer));
}

void session_command(struct engine *engine, const struct live_node *live,
		     enum command_op op, struct writer *body)
{
	struct command command = {
		.op = (uint8_t)op,
		.body = body->data,
		.body_size = body->size,
	};
	struct writer frame = { 0 };

	frame_begin(&frame, FRAME_COMMAND);
	session_seal(engine, &command, &frame);
	send_frame(engine, live->session, &frame);
	writer_fini(body);
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

void session_refuse(struct engine *engine, struct session *session,
		    const char *text)
{
	struct refuse refuse = { 0 };
	struct writer frame = { 0 };

	snprintf(refuse.text, sizeof(refuse.text), "%s", text);
	frame_begin(&frame, FRAME_REFUSE);
	memory_check(refuse_encode(&refuse, &frame));
	send_frame(engine, session, &frame);
	live_unlink(session);
	session_wait_end(engine, session);
	engine->session_count -= !session->is_refused;
	session->is_refused = true;
	engine->nodes_net.ops->close(engine->nodes_net.ctx, session->peer);
}

static void challenge(struct engine *engine, struct session *session)
{
	struct challenge challenge = {
		.version = WIRE_VERSION,
	};
	struct writer frame = { 0 };

	rng_fill(&engine->rng, session->nonce, sizeof(session->nonce));
	memcpy(challenge.nonce, session->nonce, sizeof(challenge.nonce));
	session->is_challenged = true;
	session->challenge = ++engine->challenge_last;
	wait_begin(engine, session);
	session->challenged_ms = engine_now_ms(engine);
	frame_begin(&frame, FRAME_CHALLENGE);
	memory_check(challenge_encode(&challenge, &frame));
	send_frame(engine, session, &frame);
}

void session_challenge_all(struct engine *engine)
{
	struct session *session;
	struct session *next;

	live_clear(engine);
	HASH_ITER (hh, engine->sessions, session, next) {
		if (!session->is_refused)
			challenge(engine, session);
	}
}

/* Once: endless connection attempts must not fill the log. */
static void log_full(struct engine *engine, const char *address)
{
	if (engine->is_full_logged)
		return;
	engine->is_full_logged = true;
	log_warning(engine->log,
		    "a connection of a node is refused, for the limit of "
		    "descriptors; logged once connected=%zu address=%s "
		    "hint=\"raise LimitNOFILE in the unit, or 'ulimit -n'\"",
		    engine->session_count, address);
}

void engine_node_opened(struct engine *engine, uint64_t peer,
			const char *address)
{
	struct session *session = NULL;

	if (engine->session_count >= engine->sessions_max &&
	    engine->waiting != NULL)
		session_reject(engine, engine->waiting, REFUSAL_CROWDED,
			       "no registration in time while others waited");
	if (engine->session_count < engine->sessions_max)
		session = memory_alloc(sizeof(*session));
	else
		log_full(engine, address);
	if (session == NULL) {
		engine->nodes_net.ops->close(engine->nodes_net.ctx, peer);
		return;
	}
	session->peer = peer;
	HASH_ADD(hh, engine->sessions, peer, sizeof(session->peer), session);
	memory_have(session->hh.tbl);
	session->seen_ms = engine_now_ms(engine);
	session->challenged_ms = session->seen_ms;
	snprintf(session->address, sizeof(session->address), "%s", address);
	engine->session_count++;
	wait_begin(engine, session);
	if (engine->session_scan_ms == DEADLINE_NONE)
		engine->session_scan_ms = session->seen_ms + SCAN_MS;
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
	live_unlink(session);
	session_wait_end(engine, session);
	engine->session_count -= !session->is_refused;
	HASH_DEL(engine->sessions, session);
	free(session);
	commit_flush(engine);
}

void session_drain(struct engine *engine, const char *node, bool is_drained,
		   const char *reason)
{
	const struct live_node *live = live_find(engine, node);
	struct drain_body body = { .is_drained = is_drained };
	struct writer writer = { .limit = FRAME_SIZE_MAX };

	if (live == NULL || live->session == NULL)
		return;
	snprintf(body.node, sizeof(body.node), "%s", node);
	snprintf(body.reason, sizeof(body.reason), "%s", reason);
	memory_check(drain_body_encode(&body, &writer));
	session_command(engine, live, COMMAND_DRAIN, &writer);
}

static void greeted(struct engine *engine, struct live_node *live)
{
	const char *reason = core_node_drained(engine->core, live->name);

	live->is_greeted = true;
	poll_begin(engine, live);
	if (reason != NULL)
		session_drain(engine, live->name, true, reason);
	fanouts_node_up(engine->fanouts, live->name);
}

void session_hello(struct engine *engine, uint64_t peer, const char *node,
		   const uint8_t nonce[NONCE_SIZE])
{
	struct session *session = session_find(engine, peer);
	struct hello_body body = { 0 };
	struct writer writer = { 0 };

	if (session == NULL || session->live == NULL)
		return;
	memcpy(body.nonce, nonce, sizeof(body.nonce));
	memcpy(body.cluster, engine->keys.cluster, sizeof(body.cluster));
	snprintf(body.node, sizeof(body.node), "%s", node);
	memory_check(hello_body_encode(&body, &writer));
	session_command(engine, session->live, COMMAND_HELLO, &writer);
	greeted(engine, session->live);
}

static void take_confirmation(struct engine *engine,
			      const struct confirm *confirm)
{
	struct core_confirmation confirmation = {
		.node = confirm->node,
		.grant_id = confirm->grant_id,
		.sequence = confirm->sequence,
		.result = confirm->result,
		.text = confirm->reason,
	};

	memcpy(confirmation.incarnation, confirm->incarnation,
	       sizeof(confirmation.incarnation));
	if (confirm->result == 0)
		poll_gone(engine, confirm->node, confirm->grant_id);
	core_confirm(engine->core, &confirmation);
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
	if (confirm.op == 0 && confirm.sequence != 0)
		take_confirmation(engine, &confirm);
	else
		engine->counters.refusals[confirm.op == 0 ? REFUSAL_MALFORMED
							  : REFUSAL_STALE]++;
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
	session->seen_ms = engine_now_ms(engine);
	if (session->live != NULL)
		session->live->seen_ms = session->seen_ms;
	if (frame_parse(bytes, size, &frame) == 0)
		on_frame(engine, session, &frame);
	else
		session_reject(engine, session, REFUSAL_MALFORMED,
			       "that is no message of the node protocol");
	fanouts_tick(engine->fanouts, engine_now_ms(engine));
	commit_flush(engine);
}

static void check(struct engine *engine, struct session *session,
		  uint64_t now_ms)
{
	static const uint8_t ping = FRAME_PING;

	if (session->is_refused)
		return;
	if (session->live == NULL) {
		if (engine->core != NULL &&
		    now_ms >= session->challenged_ms + ENGINE_CHALLENGE_MS)
			session_refuse(engine, session,
				       "the registration took too long");
		return;
	}
	if (now_ms >= session->seen_ms + ENGINE_SILENCE_MS) {
		session_refuse(engine, session,
			       "no message from the node for too long");
		return;
	}
	if (now_ms >= session->seen_ms + ENGINE_PING_MS &&
	    now_ms >= session->pinged_ms + ENGINE_PING_MS) {
		session->pinged_ms = now_ms;
		session_send(engine, session, &ping, sizeof(ping));
	}
}

void session_tick(struct engine *engine, uint64_t now_ms)
{
	struct session *session;
	struct session *next;

	if (now_ms < engine->session_scan_ms)
		return;
	HASH_ITER (hh, engine->sessions, session, next)
		check(engine, session, now_ms);
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

	HASH_ITER (hh, engine->sessions, session, next) {
		HASH_DEL(engine->sessions, session);
		free(session);
	}
}
