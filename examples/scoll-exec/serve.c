/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node replies when its own command is over and all below have replied. In
 * between it sends what it has, at growing intervals: so results come early, and
 * are not lost with a relay that dies later.
 */
#include "serve.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "sys/clock.h"

#define EARLY_MAX      8                   /* parts before the last ones */
#define FLUSH_FIRST_NS UINT64_C(300000000) /* then twice as long, and so on */
#define STOP_BYTES     16                  /* of a buffer that stays empty */

/* A part that was handed to the library, until the request ends. */
struct sent {
	struct sent *next;
	uint8_t bytes[];
};

/* Of a subtree's reply: computed alike by the child and its parent. */
struct exec_capacity {
	size_t bytes; /* of a part */
	int early, parts;
};

struct exec_job {
	struct exec_waiter waiter; /* first */
	struct exec_job *prev, *next;
	struct front *front;
	scoll_request_t *request;
	enum serve_op op;
	struct serve_root root; /* at the root */
	struct results *results;
	uint32_t index; /* of this node */
	char *bulk;     /* the credential, when it came so */
	struct iovec bulk_iov;
	const uint8_t *body; /* of the payload: the credential, or of STOP */
	size_t body_size;
	uint8_t **buffers; /* of a child: all of its parts */
	int buffer_count;
	struct exec_capacity capacity; /* of our own reply */
	struct sent *sent;
	int early_count;
	uint64_t flush_ns, interval_ns;
	bool is_root, is_own_done, is_below_done, is_replied;
};

void serve_tag(uint32_t index, scoll_tag_t *ret_tag)
{
	*ret_tag = (scoll_tag_t){ 0 };
	for (int i = 0; i < 4; i++)
		ret_tag->bytes[i] = (uint8_t)(index >> 8 * i);
}

/* --- jobs --- */

static void job_destroy(struct exec_job *job)
{
	if (job == NULL)
		return;
	runs_leave(&job->waiter);
	DL_DELETE(job->front->jobs, job);
	while (job->sent != NULL) {
		struct sent *sent = job->sent;

		job->sent = sent->next;
		free(sent);
	}
	for (int i = 0; i < job->buffer_count; i++)
		free(job->buffers[i]);
	free(job->buffers);
	free(job->bulk);
	if (!job->is_root)
		results_destroy(job->results);
	free(job);
}

static struct exec_capacity capacity_of(const struct exec_job *job, int nodes)
{
	struct exec_capacity capacity = { .bytes = STOP_BYTES, .parts = 1 };

	if (job->op == SERVE_STOP)
		return capacity;
	capacity.bytes = results_part_bytes((uint32_t)nodes);
	capacity.early = nodes - 1 < EARLY_MAX ? nodes - 1 : EARLY_MAX;
	capacity.parts = capacity.early + results_part_count((uint32_t)nodes);
	return capacity;
}

static int post_child(struct exec_job *job, int child, int nodes)
{
	struct exec_capacity capacity = capacity_of(job, nodes);
	uint8_t *at = memory_alloc(capacity.bytes * (size_t)capacity.parts);
	int result = 0;

	job->buffers[child] = at;
	for (int i = 0; i < capacity.parts && result == 0; i++)
		result = scoll_reply_buffer_post(
			child, at + (size_t)i * capacity.bytes, capacity.bytes,
			job->request, NULL);
	return result;
}

static int post_buffers(struct exec_job *job)
{
	int count = scoll_request_nchildren(job->request);
	int result = 0, below = 0;

	job->buffers = memory_array((size_t)count, sizeof(*job->buffers));
	job->buffer_count = count;
	for (int i = 0; i < count && result == 0; i++) {
		int nodes = scoll_request_childtree_nodes(job->request, i);

		result = post_child(job, i, nodes);
		below += nodes;
	}
	job->capacity = capacity_of(job, below + 1);
	return result;
}

static void own_done(struct exec_waiter *waiter, const struct outcome *outcome);

static struct exec_job *job_create(struct front *front,
				   scoll_request_t *request)
{
	struct exec_job *job = memory_alloc(sizeof(*job));

	job->front = front;
	job->request = request;
	job->waiter.done = own_done;
	job->interval_ns = FLUSH_FIRST_NS;
	job->flush_ns = sys_monotonic_ns() + FLUSH_FIRST_NS;
	DL_APPEND(front->jobs, job);
	return job;
}

/* --- replies --- */

static struct sent *part_take(struct exec_job *job, size_t *ret_size)
{
	_auto_(writer_fini) struct writer writer = { 0 };
	struct sent *sent;

	if (results_take(job->results, job->capacity.bytes, &writer) <= 0)
		return NULL;
	sent = memory_alloc(sizeof(*sent) + writer.size);
	memcpy(sent->bytes, writer.data, writer.size);
	sent->next = job->sent;
	job->sent = sent;
	*ret_size = writer.size;
	return sent;
}

/* The root asks again for what cannot be sent. */
static void part_send(struct exec_job *job, const struct sent *sent,
		      size_t size)
{
	int result = scoll_reply_part(job->request, sent->bytes, size);

	if (result < 0)
		log_warning(job->front->log, "part of a reply lost error=%d",
			    -result);
}

static void reply(struct exec_job *job)
{
	struct sent *sent = NULL;
	size_t size = 0;

	if (!job->is_own_done || !job->is_below_done || job->is_replied)
		return;
	job->is_replied = true;
	while (job->op == SERVE_RUN && !results_is_empty(job->results)) {
		sent = part_take(job, &size);
		if (sent == NULL || results_is_empty(job->results))
			break;
		part_send(job, sent, size);
		sent = NULL;
	}
	scoll_reply(job->request, sent == NULL ? NULL : sent->bytes,
		    sent == NULL ? 0 : size);
}

static void own_done(struct exec_waiter *waiter, const struct outcome *outcome)
{
	struct exec_job *job = (struct exec_job *)waiter;

	results_add(job->results, job->index, outcome);
	job->is_own_done = true;
	reply(job);
}

void serve_tick(struct front *front)
{
	uint64_t now_ns = sys_monotonic_ns();
	struct exec_job *job;

	DL_FOREACH (front->jobs, job) {
		struct sent *sent;
		size_t size = 0;

		if (job->is_root || job->op != SERVE_RUN || job->is_replied ||
		    now_ns < job->flush_ns || results_is_empty(job->results) ||
		    job->early_count >= job->capacity.early)
			continue;
		sent = part_take(job, &size);
		if (sent == NULL)
			continue;
		part_send(job, sent, size);
		job->early_count++;
		job->interval_ns *= 2;
		job->flush_ns = now_ns + job->interval_ns;
	}
}

/* --- requests --- */

/* As credentials are; the launcher never gets anything else. */
static bool is_text(const void *bytes, size_t size)
{
	return size == 0 || memchr(bytes, 0, size) == NULL;
}

static int read_run(struct exec_job *job, struct reader *reader)
{
	uint32_t nodes = read_u32(reader);

	job->body_size = read_u32(reader);
	job->body = read_bytes(reader, job->body_size);
	if (!reader_is_done(reader) ||
	    (job->body_size == 0) != (job->request->srq_bulk_len > 0) ||
	    !is_text(job->body, job->body_size))
		return -EBADMSG;
	if (job->request->srq_bulk_len > EXEC_CREDENTIAL_MAX)
		return -EMSGSIZE;
	if (job->request->srq_bulk_len > 0) {
		job->bulk = memory_alloc(job->request->srq_bulk_len);
		job->bulk_iov =
			(struct iovec){ job->bulk, job->request->srq_bulk_len };
		job->request->srq_bulk_iovs = &job->bulk_iov;
		job->request->srq_bulk_niov = 1;
	}
	job->results = results_create(nodes);
	return job->results != NULL ? 0 : -EINVAL;
}

static int read_payload(struct exec_job *job)
{
	struct reader reader =
		reader_of(job->request->srq_buf, (size_t)job->request->srq_len);
	uint8_t version = read_u8(&reader);

	job->op = read_u8(&reader);
	if (version != SERVE_VERSION)
		return reader.failed ? -EBADMSG : -EPROTONOSUPPORT;
	switch (job->op) {
	case SERVE_RUN:
		return read_run(job, &reader);
	case SERVE_STOP:
		job->body = read_bytes(&reader, 2 * EXEC_ID_BYTES);
		return reader_is_done(&reader) ? 0 : -EBADMSG;
	default:
		return -EBADMSG;
	}
}

static int on_pre_request(scoll_request_t *request)
{
	struct front *front = scoll_request_service(request);
	struct exec_job *job = job_create(front, request);
	int result = read_payload(job);

	if (result == 0)
		result = post_buffers(job);
	if (result < 0) {
		job_destroy(job);
		return result;
	}
	job->is_own_done = true; /* there is nothing to do so far */
	request->srq_private = job;
	return 0;
}

static int on_request(scoll_request_t *request, const scoll_target_t *target)
{
	struct exec_job *job = request->srq_private;
	scoll_nid_t root = scoll_request_root(request);
	struct reader tag =
		reader_of(target->tags[0].bytes, sizeof(target->tags[0].bytes));

	if (job->is_root) {
		job->root.start(job->root.ctx);
		return 0;
	}
	if (job->op == SERVE_STOP) {
		runs_stop(job->front->runs, job->body,
			  job->body + EXEC_ID_BYTES);
		return 0;
	}
	if (request->srq_bulk_status < 0)
		return request->srq_bulk_status;
	if (!is_text(job->bulk, request->srq_bulk_len))
		return -EBADMSG;
	job->index = read_u32(&tag);
	job->is_own_done = false;
	if (job->bulk != NULL)
		runs_join(job->front->runs, job->bulk, request->srq_bulk_len,
			  root, &job->waiter);
	else
		runs_join(job->front->runs, (const char *)job->body,
			  job->body_size, root, &job->waiter);
	return 0;
}

static void on_reply(scoll_reply_t *reply)
{
	struct exec_job *job = reply->srp_request->srq_private;

	if (reply->srp_status == 0 && reply->srp_len > 0 &&
	    job->results != NULL) {
		int result = results_merge(job->results, reply->srp_buf,
					   reply->srp_len);

		if (result < 0)
			log_warning(job->front->log, "malformed reply error=%d",
				    -result);
		else if (job->is_root)
			job->root.merged(job->root.ctx);
	}
}

static void on_post_reply(scoll_request_t *request)
{
	struct exec_job *job = request->srq_private;

	if (job->is_root) {
		job->root.over(job->root.ctx, request);
		job_destroy(job);
		return;
	}
	job->is_below_done = true;
	reply(job);
}

static void on_reply_out(scoll_request_t *request)
{
	job_destroy(request->srq_private);
}

const struct scoll_service_ops serve_ops = {
	.size = sizeof(serve_ops),
	.pre_request = on_pre_request,
	.incoming_request = on_request,
	.incoming_reply = on_reply,
	.post_reply = on_post_reply,
	.reply_out = on_reply_out,
};

/* --- at the root --- */

int serve_root_begin(struct front *front, scoll_request_t *request,
		     struct results *results, const struct serve_root *root)
{
	struct exec_job *job = job_create(front, request);
	int result;

	job->op = results == NULL ? SERVE_STOP : SERVE_RUN;
	job->results = results;
	job->is_root = true;
	job->root = *root;
	request->srq_private = job;
	result = post_buffers(job);
	if (result < 0)
		job_destroy(job);
	return result;
}

void serve_root_cancel(scoll_request_t *request)
{
	job_destroy(request->srq_private);
}
