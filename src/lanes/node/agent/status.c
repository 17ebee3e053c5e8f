/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a driver is like on this node only the guard knows, which has it open with
 * privileges. It is asked for all who wait together, so that one request at a
 * time is there, whoever asks how often.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lanes/node/agent/internal.h"

struct agent_waiter {
	uint64_t peer, id;
	uid_t uid;
	struct agent_waiter *next;
};

static void answer(struct agent *agent, uint64_t peer, uint64_t id, uid_t uid)
{
	client_reply_view(agent, peer, id, view_status(agent, uid));
}

static void take(struct agent *agent, const struct guard_reply *reply)
{
	struct registration told;

	if (reply->result < 0 ||
	    inventory_decode(reply->bytes, reply->size, &told) < 0)
		return;
	memcpy(agent->drivers, told.drivers,
	       told.driver_count * sizeof(agent->drivers[0]));
	agent->driver_count = told.driver_count;
	agent->drivers_ms = agent_now_ms(agent);
	registration_fini(&told);
}

static void done(struct agent *agent, void *arg,
		 const struct guard_reply *reply)
{
	struct agent_waiter *waiters = agent->waiters;
	struct agent_waiter *waiter, *next;

	take(agent, reply);
	agent->waiters = NULL;
	agent->waiter_count = 0;
	LL_FOREACH_SAFE (waiters, waiter, next) {
		answer(agent, waiter->peer, waiter->id, waiter->uid);
		free(waiter);
	}
}

static int ask(struct agent *agent)
{
	struct guard_request request = { .type = GUARD_DRIVERS };

	return agent_ask(agent, &request, done, NULL);
}

int status_begin(struct agent *agent)
{
	return ask(agent);
}

static bool is_fresh(const struct agent *agent)
{
	return agent->drivers_ms != 0 &&
	       agent_now_ms(agent) - agent->drivers_ms < AGENT_FRESH_MS;
}

/* False: nobody is asked for it. */
static bool wait_for(struct agent *agent, uint64_t peer, uint64_t id, uid_t uid)
{
	struct agent_waiter *waiter;

	if ((uid != 0 && is_fresh(agent)) ||
	    !waiters_have_room(agent->waiter_count, uid))
		return false;
	waiter = calloc(1, sizeof(*waiter));
	if (!waiter)
		return false;
	*waiter = (struct agent_waiter){ .peer = peer, .id = id, .uid = uid };
	/* Who is first asks for all. */
	if (!agent->waiters && ask(agent) < 0) {
		free(waiter);
		return false;
	}
	LL_APPEND(agent->waiters, waiter);
	agent->waiter_count++;
	return true;
}

void status_answer(struct agent *agent, uint64_t peer, uint64_t id, uid_t uid)
{
	if (!wait_for(agent, peer, id, uid))
		answer(agent, peer, id, uid);
}

void status_fini(struct agent *agent)
{
	struct agent_waiter *waiter, *next;

	LL_FOREACH_SAFE (agent->waiters, waiter, next)
		free(waiter);
}
