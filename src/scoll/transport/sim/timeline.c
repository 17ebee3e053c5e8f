/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A heap of four children a node, by moment and then by order. An entry holds
 * its key, so that sifting touches no event. Moving or cancelling an event
 * leaves its entry behind: it is known by an order that the event has not got
 * any more.
 */
#include "scoll/transport/sim/timeline.h"

#include <stdlib.h>

#include "base/seam.h"

#define CHILDREN       4
#define CAPACITY_FIRST 1024

struct medium_entry {
	uint64_t at_ns;
	uint64_t order;
	struct transport_timeline_event *event;
};

struct transport_timeline {
	struct medium_entry *heap;
	size_t count, capacity;
	uint64_t order_last;
	uint64_t now_ns;
	uint64_t run_count;
};

struct transport_timeline *transport_timeline_create(void)
{
	struct transport_timeline *timeline = calloc(1, sizeof(*timeline));

	if (timeline == NULL)
		abort();
	return timeline;
}

void transport_timeline_destroy(struct transport_timeline *timeline)
{
	if (timeline == NULL)
		return;
	free(timeline->heap);
	free(timeline);
}

static bool is_before(const struct medium_entry *a,
		      const struct medium_entry *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void sift_up(struct transport_timeline *timeline, size_t index,
		    struct medium_entry entry)
{
	struct medium_entry *heap = timeline->heap;

	while (index > 0 && is_before(&entry, &heap[(index - 1) / CHILDREN])) {
		heap[index] = heap[(index - 1) / CHILDREN];
		index = (index - 1) / CHILDREN;
	}
	heap[index] = entry;
}

static void sift_down(struct transport_timeline *timeline,
		      struct medium_entry entry)
{
	struct medium_entry *heap = timeline->heap;
	size_t index = 0;

	for (;;) {
		size_t first = index * CHILDREN + 1;
		size_t least = first;

		if (first >= timeline->count)
			break;
		for (size_t i = first + 1;
		     i < first + CHILDREN && i < timeline->count; i++) {
			if (is_before(&heap[i], &heap[least]))
				least = i;
		}
		if (!is_before(&heap[least], &entry))
			break;
		heap[index] = heap[least];
		index = least;
	}
	heap[index] = entry;
}

static void drop_first(struct transport_timeline *timeline)
{
	timeline->count--;
	if (timeline->count > 0)
		sift_down(timeline, timeline->heap[timeline->count]);
}

void transport_timeline_set(struct transport_timeline *timeline,
			    struct transport_timeline_event *event,
			    uint64_t at_ns)
{
	struct medium_entry entry = {
		.at_ns = at_ns > timeline->now_ns ? at_ns : timeline->now_ns,
		.order = ++timeline->order_last,
		.event = event,
	};

	if (timeline->count == timeline->capacity) {
		timeline->capacity = timeline->capacity > 0
					     ? timeline->capacity * 2
					     : CAPACITY_FIRST;
		timeline->heap =
			reallocarray(timeline->heap, timeline->capacity,
				     sizeof(timeline->heap[0]));
		if (timeline->heap == NULL)
			abort();
	}
	event->order = entry.order;
	timeline->count++;
	sift_up(timeline, timeline->count - 1, entry);
}

void transport_timeline_cancel(struct transport_timeline_event *event)
{
	event->order = 0;
}

uint64_t transport_timeline_now_ns(const struct transport_timeline *timeline)
{
	return timeline->now_ns;
}

void transport_timeline_follow(struct transport_timeline *timeline,
			       uint64_t now_ns)
{
	if (timeline->now_ns < now_ns)
		timeline->now_ns = now_ns;
}

uint64_t transport_timeline_count(const struct transport_timeline *timeline)
{
	return timeline->run_count;
}

uint64_t transport_timeline_next_ns(struct transport_timeline *timeline)
{
	while (timeline->count > 0 &&
	       timeline->heap[0].event->order != timeline->heap[0].order)
		drop_first(timeline);
	return timeline->count > 0 ? timeline->heap[0].at_ns : DEADLINE_NONE;
}

bool transport_timeline_run(struct transport_timeline *timeline)
{
	struct transport_timeline_event *event;
	uint64_t at_ns = transport_timeline_next_ns(timeline);

	if (at_ns == DEADLINE_NONE)
		return false;
	event = timeline->heap[0].event;
	transport_timeline_follow(timeline, at_ns);
	timeline->run_count++;
	drop_first(timeline);
	event->order = 0;
	event->run(event);
	return true;
}
