/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of ours that peers read, and reads of theirs. A peer asks by the
 * connection that we opened to it, and gets the bytes by another one that we
 * open; so nobody reads whose address we do not know, and a key cannot be
 * guessed. Memory that is closed leaves at once: a frame that is half sent from
 * it costs its connection, and the peer asks again for what else was on it.
 */
#include "scoll/transport/tcp/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_within(uint64_t offset, uint64_t size, uint64_t whole)
{
	return offset <= whole && size <= whole - offset;
}

static struct tcp_region *region_find(const struct transport_tcp *t,
				      uint64_t key)
{
	struct tcp_region *region;

	HASH_FIND(hh, t->regions, &key, sizeof(key), region);
	return region;
}

int tcp_region_open(void *ctx, const struct iovec *pieces, int count,
		    struct region *ret_region, struct remote_piece *ret_pieces)
{
	struct transport_tcp *t = ctx;
	struct tcp_region *region;

	if (count < 1 || count > SCOLL_BULK_IOVS_MAX)
		return -EINVAL;
	t->stats.allocation_count++;
	region = calloc(1, sizeof(*region));
	if (region == NULL)
		return -ENOMEM;
	do
		region->key = rng_u64(&t->rng);
	while (region_find(t, region->key) != NULL);
	region->count = count;
	for (int i = 0; i < count; i++) {
		if (ret_pieces != NULL)
			ret_pieces[i] = (struct remote_piece){
				.address = region->size,
				.key = region->key,
				.size = pieces[i].iov_len,
			};
		region->iov[i] = pieces[i];
		region->size += pieces[i].iov_len;
	}
	HASH_ADD(hh, t->regions, key, sizeof(region->key), region);
	if (!hash_was_added(region)) {
		free(region);
		return -ENOMEM;
	}
	region->is_for_peers = ret_pieces != NULL;
	*ret_region = (struct region){ region, region->size };
	return 0;
}

/* --- reads of peers --- */

int job_pieces(const struct tcp_job *job, struct iovec *ret_pieces)
{
	int count = pieces_skip(job->region->iov, job->region->count,
				job->offset, ret_pieces + 1);

	ret_pieces[0] = (struct iovec){ (void *)job->head, FRAME_HEAD };
	return 1 + pieces_limit(ret_pieces + 1, count, job->size);
}

void job_end(struct tcp_conn *conn, struct tcp_job *job)
{
	DL_DELETE(conn->jobs, job);
	conn->job_count--;
	free(job);
}

static void job_refuse(struct transport_tcp *t, struct tcp_conn *conn,
		       struct tcp_job *job)
{
	struct tcp_conn *out = conn->peer->out;

	if (out != NULL && !out->is_connecting)
		control_send(t, out, FRAME_REFUSED, job->tag, NULL, 0);
	job_end(conn, job);
}

void jobs_refuse(struct transport_tcp *t, struct tcp_conn *conn)
{
	while (conn->jobs != NULL)
		job_refuse(t, conn, conn->jobs);
}

void tcp_region_close(void *ctx, struct region *region)
{
	struct transport_tcp *t = ctx;
	struct tcp_region *closed = region->handle;
	struct tcp_conn *conn, *next;

	DL_FOREACH_SAFE (t->conns, conn, next) {
		struct tcp_job *job, *job_next;

		DL_FOREACH_SAFE (conn->jobs, job, job_next) {
			if (job->region != closed)
				continue;
			if (job->done > 0) {
				conn_break(t, conn, -ECONNABORTED);
				break;
			}
			job_refuse(t, conn, job);
		}
	}
	HASH_DEL(t->regions, closed);
	free(closed);
	region->handle = NULL;
}

void regions_fini(struct transport_tcp *t)
{
	struct tcp_region *region, *next;

	HASH_ITER (hh, t->regions, region, next) {
		HASH_DEL(t->regions, region);
		free(region);
	}
}

void job_start(struct transport_tcp *t, struct tcp_conn *conn, uint64_t tag,
	       uint64_t key, uint64_t offset, uint64_t size)
{
	struct tcp_region *region = region_find(t, key);
	struct tcp_peer *peer = conn->peer;
	struct tcp_job *job = NULL;

	if (region != NULL && region->is_for_peers && size > 0 &&
	    size <= UINT32_MAX && is_within(offset, size, region->size) &&
	    conn_want_bulk(t, peer) == 0 &&
	    peer->bulk->job_count < TRANSPORT_TCP_READS_MAX)
		job = calloc(1, sizeof(*job));
	if (job == NULL) {
		control_send(t, conn, FRAME_REFUSED, tag, NULL, 0);
		return;
	}
	t->stats.allocation_count++;
	job->region = region;
	job->tag = tag;
	job->offset = offset;
	job->size = size;
	frame_head(job->head, FRAME_DATA, tag, size);
	conn = peer->bulk;
	DL_APPEND(conn->jobs, job);
	if (conn->job_count++ == 0 && !conn->is_connecting)
		conn_write(t, conn);
}

/* --- our own reads --- */

/* A read has its region and offset where others have a piece. */
int read_pieces(const struct tcp_op *op, struct iovec *ret_pieces)
{
	const struct tcp_region *region = op->iov[0].iov_base;
	int count = pieces_skip(region->iov, region->count,
				op->iov[0].iov_len + op->done, ret_pieces);

	return pieces_limit(ret_pieces, count, op->size - op->done);
}

int tcp_read(void *ctx, scoll_nid_t from, const struct remote_piece *remote,
	     int remote_count, uint64_t remote_offset,
	     const struct region *region, uint64_t local_offset, size_t size,
	     struct transfer *transfer)
{
	struct transport_tcp *t = ctx;
	struct tcp_peer *peer = tcp_peer_find(t, from);
	struct tcp_op *op = op_of(transfer);
	uint8_t body[READ_BODY];
	uint64_t whole = 0;
	int result;

	if (t->is_stopped)
		return -ESHUTDOWN;
	for (int i = 0; i < remote_count; i++) {
		if (remote[i].size > UINT64_MAX - whole)
			return -EINVAL;
		whole += remote[i].size;
	}
	if (size == 0 || size > UINT32_MAX ||
	    !is_within(remote_offset, size, whole) ||
	    !is_within(local_offset, size, region->size))
		return -EINVAL;
	if (peer == NULL || peer->in == NULL)
		return -EHOSTUNREACH;
	memset(op, 0, sizeof(*op));
	op->kind = OP_READ;
	op->peer = peer;
	op->size = size;
	op->iov[0] = (struct iovec){ region->handle, local_offset };
	do {
		op->tag = rng_u64(&t->rng) | READ_TAG;
		result = expected_add(t, op);
	} while (result == -EEXIST);
	if (result < 0)
		return result;
	le_put64(body, remote[0].key);
	le_put64(body + 8, remote_offset);
	le_put64(body + 16, size);
	control_send(t, peer->in, FRAME_READ, op->tag, body, sizeof(body));
	return 0;
}
