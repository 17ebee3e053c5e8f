/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The link to the manager, to register and for confirmations. Authority is in
 * the messages, never in the link: what comes by it goes to the guard whoever
 * sent it, and only the guard says that the manager has greeted us. So nothing
 * here has to be believed, and whatever is lost with a link is made again on
 * the next one.
 *
 *	DOWN -> DIALING -> OPEN -> CHALLENGED -> UP -> DOWN
 *	           <------------------- IDLE <---/
 *
 * Once the manager has given us a lease, which it renews by collectives, the
 * link is closed when no confirmation is pending and the guard is idle. It is
 * dialed again for the next confirmation, or when the lease has run out.
 *
 * A manager that has read its journal again challenges the links that it has:
 * UP -> CHALLENGED.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "lanes/node/agent/internal.h"

static uint32_t pause_next(uint32_t pause_ms, uint32_t most_ms)
{
	return pause_ms < most_ms / 2 ? pause_ms * 2 : most_ms;
}

/* Half to one and a half of it, so that nodes do not come all at once. */
static uint64_t pause_spread(const struct agent *agent, uint32_t pause_ms)
{
	return pause_ms / 2 + rng_u64(&agent->options.rng) % (pause_ms + 1);
}

static void link_send(struct agent *agent, enum frame_type type,
		      const void *payload, size_t size)
{
	const struct net_seam *net = &agent->options.manager_net;
	struct writer frame = { 0 };

	if (type != FRAME_PING && type != FRAME_PONG)
		agent->link.used_ms = agent_now_ms(agent);
	frame_begin(&frame, type);
	write_bytes(&frame, payload, size);
	/* An unsent message is lost, as on any link, and is repeated later. */
	if (frame.result == 0)
		(void)net->ops->send(net->ctx, agent->link.peer, frame.data,
				     frame.size);
	writer_fini(&frame);
}

static void link_lost(struct agent *agent, const char *why)
{
	struct link *link = &agent->link;

	/* Once, and then again when it was up in between. */
	log_write(agent->options.log,
		  link->pause_ms == AGENT_DIAL_MS ? LOG_LEVEL_WARNING
						  : LOG_LEVEL_DEBUG,
		  "%s manager=%s error=\"%s\"",
		  link->state == LINK_UP ? "the manager is lost"
					 : "the manager cannot be reached",
		  agent->manager, why);
	if (!link->is_refused)
		snprintf(link->error, sizeof(link->error), "%s", why);
	link->state = LINK_DOWN;
	link->peer = 0;
	link->dial_ms =
		agent_now_ms(agent) + pause_spread(agent, link->pause_ms);
	link->pause_ms = pause_next(link->pause_ms, AGENT_DIAL_MS_MAX);
}

/* Leave it, and begin again after a pause. */
static void link_drop(struct agent *agent, const char *why)
{
	const struct net_seam *net = &agent->options.manager_net;

	log_debug(agent->options.log, "leaving the manager error=\"%s\"", why);
	net->ops->close(net->ctx, agent->link.peer);
	link_lost(agent, why);
}

static void link_dial(struct agent *agent)
{
	struct link *link = &agent->link;
	struct fairlead_error error;

	link->state = LINK_DIALING;
	if (agent->options.ops->dial(agent->options.ops_ctx, &link->peer,
				     &error) < 0)
		link_lost(agent, error.text);
}

void link_begin(struct agent *agent)
{
	agent->link.pause_ms = AGENT_DIAL_MS;
	agent->link.pending_ms = DEADLINE_NONE;
	agent->link.pending_pause_ms = AGENT_PENDING_MS;
	link_dial(agent);
}

/* --- the lease --- */

static void link_recalled(struct agent *agent)
{
	struct link *link = &agent->link;
	uint64_t dial_ms =
		agent_now_ms(agent) + pause_spread(agent, AGENT_DIAL_MS);

	if (link->state == LINK_IDLE)
		link->state = LINK_DOWN;
	else if (link->state != LINK_DOWN || link->dial_ms <= dial_ms)
		return;
	log_info(agent->options.log,
		 "the manager has started again manager=%s epoch=%llu",
		 agent->manager, (unsigned long long)agent->epoch);
	link->dial_ms = dial_ms;
}

void link_leased(struct agent *agent, uint32_t lease_s)
{
	struct link *link = &agent->link;

	link->seen_ms = agent_now_ms(agent);
	link->leased_ms = link->seen_ms + (uint64_t)lease_s * 1000;
	/* Another manager has begun: it does not know yet that we are here. */
	if (link->epoch != agent->epoch)
		link_recalled(agent);
}

void link_moved(struct agent *agent)
{
	const struct net_seam *net = &agent->options.manager_net;
	struct link *link = &agent->link;

	if (link->state == LINK_UP)
		net->ops->close(net->ctx, link->peer);
	else if (link->state != LINK_IDLE)
		return; /* it is about to register */
	log_warning(agent->options.log,
		    "this node has other addresses for lanes than it reported "
		    "to the "
		    "manager: it registers again manager=%s",
		    agent->manager);
	link->peer = 0;
	link->state = LINK_DOWN;
	link->dial_ms =
		agent_now_ms(agent) + pause_spread(agent, AGENT_DIAL_MS);
}

/* When the link is to be closed, as things are. */
static uint64_t idle_ms(const struct agent *agent)
{
	const struct link *link = &agent->link;
	uint64_t when_ms = link->used_ms + AGENT_IDLE_MS;

	if (agent->pending_count > 0 || agent->command_count > 0 ||
	    works_await_drain(agent) || when_ms >= link->leased_ms)
		return DEADLINE_NONE;
	return when_ms;
}

static void link_rest(struct agent *agent)
{
	const struct net_seam *net = &agent->options.manager_net;
	struct link *link = &agent->link;

	net->ops->close(net->ctx, link->peer);
	link->state = LINK_IDLE;
	link->peer = 0;
}

static void link_return(struct agent *agent)
{
	struct link *link = &agent->link;

	if (agent->pending_count > 0) {
		link_dial(agent);
		return;
	}
	/* The manager is silent to all the others, too. */
	log_warning(agent->options.log,
		    "the lease has expired without a message manager=%s",
		    agent->manager);
	link->state = LINK_DOWN;
	link->dial_ms =
		agent_now_ms(agent) + pause_spread(agent, AGENT_RETURN_MS);
}

/* --- pending confirmations --- */

static void pending_done(struct agent *agent, void *arg,
			 const struct guard_reply *reply)
{
	struct link *link = &agent->link;
	uint64_t now_ms = agent_now_ms(agent);

	link->pending_is_asked = false;
	if (reply->result == 0) {
		if (link->state == LINK_UP)
			link_send(agent, FRAME_CONFIRM, reply->bytes,
				  reply->size);
		link->pending_cursor = reply->sequence;
		link->pending_ms = now_ms;
		return;
	}
	/* All were sent: again, as long as any is pending. */
	link->pending_cursor = 0;
	link->pending_ms = agent->pending_count > 0
				   ? now_ms + link->pending_pause_ms
				   : DEADLINE_NONE;
	link->pending_pause_ms =
		pause_next(link->pending_pause_ms, AGENT_PENDING_MS_MAX);
}

static void pending_tick(struct agent *agent)
{
	struct link *link = &agent->link;
	uint64_t now_ms = agent_now_ms(agent);
	struct guard_request request = {
		.type = GUARD_PENDING,
		.number = link->pending_cursor,
	};

	if (link->state != LINK_UP || link->pending_is_asked ||
	    link->pending_ms > now_ms)
		return;
	link->pending_is_asked =
		agent_ask(agent, &request, pending_done, NULL) == 0;
	if (!link->pending_is_asked)
		link->pending_ms = now_ms + link->pending_pause_ms;
}

/* From the first one on, without a pause. */
static void pending_restart(struct agent *agent)
{
	agent->link.pending_cursor = 0;
	agent->link.pending_pause_ms = AGENT_PENDING_MS;
	agent->link.pending_ms =
		agent->pending_count > 0 ? agent_now_ms(agent) : DEADLINE_NONE;
}

void link_pending(struct agent *agent, uint32_t before)
{
	struct link *link = &agent->link;

	/* New entries come last; a walk that is under way reaches them. */
	if (agent->pending_count > before) {
		link->pending_pause_ms = AGENT_PENDING_MS;
		link->pending_ms = agent_now_ms(agent);
	}
}

/* --- registration --- */

void link_greeted(struct agent *agent)
{
	const struct agent_options *options = &agent->options;
	struct link *link = &agent->link;

	if (link->state != LINK_CHALLENGED)
		return;
	log_info(agent->options.log, "registered manager=%s epoch=%llu",
		 agent->manager, (unsigned long long)agent->epoch);
	link->state = LINK_UP;
	link->epoch = agent->epoch;
	/* It tells us again when we are. */
	agent->is_drained = false;
	agent->drain_reason[0] = 0;
	link->pause_ms = AGENT_DIAL_MS;
	link->is_refused = false;
	link->error[0] = 0;
	if (options->ops->returned && agent_now_ms(agent) >= link->leased_ms)
		options->ops->returned(options->ops_ctx);
	pending_restart(agent);
}

static void register_done(struct agent *agent, void *arg,
			  const struct guard_reply *reply)
{
	struct link *link = &agent->link;

	/* It answers the challenge of an earlier link while others wait. */
	if (--link->register_count > 0 || link->state != LINK_CHALLENGED)
		return;
	if (reply->result < 0) {
		log_error(agent->options.log,
			  "cannot register error=\"%s\" reason=\"%s\"",
			  strerror(-reply->result), reply->text);
		link_drop(agent, "cannot make a registration");
		return;
	}
	link_send(agent, FRAME_REGISTER, reply->bytes, reply->size);
}

static void challenged(struct agent *agent, const struct frame *frame)
{
	struct guard_request request = {
		.type = GUARD_REGISTER,
		.bytes = agent->options.address,
		.size = agent->options.address_size,
	};
	struct challenge challenge;
	int result = challenge_decode(frame->payload, frame->size, &challenge);

	if (result < 0) {
		link_drop(agent,
			  result == -EPROTONOSUPPORT
				  ? "the manager speaks another version of the "
				    "node protocol; install the same version"
				  : "the manager's challenge cannot be read");
		return;
	}
	memcpy(request.nonce, challenge.nonce, NONCE_SIZE);
	if (agent_ask(agent, &request, register_done, NULL) < 0) {
		link_drop(agent, "the guard is too busy to register");
		return;
	}
	agent->link.register_count++;
	agent->link.state = LINK_CHALLENGED;
	agent->link.greet_ms = agent_now_ms(agent) + AGENT_GREET_MS;
}

static void refused(struct agent *agent, const struct frame *frame)
{
	struct link *link = &agent->link;
	struct refuse refuse;

	if (refuse_decode(frame->payload, frame->size, &refuse) < 0)
		return;
	if (!link->is_refused || strcmp(link->error, refuse.text) != 0)
		log_warning(agent->options.log,
			    "the manager refuses this node manager=%s "
			    "reason=\"%s\"",
			    agent->manager, refuse.text);
	link->is_refused = true;
	snprintf(link->error, sizeof(link->error), "%s", refuse.text);
}

/*
 * Is it a command of the link, which follows a registration? Malformed ones go
 * to the guard too, which logs the reason.
 */
static bool is_of_link(const struct frame *frame)
{
	struct command command;

	if (frame->size < COMMAND_HEADER_SIZE ||
	    command_header_read(frame->payload, &command) < 0)
		return true;
	return command.op == COMMAND_HELLO || command.op == COMMAND_ACK ||
	       command.op == COMMAND_DRAIN;
}

/* --- events --- */

void agent_manager_opened(struct agent *agent, uint64_t peer)
{
	struct link *link = &agent->link;

	if (link->state != LINK_DIALING || link->peer != peer)
		return;
	link->state = LINK_OPEN;
	link->seen_ms = agent_now_ms(agent);
	link->pinged_ms = link->seen_ms;
	link->greet_ms = link->seen_ms + AGENT_GREET_MS;
}

void agent_manager_received(struct agent *agent, uint64_t peer,
			    const void *bytes, size_t size)
{
	struct link *link = &agent->link;
	struct frame frame;

	if (link->peer != peer || link->state < LINK_OPEN)
		return;
	if (frame_parse(bytes, size, &frame) < 0) {
		link_drop(agent, "the manager sent what is no message");
		return;
	}
	link->seen_ms = agent_now_ms(agent);
	if (frame.type != FRAME_PING && frame.type != FRAME_PONG)
		link->used_ms = link->seen_ms;
	switch (frame.type) {
	case FRAME_CHALLENGE:
		challenged(agent, &frame);
		break;
	case FRAME_COMMAND:
		if (!is_of_link(&frame)) {
			link_drop(agent, "the manager sent what comes by "
					 "collectives");
			break;
		}
		/* Drop it: the sender repeats it. */
		(void)commands_take(agent, frame.payload, frame.size, NULL);
		break;
	case FRAME_PING:
		link_send(agent, FRAME_PONG, NULL, 0);
		break;
	case FRAME_REFUSE:
		refused(agent, &frame);
		break;
	case FRAME_PONG:
		break;
	case FRAME_REGISTER:
	case FRAME_CONFIRM:
		link_drop(agent, "the manager sent what only nodes send");
		break;
	}
}

void agent_manager_closed(struct agent *agent, uint64_t peer, int reason)
{
	if (agent->link.peer == peer && agent->link.state != LINK_DOWN)
		link_lost(agent, reason < 0 ? strerror(-reason)
					    : "the manager closed the link");
}

static uint64_t ping_ms(const struct link *link)
{
	uint64_t quiet_ms = link->seen_ms > link->pinged_ms ? link->seen_ms
							    : link->pinged_ms;

	return quiet_ms + AGENT_PING_MS;
}

uint64_t link_deadline_ms(const struct agent *agent)
{
	const struct link *link = &agent->link;

	switch (link->state) {
	case LINK_DOWN:
		return link->dial_ms;
	case LINK_IDLE:
		return agent->pending_count > 0 ? 0 : link->leased_ms;
	case LINK_DIALING:
		return DEADLINE_NONE;
	case LINK_OPEN:
	case LINK_CHALLENGED:
		return link->greet_ms;
	case LINK_UP:
		break;
	}
	return deadline_min(
		deadline_min(deadline_min(ping_ms(link), idle_ms(agent)),
			     link->seen_ms + AGENT_LEASE_MS),
		link->pending_is_asked ? DEADLINE_NONE : link->pending_ms);
}

void link_tick(struct agent *agent)
{
	struct link *link = &agent->link;
	uint64_t now_ms = agent_now_ms(agent);

	if (link->state == LINK_DOWN && now_ms >= link->dial_ms)
		link_dial(agent);
	else if ((link->state == LINK_OPEN || link->state == LINK_CHALLENGED) &&
		 now_ms >= link->greet_ms)
		link_drop(agent, "the manager did not greet in time");
	else if (link->state == LINK_UP &&
		 now_ms >= link->seen_ms + AGENT_LEASE_MS)
		link_drop(agent, "the manager sent nothing in time");
	else if (link->state == LINK_UP && now_ms >= idle_ms(agent))
		link_rest(agent);
	else if (link->state == LINK_IDLE &&
		 (agent->pending_count > 0 || now_ms >= link->leased_ms))
		link_return(agent);
	if (link->state != LINK_UP)
		return;
	if (now_ms >= ping_ms(link)) {
		link_send(agent, FRAME_PING, NULL, 0);
		link->pinged_ms = now_ms;
	}
	pending_tick(agent);
}
