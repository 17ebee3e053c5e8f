/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is on the devices only the guard can see as a whole, since some of it may
 * be in a job's network namespace. It shows a page at a time. Clients who wait
 * together share what it says, and those without privileges what it has just said,
 * so that nobody keeps it busy by asking often.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "lanes/node/agent/internal.h"

struct listing {
	objects_fn *done;
	void *arg;
	uint64_t number;
	struct guard_object *list;
	size_t count;
	struct listing *prev, *next;
};

/* --- pages --- */

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

static int page_take(struct listing *listing, const struct guard_reply *reply)
{
	size_t count = listing->count + reply->object_count;
	struct guard_object *list =
		reallocarray(listing->list, count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < reply->object_count; i++)
		list[listing->count + i] = reply->objects[i];
	listing->list = list;
	listing->count = count;
	return 0;
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
		result = page_take(listing, reply);
		if (result == 0 && reply->has_more)
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
	struct listing *listing = calloc(1, sizeof(*listing));
	int result;

	if (!listing)
		return -ENOMEM;
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

/* --- clients --- */

struct object_waiter {
	uint64_t peer, id;
	struct object_waiter *next;
};

static void shown_keep(struct agent *agent, const struct guard_object *list,
		       size_t count)
{
	struct guard_object *kept = calloc(count + 1, sizeof(*kept));

	if (!kept)
		return;
	memcpy(kept, list, count * sizeof(*kept));
	free(agent->objects);
	agent->objects = kept;
	agent->object_count = count;
	agent->objects_ms = agent_now_ms(agent);
}

static void clients_answer(struct agent *agent, void *arg, uint64_t number,
			   const struct guard_object *list, size_t count,
			   const struct fairlead_error *error)
{
	struct object_waiter *waiters = agent->object_waiters;
	struct object_waiter *waiter, *next;

	agent->object_waiters = NULL;
	agent->object_waiter_count = 0;
	if (list)
		shown_keep(agent, list, count);
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

static int wait_for(struct agent *agent, uint64_t peer, uint64_t id, uid_t uid)
{
	struct object_waiter *waiter;
	int result = 0;

	if (!waiters_have_room(agent->object_waiter_count, uid))
		return -EAGAIN;
	waiter = calloc(1, sizeof(*waiter));
	if (!waiter)
		return -ENOMEM;
	*waiter = (struct object_waiter){ .peer = peer, .id = id };
	/* Who is first asks for all. */
	if (!agent->object_waiters)
		result = objects_ask(agent, clients_answer, NULL, 0);
	if (result < 0) {
		free(waiter);
		return result;
	}
	LL_APPEND(agent->object_waiters, waiter);
	agent->object_waiter_count++;
	return 0;
}

void objects_answer(struct agent *agent, uint64_t peer, uint64_t id, uid_t uid)
{
	bool is_fresh =
		agent->objects &&
		agent_now_ms(agent) - agent->objects_ms < AGENT_FRESH_MS;
	int result;

	if (uid != 0 && is_fresh) {
		client_reply_view(agent, peer, id,
				  view_objects(agent, agent->objects,
					       agent->object_count));
		return;
	}
	result = wait_for(agent, peer, id, uid);
	if (result < 0)
		client_refuse(agent, peer, id, result, "the guard is too busy",
			      NULL);
}

void objects_fini(struct agent *agent)
{
	struct object_waiter *waiter, *next_waiter;
	struct listing *listing, *next_listing;

	DL_FOREACH_SAFE (agent->listings, listing, next_listing)
		listing_free(agent, listing);
	LL_FOREACH_SAFE (agent->object_waiters, waiter, next_waiter)
		free(waiter);
	free(agent->objects);
}
