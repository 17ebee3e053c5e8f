/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is going to happen, in virtual time: events that wait for their moment
 * on the simulated clock. Running one moves the clock to its moment; events of
 * one moment run in the order in which they were added. Nothing ever waits.
 *
 *	sim_queue_create -> (sim_queue_add, sim_queue_run)* -> sim_queue_destroy
 *
 * One thread. When memory runs out, the process ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "sim/clock.h"

struct sim_queue;

typedef void sim_event_fn(void *ctx);

/* clock has to outlive the queue, which alone moves it. */
struct sim_queue *sim_queue_create(struct sim_clock *clock);
/* Events that wait are dropped. NULL is allowed. */
void sim_queue_destroy(struct sim_queue *queue);
DEFINE_AUTO(struct sim_queue, sim_queue_destroy)

/* Run run(ctx) in delay_ms from now. The handle is never 0 and never reused. */
uint64_t sim_queue_add(struct sim_queue *queue, uint64_t delay_ms,
		       sim_event_fn *run, void *ctx);
/* It has run, was cancelled, or is 0: no error. */
void sim_queue_cancel(struct sim_queue *queue, uint64_t handle);

uint64_t sim_queue_now_ms(const struct sim_queue *queue);
size_t sim_queue_count(const struct sim_queue *queue);
/* When the next one is due on the monotonic clock; DEADLINE_NONE. */
uint64_t sim_queue_next_ms(const struct sim_queue *queue);
/* Run the next one. False when there is none. */
bool sim_queue_run(struct sim_queue *queue);
