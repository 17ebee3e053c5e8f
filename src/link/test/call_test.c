/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each call that sends, receives, reads, writes or changes what the other has, of those
 * that other tests do not make: what it says when it is done, and what is there.
 */
#include <string.h>

#include <rdma/fi_rma.h>

#include "link/test/call.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define TAG             5

uint8_t call_out[CALL_LARGE];
static uint8_t in[CALL_LARGE];

const struct iovec *call_halves(uint8_t *bytes, size_t size)
{
	static struct iovec iov[2];

	iov[0] = (struct iovec){ bytes, size / 2 };
	iov[1] = (struct iovec){ bytes + size / 2, size - size / 2 };
	return iov;
}

/* --- sends and receives --- */

/* Several bits: what a call is, and what it says. */
enum {
	TAGGED = 1,
	HAS_DATA = 2,
	INJECTS = 4, /* no completion, and what is sent may change at once */
};

static struct fi_msg untagged(struct pair *pair, uint8_t *bytes, size_t size,
			      uint64_t data)
{
	return (struct fi_msg){ .msg_iov = call_halves(bytes, size),
				.iov_count = 2,
				.addr = pair->peer,
				.context = bytes,
				.data = data };
}

static struct fi_msg_tagged tagged(struct pair *pair, uint8_t *bytes,
				   size_t size, uint64_t data)
{
	return (struct fi_msg_tagged){ .msg_iov = call_halves(bytes, size),
				       .iov_count = 2,
				       .addr = pair->peer,
				       .tag = TAG,
				       .context = bytes,
				       .data = data };
}

static ssize_t by_sendv(struct pair *pair, size_t size)
{
	return fi_sendv(pair->ep, call_halves(call_out, size), NULL, 2,
			pair->peer, call_out);
}

static ssize_t by_sendmsg(struct pair *pair, size_t size)
{
	/* Data that no flag speaks of goes nowhere. */
	const struct fi_msg msg = untagged(pair, call_out, size, CALL_WORD);

	return fi_sendmsg(pair->ep, &msg, 0);
}

static ssize_t by_sendmsg_with_data(struct pair *pair, size_t size)
{
	const struct fi_msg msg = untagged(pair, call_out, size, CALL_WORD);

	return fi_sendmsg(pair->ep, &msg, FI_REMOTE_CQ_DATA);
}

static ssize_t by_senddata(struct pair *pair, size_t size)
{
	return fi_senddata(pair->ep, call_out, size, NULL, CALL_WORD,
			   pair->peer, call_out);
}

static ssize_t by_inject(struct pair *pair, size_t size)
{
	return fi_inject(pair->ep, call_out, size, pair->peer);
}

static ssize_t by_injectdata(struct pair *pair, size_t size)
{
	return fi_injectdata(pair->ep, call_out, size, CALL_WORD, pair->peer);
}

static ssize_t by_tsendv(struct pair *pair, size_t size)
{
	return fi_tsendv(pair->ep, call_halves(call_out, size), NULL, 2,
			 pair->peer, TAG, call_out);
}

static ssize_t by_tsendmsg(struct pair *pair, size_t size)
{
	const struct fi_msg_tagged msg =
		tagged(pair, call_out, size, CALL_WORD);

	return fi_tsendmsg(pair->ep, &msg, 0);
}

static ssize_t by_tsendmsg_with_data(struct pair *pair, size_t size)
{
	const struct fi_msg_tagged msg =
		tagged(pair, call_out, size, CALL_WORD);

	return fi_tsendmsg(pair->ep, &msg, FI_REMOTE_CQ_DATA);
}

static ssize_t by_tsenddata(struct pair *pair, size_t size)
{
	return fi_tsenddata(pair->ep, call_out, size, NULL, CALL_WORD,
			    pair->peer, TAG, call_out);
}

static ssize_t by_tinject(struct pair *pair, size_t size)
{
	return fi_tinject(pair->ep, call_out, size, pair->peer, TAG);
}

static ssize_t by_tinjectdata(struct pair *pair, size_t size)
{
	return fi_tinjectdata(pair->ep, call_out, size, CALL_WORD, pair->peer,
			      TAG);
}

static const struct way {
	ssize_t (*send)(struct pair *pair, size_t size);
	unsigned int is;
} ways[] = {
	{ by_sendv, 0 },
	{ by_sendmsg, 0 },
	{ by_sendmsg_with_data, HAS_DATA },
	{ by_senddata, HAS_DATA },
	{ by_inject, INJECTS },
	{ by_injectdata, INJECTS | HAS_DATA },
	{ by_tsendv, TAGGED },
	{ by_tsendmsg, TAGGED },
	{ by_tsendmsg_with_data, TAGGED | HAS_DATA },
	{ by_tsenddata, TAGGED | HAS_DATA },
	{ by_tinject, TAGGED | INJECTS },
	{ by_tinjectdata, TAGGED | INJECTS | HAS_DATA },
};

static void receive_by_turns(struct pair *pair, bool is_tagged,
			     unsigned int turn)
{
	const struct fi_msg msg = untagged(pair, in, CALL_LARGE, 0);
	const struct fi_msg_tagged tagged_msg = tagged(pair, in, CALL_LARGE, 0);
	const struct iovec *iov = call_halves(in, CALL_LARGE);

	if (is_tagged && turn % 3 == 0)
		pair_do(fi_trecv(pair->ep, in, CALL_LARGE, NULL, pair->peer,
				 TAG, 0, in));
	else if (is_tagged && turn % 3 == 1)
		pair_do(fi_trecvv(pair->ep, iov, NULL, 2, pair->peer, TAG, 0,
				  in));
	else if (is_tagged)
		pair_do(fi_trecvmsg(pair->ep, &tagged_msg, 0));
	else if (turn % 3 == 0)
		pair_do(fi_recv(pair->ep, in, CALL_LARGE, NULL, pair->peer,
				in));
	else if (turn % 3 == 1)
		pair_do(fi_recvv(pair->ep, iov, NULL, 2, pair->peer, in));
	else
		pair_do(fi_recvmsg(pair->ep, &msg, 0));
}

static void is_sent(struct pair *pair, const struct way *way, size_t size)
{
	uint64_t kind = (way->is & TAGGED) != 0 ? FI_TAGGED : FI_MSG;
	uint64_t before = fi_cntr_read(pair->send_cntr);
	struct fi_cq_tagged_entry entry;

	pair_fill(call_out, size, (unsigned int)size);
	pair_retry(pair, way->send(pair, size));
	if ((way->is & INJECTS) != 0)
		memset(call_out, 0, size);
	pair_meet(pair);
	pair_do(fi_cntr_wait(pair->send_cntr, before + 1, -1));
	if ((way->is & INJECTS) != 0)
		return; /* a completion would be seen by who comes next */
	entry = pair_wait(pair, pair->send_cq, NULL);
	pair_check(entry.op_context == call_out &&
		   entry.flags == (FI_SEND | kind));
}

static void is_received(struct pair *pair, const struct way *way, size_t size,
			unsigned int turn)
{
	bool is_tagged = (way->is & TAGGED) != 0;
	uint64_t data = (way->is & HAS_DATA) != 0 ? FI_REMOTE_CQ_DATA : 0;
	uint64_t before = fi_cntr_read(pair->receive_cntr);
	struct fi_cq_tagged_entry entry;
	fi_addr_t source = FI_ADDR_NOTAVAIL;

	memset(in, 0xee, sizeof(in));
	/* Before the message and behind it. */
	if (turn % 2 == 0)
		receive_by_turns(pair, is_tagged, turn);
	pair_meet(pair);
	if (turn % 2 != 0)
		receive_by_turns(pair, is_tagged, turn);
	entry = pair_wait(pair, pair->receive_cq, &source);
	pair_check(entry.op_context == in && source == pair->peer);
	pair_check(entry.flags ==
		   (FI_RECV | (is_tagged ? FI_TAGGED : FI_MSG) | data));
	pair_check(entry.len == size);
	pair_check(!is_tagged || entry.tag == TAG);
	pair_check(data == 0 || entry.data == CALL_WORD);
	pair_check(pair_is_filled(in, size, (unsigned int)size));
	pair_check(size == CALL_LARGE || in[size] == 0xee);
	pair_check(fi_cntr_read(pair->receive_cntr) == before + 1);
}

static void each_call_sends_one_message(struct pair *pair)
{
	static const size_t sizes[] = { 8, 0, 1000, CALL_LARGE };
	unsigned int turn = 0;

	for (unsigned int w = 0; w < COUNT_OF(ways); w++)
		for (unsigned int i = 0; i < COUNT_OF(sizes); i++, turn++) {
			if (sizes[i] == CALL_LARGE &&
			    (ways[w].is & INJECTS) != 0) {
				pair_check(ways[w].send(pair, CALL_LARGE) ==
					   -FI_EINVAL);
				continue;
			}
			if (pair->is_first)
				is_sent(pair, &ways[w], sizes[i]);
			else
				is_received(pair, &ways[w], sizes[i],
					    w + turn / 2);
			pair_meet(pair);
		}
}

/* What is complete earlier is complete as well when it is delivered. */
static void each_level_of_completion_is_had(struct pair *pair)
{
	static const uint64_t levels[] = { FI_INJECT | FI_INJECT_COMPLETE,
					   FI_INJECT_COMPLETE,
					   FI_TRANSMIT_COMPLETE,
					   FI_DELIVERY_COMPLETE };

	for (unsigned int i = 0; i < 4 * COUNT_OF(levels); i++) {
		size_t size = i / 8 == 0 ? 100 : CALL_LARGE;
		uint64_t level = levels[i / 2 % COUNT_OF(levels)];
		const struct fi_msg msg = untagged(pair, call_out, size, 0);
		const struct fi_msg_tagged tagged_msg =
			tagged(pair, call_out, size, 0);
		bool is_tagged = i % 2 != 0;
		if ((level & FI_INJECT) != 0 && size == CALL_LARGE)
			continue;
		if (!pair->is_first) {
			receive_by_turns(pair, is_tagged, i);
			pair_wait(pair, pair->receive_cq, NULL);
			pair_check(pair_is_filled(in, size, i));
			continue;
		}
		pair_fill(call_out, size, i);
		pair_retry(pair,
			   is_tagged ? fi_tsendmsg(pair->ep, &tagged_msg, level)
				     : fi_sendmsg(pair->ep, &msg, level));
		if ((level & FI_INJECT) != 0)
			memset(call_out, 0, size);
		pair_check(pair_wait(pair, pair->send_cq, NULL).op_context ==
			   call_out);
	}
}

/* As a barrier sends it; parts of a message as well. */
static void what_is_empty_may_be_nowhere(struct pair *pair)
{
	const struct iovec iov[] = { { NULL, 0 },
				     { pair->is_first ? call_out : in, 8 } };

	for (unsigned int i = 0; i < 4; i++) {
		size_t size = i == 3 ? 8 : 0;
		if (pair->is_first && i < 2)
			pair_retry(pair, fi_send(pair->ep, NULL, 0, NULL,
						 pair->peer, NULL));
		else if (pair->is_first && i == 2)
			pair_retry(pair,
				   fi_inject(pair->ep, NULL, 0, pair->peer));
		else if (pair->is_first)
			pair_retry(pair, fi_sendv(pair->ep, iov, NULL, 2,
						  pair->peer, NULL));
		else if (i < 3)
			pair_do(fi_recv(pair->ep, NULL, 0, NULL, pair->peer,
					NULL));
		else
			pair_do(fi_recvv(pair->ep, iov, NULL, 2, pair->peer,
					 NULL));
		if (!pair->is_first)
			pair_check(
				pair_wait(pair, pair->receive_cq, NULL).len ==
				size);
		else if (i != 2)
			pair_wait(pair, pair->send_cq, NULL);
	}
}

static void buffers_are_refused(struct pair *pair, const struct iovec *iov,
				size_t count)
{
	pair_check(fi_sendv(pair->ep, iov, NULL, count, pair->peer, NULL) ==
		   -FI_EINVAL);
	pair_check(fi_tsendv(pair->ep, iov, NULL, count, pair->peer, 1, NULL) ==
		   -FI_EINVAL);
	pair_check(fi_recvv(pair->ep, iov, NULL, count, pair->peer, NULL) ==
		   -FI_EINVAL);
	pair_check(fi_trecvv(pair->ep, iov, NULL, count, pair->peer, 1, 0,
			     NULL) == -FI_EINVAL);
	pair_check(fi_writev(pair->ep, iov, NULL, count, pair->peer, 0,
			     CALL_KEY, NULL) == -FI_EINVAL);
	pair_check(fi_readv(pair->ep, iov, NULL, count, pair->peer, 0, CALL_KEY,
			    NULL) == -FI_EINVAL);
}

static void more_buffers_than_there_may_be_are_refused(struct pair *pair)
{
	size_t count = pair->info->tx_attr->iov_limit + 1;
	struct iovec iov[16];

	pair_check(count <= COUNT_OF(iov));
	for (unsigned int i = 0; i < COUNT_OF(iov); i++)
		iov[i] = (struct iovec){ in + i, 1 };
	buffers_are_refused(pair, iov, count);
	buffers_are_refused(pair, iov, SIZE_MAX);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE |
			FI_RMA | FI_ATOMIC,
		.threading = FI_THREAD_DOMAIN, /* else nothing may hook it */
	};
	static const struct pair_case cases[] = {
		pair_case(each_call_sends_one_message),
		pair_case(each_level_of_completion_is_had),
		pair_case(what_is_empty_may_be_nowhere),
		pair_case(more_buffers_than_there_may_be_are_refused),
		pair_case(memory_is_registered_by_its_attributes),
		pair_case(each_call_writes),
		pair_case(parts_are_written_and_read),
		pair_case(each_call_changes_values),
		pair_case(each_call_compares_values),
		pair_case(memory_is_given_back),
		pair_case(counters_are_set_by_the_program),
		pair_case(queues_say_what_an_error_is),
		pair_case(addresses_are_looked_up_and_written),
		pair_case(options_are_those_that_there_are),
		pair_case(queues_may_be_as_short_as_asked_for),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
