/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that is open, and reads of it. What a descriptor calls an address is
 * an offset: each piece starts at its number times 2^40.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scoll/transport/sim/internal.h"

#define PIECE_SHIFT 40

int transport_sim_region_open(void *ctx, const struct iovec *pieces, int count,
			      struct region *ret_region,
			      struct remote_piece *ret_pieces)
{
	struct transport_sim_port *port = ctx;
	struct transport_sim *sim = port->sim;
	struct transport_sim_region *region;
	size_t bytes = (size_t)count * sizeof(region->pieces[0]);

	assert(count > 0 && count <= SCOLL_BULK_IOVS_MAX);
	region = calloc(1, sizeof(*region) + bytes);
	if (region == NULL)
		abort();
	region->port = port;
	region->count = count;
	memcpy(region->pieces, pieces, bytes);
	if (ret_pieces != NULL) {
		region->key = sim_rng_u64(&sim->rng) | 1;
		HASH_ADD(hh, sim->regions, key, sizeof(region->key), region);
		if (!hash_was_added(region))
			abort();
	}
	DL_APPEND(port->regions, region);
	port->use.regions++;
	ret_region->handle = region;
	ret_region->size = 0;
	for (int i = 0; i < count; i++) {
		ret_region->size += pieces[i].iov_len;
		if (ret_pieces != NULL)
			ret_pieces[i] = (struct remote_piece){
				.address = (uint64_t)i << PIECE_SHIFT,
				.key = region->key,
				.size = pieces[i].iov_len,
			};
	}
	return 0;
}

static void close_one(struct transport_sim_region *region)
{
	struct transport_sim_port *port = region->port;
	struct medium_work *work;

	DL_FOREACH (port->works, work)
		assert(work->kind != WORK_READ || work->region != region);
	if (region->key != 0)
		HASH_DEL(port->sim->regions, region);
	DL_DELETE(port->regions, region);
	port->use.regions--;
	free(region);
}

void transport_sim_region_close(void *ctx, struct region *region)
{
	const struct transport_sim_region *open = region->handle;

	assert(open != NULL);
	/* A real one would go on sending what the memory has by then. */
	assert(open->answers == 0);
	close_one(region->handle);
	region->handle = NULL;
}

void transport_sim_regions_close(struct transport_sim_port *port)
{
	while (port->regions != NULL)
		close_one(port->regions);
}

static struct transport_sim_region *region_of(const struct medium_work *work)
{
	struct transport_sim_region *region;

	HASH_FIND(hh, work->port->sim->regions, &work->remote[0].key,
		  sizeof(work->remote[0].key), region);
	return region;
}

static void answer_begin(struct medium_work *work)
{
	work->is_answered = true;
	region_of(work)->answers++;
}

void transport_sim_answer_end(struct medium_work *work)
{
	struct transport_sim_region *region;

	if (!work->is_answered)
		return;
	work->is_answered = false;
	region = region_of(work);
	if (region != NULL) /* its member is still there */
		region->answers--;
}

void transport_sim_disconnect(void *ctx, scoll_nid_t from)
{
	struct transport_sim_port *port = ctx;
	const struct transport_sim_port *peer = transport_sim_peer(port, from);
	uint64_t now_ns = transport_timeline_now_ns(port->sim->timeline);
	struct medium_work *work;

	if (peer == NULL)
		return;
	DL_FOREACH (peer->works, work) {
		if (work->from != port || !work->is_answered)
			continue;
		transport_sim_answer_end(work);
		transport_sim_work_end(work, now_ns, -ECONNRESET, 0);
	}
}

static bool overlap(const struct iovec *pieces, int count, const uint8_t *bytes,
		    size_t size)
{
	for (int i = 0; i < count; i++) {
		const uint8_t *piece = pieces[i].iov_base;

		if (bytes < piece + pieces[i].iov_len && piece < bytes + size)
			return true;
	}
	return false;
}

bool transport_sim_borrows(const struct transport_sim_port *port,
			   const void *bytes, size_t size)
{
	const struct transport_sim_region *region;
	const struct medium_work *work;

	DL_FOREACH (port->regions, region) {
		if (overlap(region->pieces, region->count, bytes, size))
			return true;
	}
	DL_FOREACH (port->works, work) {
		if (work->kind == WORK_POST && !work->is_matched &&
		    overlap(work->pieces, work->count, bytes, size))
			return true;
	}
	return false;
}

/* The bytes at an offset of the region, and how many follow in the piece. */
static uint8_t *local_at(const struct transport_sim_region *region,
			 uint64_t offset, size_t *ret_left)
{
	for (int i = 0; i < region->count; i++) {
		if (offset < region->pieces[i].iov_len) {
			*ret_left = region->pieces[i].iov_len - offset;
			return (uint8_t *)region->pieces[i].iov_base + offset;
		}
		offset -= region->pieces[i].iov_len;
	}
	*ret_left = 0;
	return NULL;
}

/* The same of what a peer has described; NULL: it is not open. */
static const uint8_t *remote_at(const struct medium_work *work, uint64_t offset,
				size_t *ret_left)
{
	struct transport_sim_region *region;
	const struct remote_piece *piece = work->remote;
	int i = 0;
	uint64_t number, at;

	while (i < work->remote_count && offset >= piece[i].size)
		offset -= piece[i++].size;
	if (i == work->remote_count)
		return NULL;
	HASH_FIND(hh, work->port->sim->regions, &piece[i].key,
		  sizeof(piece[i].key), region);
	number = piece[i].address >> PIECE_SHIFT;
	at = piece[i].address & ((UINT64_C(1) << PIECE_SHIFT) - 1);
	if (region == NULL || region->port != work->from ||
	    number >= (uint64_t)region->count ||
	    at + piece[i].size > region->pieces[number].iov_len)
		return NULL;
	*ret_left = piece[i].size - offset;
	return (const uint8_t *)region->pieces[number].iov_base + at + offset;
}

/* As much as `size`; false: a part of it is not open. */
static bool copy(const struct medium_work *work, size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t left_there = 0, left_here = 0;
		const uint8_t *from = remote_at(
			work, work->remote_offset + done, &left_there);
		uint8_t *to = local_at(work->region, work->local_offset + done,
				       &left_here);
		size_t part = size - done;

		if (from == NULL || to == NULL)
			return false;
		if (part > left_there)
			part = left_there;
		if (part > left_here)
			part = left_here;
		memcpy(to, from, part);
		done += part;
	}
	return true;
}

/* The read has reached its source. */
static void serve(struct transport_timeline_event *event)
{
	struct medium_work *work = (struct medium_work *)event;
	struct transport_sim *sim = work->port->sim;
	struct transport_sim_port *from = work->from;
	uint64_t now_ns = transport_timeline_now_ns(sim->timeline);
	size_t size = work->size;
	uint64_t end_ns;

	if (!transport_sim_reaches(work->port, from)) {
		transport_sim_count(sim, TRANSPORT_SIM_REFUSED);
		transport_sim_work_end(work,
				       now_ns + transport_sim_held_ns(sim),
				       -EHOSTUNREACH, 0);
		return;
	}
	if (from->paused_ns > now_ns) {
		transport_timeline_set(sim->timeline, event, from->paused_ns);
		return;
	}
	end_ns = transport_sim_leave_ns(from, size) +
		 transport_sim_latency_ns(sim, from, work->port) +
		 transport_sim_bytes_ns(sim, size);
	if (transport_sim_chance(sim, TRANSPORT_SIM_READ_LOST)) {
		copy(work, sim_rng_below(&sim->rng, size + 1));
		transport_sim_work_end(work, end_ns, -EIO, 0);
		return;
	}
	if (!copy(work, size)) {
		sim->stats.reads_denied++;
		transport_sim_work_end(work, end_ns, -EACCES, 0);
		return;
	}
	if (transport_sim_chance(sim, TRANSPORT_SIM_LATE_END))
		end_ns += transport_sim_held_ns(sim);
	answer_begin(work);
	transport_sim_work_end(work, end_ns, 0, size);
}

int transport_sim_read(void *ctx, scoll_nid_t from,
		       const struct remote_piece *remote, int remote_count,
		       uint64_t remote_offset, const struct region *region,
		       uint64_t local_offset, size_t size,
		       struct transfer *transfer)
{
	struct transport_sim_port *port = ctx;
	struct transport_sim *sim = port->sim;
	size_t bytes = (size_t)remote_count * sizeof(*remote);
	struct medium_work *work;

	assert(local_offset + size <= region->size);
	work = transport_sim_work_start(port, WORK_READ, transfer);
	if (work == NULL)
		return -EAGAIN;
	work->region = region->handle;
	work->from = transport_sim_peer(port, from);
	if (port->is_severed)
		return 0;
	sim->stats.reads++;
	sim->stats.bytes += size;
	if (work->from == NULL) {
		transport_sim_work_end(work, 0, -EHOSTUNREACH, 0);
		return 0;
	}
	work->remote = malloc(bytes > 0 ? bytes : 1);
	if (work->remote == NULL)
		abort();
	memcpy(work->remote, remote, bytes);
	work->remote_count = remote_count;
	work->remote_offset = remote_offset;
	work->local_offset = local_offset;
	work->size = size;
	work->event.run = serve;
	transport_timeline_set(sim->timeline, &work->event,
			       transport_sim_leave_ns(port, 0) +
				       transport_sim_latency_ns(sim, port,
								work->from));
	return 0;
}
