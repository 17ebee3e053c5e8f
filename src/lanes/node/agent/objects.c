/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Only the guard sees all objects on the devices, since some may be in a job's
 * network namespace. It returns a page at a time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
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

void objects_fini(struct agent *agent)
{
	struct listing *listing, *next;

	DL_FOREACH_SAFE (agent->listings, listing, next)
		listing_free(agent, listing);
}
