/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers from their call to their end, and the buffers that wait for
 * replies, in a hash table by port and tag.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scoll/transport/sim/internal.h"

#define WORKS_IN_CHUNK 256
#define POSTS_FIRST    256

static size_t bucket_of(const struct transport_sim *sim,
			const struct transport_sim_port *port, uint64_t tag)
{
	uint64_t hash = (tag ^ port->index << 40) * 0x9e3779b97f4a7c15u;

	return hash >> 24 & (sim->post_capacity - 1);
}

static void posts_grow(struct transport_sim *sim)
{
	struct medium_work **old = sim->posts;
	size_t old_capacity = sim->post_capacity;

	sim->post_capacity = old_capacity > 0 ? old_capacity * 2 : POSTS_FIRST;
	sim->posts = calloc(sim->post_capacity, sizeof(sim->posts[0]));
	if (sim->posts == NULL)
		abort();
	for (size_t i = 0; i < old_capacity; i++) {
		struct medium_work *next;

		for (struct medium_work *work = old[i]; work != NULL;
		     work = next) {
			size_t bucket = bucket_of(sim, work->port, work->tag);

			next = work->chain;
			work->chain = sim->posts[bucket];
			sim->posts[bucket] = work;
		}
	}
	free(old);
}

static void post_add(struct transport_sim *sim, struct medium_work *work)
{
	size_t bucket;

	if (sim->post_count >= sim->post_capacity)
		posts_grow(sim);
	bucket = bucket_of(sim, work->port, work->tag);
	work->chain = sim->posts[bucket];
	sim->posts[bucket] = work;
	sim->post_count++;
}

static void post_remove(struct transport_sim *sim, struct medium_work *work)
{
	struct medium_work **at =
		&sim->posts[bucket_of(sim, work->port, work->tag)];

	while (*at != work)
		at = &(*at)->chain;
	*at = work->chain;
	sim->post_count--;
	work->is_matched = true;
}

static struct medium_work *work_alloc(struct transport_sim *sim)
{
	struct medium_work *work = sim->works_free;

	if (work == NULL) {
		work = transport_sim_chunk(sim, WORKS_IN_CHUNK * sizeof(*work));
		for (size_t i = 0; i < WORKS_IN_CHUNK; i++)
			LL_PREPEND(sim->works_free, &work[i]);
		work = sim->works_free;
	}
	LL_DELETE(sim->works_free, work);
	return work;
}

static uint32_t *use_of(struct transport_sim_port *port,
			enum medium_work_kind kind)
{
	if (kind == WORK_POST)
		return &port->use.posts;
	return kind == WORK_READ ? &port->use.reads : &port->use.sends;
}

struct medium_work *transport_sim_work_start(struct transport_sim_port *port,
					     enum medium_work_kind kind,
					     struct transfer *transfer)
{
	struct transport_sim *sim = port->sim;
	uint32_t under_way =
		kind == WORK_READ ? port->use.reads : port->use.sends;
	struct medium_work *work;

	assert(port->is_open);
	/* A member that gets -EAGAIN has something to wait for. */
	if (kind != WORK_POST && under_way > 0 && !port->is_severed) {
		if (kind == WORK_SEND && sim->options.window > 0 &&
		    under_way >= sim->options.window) {
			transport_sim_count(sim, TRANSPORT_SIM_FULL);
			return NULL;
		}
		if (transport_sim_chance(sim, TRANSPORT_SIM_FULL))
			return NULL;
	}
	work = work_alloc(sim);
	work->kind = kind;
	work->port = port;
	work->transfer = transfer;
	work->result = 0;
	work->size = 0;
	work->is_matched = false;
	work->remote = NULL;
	work->is_answered = false;
	transfer->scratch[0] = (uintptr_t)work;
	DL_APPEND(port->works, work);
	(*use_of(port, kind))++;
	return work;
}

void transport_sim_work_drop(struct medium_work *work)
{
	struct transport_sim_port *port = work->port;

	if (work->kind == WORK_POST && !work->is_matched)
		post_remove(port->sim, work);
	transport_sim_answer_end(work);
	(*use_of(port, work->kind))--;
	free(work->remote);
	transport_timeline_cancel(&work->event);
	DL_DELETE(port->works, work);
	LL_PREPEND(port->sim->works_free, work);
}

/* The end: the work is free before the member is notified. */
static void finish(struct transport_timeline_event *event)
{
	struct medium_work *work = (struct medium_work *)event;
	struct transport_sim_port *port = work->port;
	struct transport_sim *sim = port->sim;
	uint64_t now_ns = transport_timeline_now_ns(sim->timeline);
	struct transfer *transfer = work->transfer;
	int result = work->result;
	size_t size = work->size;

	if (port->paused_ns > now_ns) {
		transport_timeline_set(sim->timeline, event, port->paused_ns);
		return;
	}
	transport_sim_mix(sim, now_ns);
	transport_sim_mix(sim, port->nid ^ (uint64_t)work->kind << 56);
	transport_sim_mix(sim, size << 16 ^ (uint32_t)result);
	transport_sim_work_drop(work);
	port->events->done(port->ctx, now_ns, transfer, result, size);
}

void transport_sim_work_end(struct medium_work *work, uint64_t at_ns,
			    int result, size_t size)
{
	work->event.run = finish;
	work->result = result;
	work->size = size;
	if (!work->port->is_severed)
		transport_timeline_set(work->port->sim->timeline, &work->event,
				       at_ns);
}

int transport_sim_reply_post(void *ctx, scoll_nid_t from, uint64_t tag,
			     const struct iovec *pieces, int count,
			     struct transfer *transfer)
{
	struct transport_sim_port *port = ctx;
	struct medium_work *work;

	assert(tag <= TRANSPORT_TAG_MAX && count <= TRANSPORT_IOV_MAX);
	work = transport_sim_work_start(port, WORK_POST, transfer);
	work->tag = tag;
	memcpy(work->pieces, pieces, (size_t)count * sizeof(*pieces));
	work->count = count;
	post_add(port->sim, work);
	return 0;
}

static void cancelled_late(struct transport_timeline_event *event)
{
	struct medium_work *work = (struct medium_work *)event;

	post_remove(work->port->sim, work);
	work->result = -ECANCELED;
	event->run = finish; /* the member may be paused */
	finish(event);
}

void transport_sim_cancel(void *ctx, struct transfer *transfer)
{
	struct transport_sim_port *port = ctx;
	struct transport_sim *sim = port->sim;
	struct medium_work *work =
		(struct medium_work *)(uintptr_t)transfer->scratch[0];
	uint64_t now_ns = transport_timeline_now_ns(sim->timeline);

	assert(work->transfer == transfer && work->port == port);
	assert(work->kind == WORK_POST);
	sim->stats.cancels++;
	if (work->is_matched || transport_timeline_waits(&work->event))
		return;
	if (transport_sim_chance(sim, TRANSPORT_SIM_KEPT)) {
		work->event.run = cancelled_late;
		transport_timeline_set(sim->timeline, &work->event,
				       now_ns + transport_sim_held_ns(sim));
		return;
	}
	post_remove(sim, work);
	transport_sim_work_end(work, now_ns, -ECANCELED, 0);
}

/* The bytes, up to the capacity. */
static size_t scatter(const struct medium_work *work, const uint8_t *bytes,
		      size_t size)
{
	size_t done = 0;

	for (int i = 0; i < work->count && done < size; i++) {
		size_t part = work->pieces[i].iov_len;

		if (part > size - done)
			part = size - done;
		memcpy(work->pieces[i].iov_base, bytes + done, part);
		done += part;
	}
	return done;
}

bool transport_sim_reply_match(struct transport_sim_port *port,
			       const struct packet *packet)
{
	struct transport_sim *sim = port->sim;
	size_t size = packet->seen.size;
	struct medium_work *work;
	size_t done;

	if (sim->post_capacity == 0)
		return false;
	work = sim->posts[bucket_of(sim, port, packet->seen.tag)];
	while (work != NULL &&
	       (work->port != port || work->tag != packet->seen.tag))
		work = work->chain;
	if (work == NULL)
		return false;
	post_remove(sim, work);
	done = scatter(work, packet->bytes, size);
	work->result = done < size ? -EMSGSIZE : 0;
	work->size = done < size ? 0 : size;
	finish(&work->event);
	return true;
}
