/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is going to happen, in virtual nanoseconds, for simulations of millions
 * of events: nothing is allocated for one. An event is part of its owner's
 * struct and waits at most once; events of one moment run in the order in
 * which they were added.
 *
 * The memory of an event that has waited stays readable until the timeline is
 * destroyed, also after it was cancelled: its owner keeps it in a pool.
 *
 * One thread. When memory runs out, the process ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct transport_timeline;

/* Zero-initialised is one that does not wait. */
struct transport_timeline_event {
	void (*run)(struct transport_timeline_event *event);
	uint64_t order; /* the timeline's; 0: it does not wait */
};

struct transport_timeline *transport_timeline_create(void);
/* Events that wait are dropped. NULL is allowed. */
void transport_timeline_destroy(struct transport_timeline *timeline);
DEFINE_AUTO(struct transport_timeline, transport_timeline_destroy)

/* Run it at that moment, or now if that has passed. One that waits is moved. */
void transport_timeline_set(struct transport_timeline *timeline,
			    struct transport_timeline_event *event,
			    uint64_t at_ns);
/* It does not wait any more; no error when it did not. */
void transport_timeline_cancel(struct transport_timeline_event *event);

static inline bool transport_timeline_waits(
	const struct transport_timeline_event *event)
{
	return event->order != 0;
}

uint64_t transport_timeline_now_ns(const struct transport_timeline *timeline);
/*
 * It is that late now, of another clock that this one follows. What was due
 * before runs late; no way back.
 */
void transport_timeline_follow(struct transport_timeline *timeline,
			       uint64_t now_ns);
/* How many have run. */
uint64_t transport_timeline_count(const struct transport_timeline *timeline);
/* When the next one is due; DEADLINE_NONE. */
uint64_t transport_timeline_next_ns(struct transport_timeline *timeline);
/* Run the next one, which moves the time. False when there is none. */
bool transport_timeline_run(struct transport_timeline *timeline);
