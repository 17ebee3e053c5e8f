/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What only the guard knows, for clients: what each driver is like here, and
 * what is on the devices. Clients who wait together share one answer of the
 * guard, and those without privileges one of the last second, so that nobody
 * keeps the guard busy by asking often.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "lanes/node/agent/internal.h"

struct agent_waiter {
	uint64_t peer, id;
	uid_t uid;
	struct agent_waiter *next;
};

static bool is_fresh(const struct agent *agent, const struct waiters *waiters)
{
	return waiters->answered_ms != 0 &&
	       agent_now_ms(agent) - waiters->answered_ms < AGENT_FRESH_MS;
}

/* The first one asks the guard for all. -EAGAIN: too many wait; those of ask. */
static int wait_for(struct agent *agent, struct waiters *waiters,
		    int (*ask)(struct agent *agent), uint64_t peer, uint64_t id,
		    uid_t uid)
{
	size_t most = uid == 0 ? AGENT_WAITERS_MAX : AGENT_OTHERS_WAITERS_MAX;
	struct agent_waiter *waiter;
	int result = 0;

	if (waiters->count >= most)
		return -EAGAIN;
	if (!waiters->list)
		result = ask(agent);
	if (result < 0)
		return result;
	waiter = memory_alloc(sizeof(*waiter));
	*waiter = (struct agent_waiter){ .peer = peer, .id = id, .uid = uid };
	LL_APPEND(waiters->list, waiter);
	waiters->count++;
	return 0;
}

/* All that wait; the caller frees them. */
static struct agent_waiter *waiters_take(struct waiters *waiters)
{
	waiters->count = 0;
	return take_ptr(waiters->list);
}

/*
 * --- pages of objects: only the guard sees all, since some may be in a job's
 * network namespace ---
 */

struct listing {
	objects_fn *done;
	void *arg;
	uint64_t number;
	struct guard_object *list;
	size_t count;
	struct listing *prev, *next;
};

static void listing_free(struct agent *agent, struct listing *listing)
{
	DL_DELETE(agent->listings, listing);
	free(listing->list);
	free(listing);
}

static void listing_end(struct agent *agent, struct listing *listing,
			const struct fairlead_error *error)
{
	listing->done(agent, listing->arg, listing->number,
		      error ? NULL : listing->list, listing->count, error);
	listing_free(agent, listing);
}

static void page_take(struct listing *listing, const struct guard_reply *reply)
{
	listing->list = memory_resize(listing->list,
				      listing->count + reply->object_count,
				      sizeof(*listing->list));
	for (size_t i = 0; i < reply->object_count; i++)
		listing->list[listing->count++] = reply->objects[i];
}

static int page_ask(struct agent *agent, struct listing *listing);

static void page_done(struct agent *agent, void *arg,
		      const struct guard_reply *reply)
{
	struct listing *listing = arg;
	struct fairlead_error error;
	int result = reply->result;

	if (result < 0) {
		error_set(&error, result, "%s", reply->text);
	} else {
		page_take(listing, reply);
		if (reply->has_more)
			result = page_ask(agent, listing);
		if (result < 0)
			error_set(&error, result, "cannot ask the guard: %s",
				  strerror(-result));
	}
	if (result < 0 || !reply->has_more)
		listing_end(agent, listing, result < 0 ? &error : NULL);
}

static int page_ask(struct agent *agent, struct listing *listing)
{
	const struct guard_request request = {
		.type = GUARD_OBJECTS,
		.number = listing->count,
	};

	return agent_ask(agent, &request, page_done, listing);
}

int objects_ask(struct agent *agent, objects_fn *done, void *arg,
		uint64_t number)
{
	struct listing *listing = memory_alloc(sizeof(*listing));
	int result;

	*listing = (struct listing){
		.done = done,
		.arg = arg,
		.number = number,
	};
	DL_APPEND(agent->listings, listing);
	result = page_ask(agent, listing);
	if (result < 0)
		listing_free(agent, listing);
	return result;
}

/* --- drivers --- */

static void status_reply(struct agent *agent, uint64_t peer, uint64_t id,
			 uid_t uid)
{
	client_reply_view(agent, peer, id, view_status(agent, uid));
}

static void drivers_take(struct agent *agent, const struct guard_reply *reply)
{
	struct registration shown;

	if (reply->result < 0 ||
	    inventory_decode(reply->bytes, reply->size, &shown) < 0)
		return;
	memcpy(agent->drivers, shown.drivers,
	       shown.driver_count * sizeof(agent->drivers[0]));
	agent->driver_count = shown.driver_count;
	agent->driver_waiters.answered_ms = agent_now_ms(agent);
	registration_fini(&shown);
}

static void drivers_done(struct agent *agent, void *arg,
			 const struct guard_reply *reply)
{
	struct agent_waiter *waiters = waiters_take(&agent->driver_waiters);
	struct agent_waiter *waiter, *next;

	drivers_take(agent, reply);
	LL_FOREACH_SAFE (waiters, waiter, next) {
		status_reply(agent, waiter->peer, waiter->id, waiter->uid);
		free(waiter);
	}
}

int status_begin(struct agent *agent)
{
	struct guard_request request = { .type = GUARD_DRIVERS };

	return agent_ask(agent, &request, drivers_done, NULL);
}

void status_answer(struct agent *agent, uint64_t peer, uint64_t id, uid_t uid)
{
	struct waiters *waiters = &agent->driver_waiters;

	if ((uid != 0 && is_fresh(agent, waiters)) ||
	    wait_for(agent, waiters, status_begin, peer, id, uid) < 0)
		status_reply(agent, peer, id, uid);
}

/* --- objects --- */

static void objects_done(struct agent *agent, void *arg, uint64_t number,
			 const struct guard_object *list, size_t count,
			 const struct fairlead_error *error)
{
	struct agent_waiter *waiters = waiters_take(&agent->object_waiters);
	struct agent_waiter *waiter, *next;

	if (list) {
		free(agent->objects);
		agent->objects = memory_copy(list, count * sizeof(*list));
		agent->object_count = count;
		agent->object_waiters.answered_ms = agent_now_ms(agent);
	}
	LL_FOREACH_SAFE (waiters, waiter, next) {
		if (list)
			client_reply_view(agent, waiter->peer, waiter->id,
					  view_objects(agent, list, count));
		else
			client_refuse(agent, waiter->peer, waiter->id,
				      error->code, error->text, NULL);
		free(waiter);
	}
}

static int objects_begin(struct agent *agent)
{
	return objects_ask(agent, objects_done, NULL, 0);
}

void objects_answer(struct agent *agent, uint64_t peer, uint64_t id, uid_t uid)
{
	struct waiters *waiters = &agent->object_waiters;
	int result;

	if (uid != 0 && is_fresh(agent, waiters)) {
		client_reply_view(agent, peer, id,
				  view_objects(agent, agent->objects,
					       agent->object_count));
		return;
	}
	result = wait_for(agent, waiters, objects_begin, peer, id, uid);
	if (result < 0)
		client_refuse(agent, peer, id, result, "the guard is too busy",
			      NULL);
}

void status_fini(struct agent *agent)
{
	struct listing *listing, *listing_next;
	struct agent_waiter *waiter, *next;

	DL_FOREACH_SAFE (agent->listings, listing, listing_next)
		listing_free(agent, listing);
	LL_FOREACH_SAFE (agent->driver_waiters.list, waiter, next)
		free(waiter);
	LL_FOREACH_SAFE (agent->object_waiters.list, waiter, next)
		free(waiter);
	free(agent->objects);
}
