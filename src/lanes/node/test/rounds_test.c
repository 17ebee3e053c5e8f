/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libscoll tells a node's service, and what the agent hears of it: the
 * functions of libscoll are here.
 */
#include "lanes/node/fanout/fanout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "lanes/proto/collective.h"

#define BULK_SIZE 1000

/* One child, with one buffer. */
static struct {
	const struct scoll_service_ops *ops;
	void *private;
	void *posted_bytes, *posted_private;
	unsigned int reply_count;
} library;

int scoll_service_register(scoll_t *scoll, scoll_service_id_t id,
			   const struct scoll_service_ops *ops, void *private)
{
	library.ops = ops;
	library.private = private;
	return 0;
}

void *scoll_request_service(const scoll_request_t *request)
{
	return library.private;
}

scoll_nid_t scoll_request_root(const scoll_request_t *request)
{
	return NID_MANAGER;
}

int scoll_request_nchildren(const scoll_request_t *request)
{
	return 1;
}

int scoll_request_childtree_nodes(const scoll_request_t *request, int child)
{
	return 1;
}

int scoll_reply_buffer_post(int child, void *buf, size_t len,
			    scoll_request_t *request, void *private)
{
	library.posted_bytes = buf;
	library.posted_private = private;
	return 0;
}

int scoll_reply(scoll_request_t *request, const void *buf, size_t len)
{
	library.reply_count++;
	return request->srq_bulk_status < 0 ? -EALREADY : 0;
}

int scoll_reply_part(scoll_request_t *request, const void *buf, size_t len)
{
	return 0;
}

int scoll_peer_set(scoll_t *scoll, scoll_nid_t nid, enum scoll_liveness news)
{
	return 0;
}

/* What the agent has of one collective. */
struct observed {
	struct node_rounds *node_rounds;
	unsigned int received_count, part_count, closed_count;
};

static void on_received(void *ctx, uint64_t collective, const void *payload,
			size_t size, const void *bulk, size_t bulk_size)
{
	struct observed *observed = ctx;

	observed->received_count++;
}

static void on_part(void *ctx, uint64_t collective, const void *bytes,
		    size_t size)
{
	struct observed *observed = ctx;

	observed->part_count++;
}

/* As the agent does it when it has nothing to say. */
static void on_closed(void *ctx, uint64_t collective)
{
	struct observed *observed = ctx;

	observed->closed_count++;
	node_rounds_answer(observed->node_rounds, collective, NULL, 0, true);
}

static const struct node_round_events events = {
	.command = on_received,
	.part = on_part,
	.closed = on_closed,
};

static void reply_comes(scoll_request_t *request)
{
	scoll_reply_t reply = {
		.srp_request = request,
		.srp_buf = library.posted_bytes,
		.srp_len = 8,
		.srp_private = library.posted_private,
		.srp_is_last = true,
	};

	library.ops->incoming_reply(&reply);
}

/*
 * A command that is bulk data goes through the node, and the node below answers
 * before the data are here.
 */
static void visit(int bulk_status, struct observed *ret_observed)
{
	const struct parcel parcel = { .is_bulk = true,
				       .patience_ms = 1000,
				       .part_bytes = PARCEL_PART_MIN };
	struct observed observed = { 0 };
	struct writer payload = { 0 };
	scoll_request_t request = { .srq_bulk_len = BULK_SIZE };

	library.reply_count = 0;
	observed.node_rounds = node_rounds_create(NULL);
	assert_int_equal(
		node_rounds_serve(observed.node_rounds, &events, &observed), 0);
	assert_int_equal(parcel_encode(&parcel, &payload), 0);
	request.srq_buf = payload.data;
	request.srq_len = (int)payload.size;
	assert_int_equal(library.ops->pre_request(&request), 0);
	reply_comes(&request);
	request.srq_bulk_status = bulk_status;
	assert_int_equal(library.ops->incoming_request(&request, NULL), 0);
	library.ops->post_reply(&request);
	library.ops->reply_out(&request);
	node_rounds_destroy(take_ptr(observed.node_rounds));
	writer_fini(&payload);
	*ret_observed = observed;
}

static void agent_hears_all_of_a_collective(void **state)
{
	struct observed observed;

	visit(0, &observed);
	assert_int_equal(observed.received_count, 1);
	assert_int_equal(observed.part_count, 1);
	assert_int_equal(observed.closed_count, 1);
	assert_int_equal(library.reply_count, 1);
}

/* What has come from below is kept by the agent until it is closed. */
static void collective_without_its_bulk_data_is_closed(void **state)
{
	struct observed observed;

	visit(-EIO, &observed);
	assert_int_equal(observed.received_count, 0);
	assert_int_equal(observed.part_count, 1);
	assert_int_equal(observed.closed_count, 1);
}

static int request_begin(const struct writer *payload, size_t bulk_size,
			 scoll_request_t *ret_request)
{
	*ret_request = (scoll_request_t){
		.srq_buf = payload->data,
		.srq_len = (int)payload->size,
		.srq_bulk_len = bulk_size,
	};
	return library.ops->pre_request(ret_request);
}

/* Its own memory is what a node gives to commands that pass through it. */
static void commands_that_pass_through_have_a_limit(void **state)
{
	enum {
		COUNT = NODE_BULK_MAX / COMMAND_SIZE_MAX
	};
	const struct parcel parcel = { .is_bulk = true,
				       .part_bytes = PARCEL_PART_MIN };
	static scoll_request_t requests[COUNT], request;
	struct observed observed = { 0 };
	struct writer payload = { 0 };

	observed.node_rounds = node_rounds_create(NULL);
	assert_int_equal(
		node_rounds_serve(observed.node_rounds, &events, &observed), 0);
	assert_int_equal(parcel_encode(&parcel, &payload), 0);
	assert_int_equal(request_begin(&payload, COMMAND_SIZE_MAX + 1,
				       &request),
			 -EMSGSIZE);
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(request_begin(&payload, COMMAND_SIZE_MAX,
					       &requests[i]),
				 0);
	assert_int_equal(request_begin(&payload, 1, &request), -EBUSY);
	/* One that is over makes way for another. */
	library.ops->reply_out(&requests[0]);
	assert_int_equal(
		request_begin(&payload, COMMAND_SIZE_MAX, &requests[0]), 0);
	assert_int_equal(request_begin(&payload, 1, &request), -EBUSY);
	for (size_t i = 0; i < COUNT; i++)
		library.ops->reply_out(&requests[i]);
	node_rounds_destroy(take_ptr(observed.node_rounds));
	writer_fini(&payload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agent_hears_all_of_a_collective),
		cmocka_unit_test(collective_without_its_bulk_data_is_closed),
		cmocka_unit_test(commands_that_pass_through_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
