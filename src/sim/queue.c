/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A binary heap by moment, then by handle: handles rise, so that events of one
 * moment keep their order. Each event knows its place, for cancelling.
 */
#include "sim/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"

struct sim_event {
	uint64_t at_ms;
	uint64_t handle;
	size_t place; /* in the heap */
	sim_event_fn *run;
	void *ctx;
	UT_hash_handle hh;
};

struct sim_queue {
	struct sim_clock *clock;
	struct sim_event **heap;
	size_t count, capacity;
	uint64_t handle_last;
	struct sim_event *by_handle;
};

struct sim_queue *sim_queue_create(struct sim_clock *clock)
{
	struct sim_queue *queue = calloc(1, sizeof(*queue));

	if (queue == NULL)
		abort();
	queue->clock = clock;
	return queue;
}

void sim_queue_destroy(struct sim_queue *queue)
{
	if (queue == NULL)
		return;
	HASH_CLEAR(hh, queue->by_handle);
	for (size_t i = 0; i < queue->count; i++)
		free(queue->heap[i]);
	free(queue->heap);
	free(queue);
}

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_ms != b->at_ms ? a->at_ms < b->at_ms
				    : a->handle < b->handle;
}

static void put(struct sim_queue *queue, size_t place, struct sim_event *event)
{
	queue->heap[place] = event;
	event->place = place;
}

/* Move an event to where it belongs; its place may hold anything. */
static void sift(struct sim_queue *queue, size_t place, struct sim_event *event)
{
	size_t child;

	while (place > 0 && is_before(event, queue->heap[(place - 1) / 2])) {
		put(queue, place, queue->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	while ((child = 2 * place + 1) < queue->count) {
		if (child + 1 < queue->count &&
		    is_before(queue->heap[child + 1], queue->heap[child]))
			child++;
		if (!is_before(queue->heap[child], event))
			break;
		put(queue, place, queue->heap[child]);
		place = child;
	}
	put(queue, place, event);
}

static void take(struct sim_queue *queue, struct sim_event *event)
{
	struct sim_event *last = queue->heap[--queue->count];

	HASH_DEL(queue->by_handle, event);
	if (last != event)
		sift(queue, event->place, last);
}

uint64_t sim_queue_add(struct sim_queue *queue, uint64_t delay_ms,
		       sim_event_fn *run, void *ctx)
{
	struct sim_event *event = calloc(1, sizeof(*event));

	if (queue->count == queue->capacity) {
		queue->capacity =
			queue->capacity > 0 ? queue->capacity * 2 : 64;
		queue->heap = reallocarray(queue->heap, queue->capacity,
					   sizeof(queue->heap[0]));
	}
	if (event == NULL || queue->heap == NULL)
		abort();
	event->at_ms = queue->clock->monotonic_ms + delay_ms;
	event->handle = ++queue->handle_last;
	event->run = run;
	event->ctx = ctx;
	HASH_ADD(hh, queue->by_handle, handle, sizeof(event->handle), event);
	if (!hash_was_added(event))
		abort();
	queue->count++;
	sift(queue, queue->count - 1, event);
	return event->handle;
}

void sim_queue_cancel(struct sim_queue *queue, uint64_t handle)
{
	struct sim_event *event;

	HASH_FIND(hh, queue->by_handle, &handle, sizeof(handle), event);
	if (event == NULL)
		return;
	take(queue, event);
	free(event);
}

uint64_t sim_queue_now_ms(const struct sim_queue *queue)
{
	return queue->clock->monotonic_ms;
}

size_t sim_queue_count(const struct sim_queue *queue)
{
	return queue->count;
}

uint64_t sim_queue_next_ms(const struct sim_queue *queue)
{
	return queue->count > 0 ? queue->heap[0]->at_ms : DEADLINE_NONE;
}

bool sim_queue_run(struct sim_queue *queue)
{
	struct sim_event *event;
	sim_event_fn *run;
	void *ctx;

	if (queue->count == 0)
		return false;
	event = queue->heap[0];
	run = event->run;
	ctx = event->ctx;
	assert(event->at_ms >= queue->clock->monotonic_ms);
	sim_clock_advance(queue->clock,
			  event->at_ms - queue->clock->monotonic_ms);
	take(queue, event);
	free(event);
	run(ctx);
	return true;
}
