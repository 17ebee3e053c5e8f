/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between two processes, over the link that the caller names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LARGE           (1 << 20)

static size_t sizes[] = { 0,     1,     8,     63,    64,     65,
			  4095,  4096,  4097,  16344, 16345,  16384,
			  16385, 65496, 65536, 65537, 300000, LARGE };
static uint8_t out[LARGE], in[LARGE];

/*
 * Whatever a core has to do before: to connect, or to find the other's memory. Where
 * it matches tags, both have to know each other first.
 */
static void the_first_messages_are_taken_at_once(struct pair *pair)
{
	static const size_t first[] = { 8, 1000, 0, 60000, 16, 4 };
	uint8_t *at = out;

	if (getenv("FI_FAIRLEAD_OFFLOAD") != NULL)
		return;
	for (unsigned int i = 0; i < COUNT_OF(first) && pair->is_first; i++) {
		pair_fill(at, first[i], i);
		pair_do(fi_tsend(pair->ep, at, first[i], NULL, pair->peer, i,
				 NULL));
		at += first[i];
	}
	for (unsigned int i = 0; i < COUNT_OF(first); i++) {
		if (pair->is_first) {
			pair_wait(pair, pair->send_cq, NULL);
			continue;
		}
		pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, pair->peer, i,
				 0, NULL));
		pair_check(pair_wait(pair, pair->receive_cq, NULL).len ==
			   first[i]);
		pair_check(pair_is_filled(in, first[i], i));
	}
}

static void tagged_messages_arrive(struct pair *pair)
{
	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		fi_addr_t source = FI_ADDR_UNSPEC;
		struct fi_cq_tagged_entry entry;
		if (pair->is_first) {
			pair_fill(out, sizes[i], i);
			pair_retry(pair,
				   fi_tsend(pair->ep, out, sizes[i], NULL,
					    pair->peer, 77 + i, &sizes[i]));
			entry = pair_wait(pair, pair->send_cq, NULL);
			pair_check(entry.op_context == &sizes[i]);
			pair_check(entry.flags == (FI_SEND | FI_TAGGED));
			continue;
		}
		memset(in, 0xee, sizeof(in));
		pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, pair->peer,
				 77 + i, 0, &sizes[i]));
		entry = pair_wait(pair, pair->receive_cq, &source);
		pair_check(entry.op_context == &sizes[i]);
		pair_check(entry.flags == (FI_RECV | FI_TAGGED));
		pair_check(entry.len == sizes[i] && entry.tag == 77 + i);
		pair_check(source == pair->peer);
		pair_check(pair_is_filled(in, sizes[i], i));
		pair_check(sizes[i] == sizeof(in) || in[sizes[i]] == 0xee);
	}
}

static void untagged_messages_arrive(struct pair *pair)
{
	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		struct fi_cq_tagged_entry entry;
		if (pair->is_first) {
			pair_fill(out, sizes[i], i);
			pair_retry(pair, fi_send(pair->ep, out, sizes[i], NULL,
						 pair->peer, &sizes[i]));
			entry = pair_wait(pair, pair->send_cq, NULL);
			pair_check(entry.flags == (FI_SEND | FI_MSG));
			continue;
		}
		pair_do(fi_recv(pair->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC,
				&sizes[i]));
		entry = pair_wait(pair, pair->receive_cq, NULL);
		pair_check(entry.flags == (FI_RECV | FI_MSG));
		pair_check(entry.len == sizes[i]);
		pair_check(pair_is_filled(in, sizes[i], i));
	}
}

/* Sent before any receive is posted: small and large ones keep their order. */
static void what_nobody_expects_is_kept_in_order(struct pair *pair)
{
	enum {
		COUNT = 200
	};
	static uint8_t large[COUNT][20000];
	unsigned int completed = 0;

	if (pair->is_first) {
		for (unsigned int i = 0; i < COUNT; i++) {
			size_t size = i % 3 == 0 ? sizeof(large[i]) : i;
			pair_fill(large[i], size, i);
			pair_retry(pair, fi_tsend(pair->ep, large[i], size,
						  NULL, pair->peer, 5, NULL));
		}
		pair_meet(pair);
		for (; completed < COUNT; completed++)
			pair_wait(pair, pair->send_cq, NULL);
		return;
	}
	pair_meet(pair);
	for (unsigned int i = 0; i < COUNT; i++) {
		size_t size = i % 3 == 0 ? sizeof(large[i]) : i;
		/* Some by source, some from anybody, some by part of the tag. */
		pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL,
				 i % 2 == 0 ? pair->peer : FI_ADDR_UNSPEC,
				 i % 5 == 0 ? 4 : 5, i % 5 == 0 ? 1 : 0, NULL));
		struct fi_cq_tagged_entry entry =
			pair_wait(pair, pair->receive_cq, NULL);
		pair_check(entry.len == size);
		pair_check(pair_is_filled(in, size, i));
	}
}

/* Each size has a way of its own, or two; the next one is often quicker. */
static void messages_of_all_ways_keep_their_order(struct pair *pair)
{
	static const size_t turns[] = { 16384, 8,    16344, 0,     16345,  1,
					65536, 16,   16400, 4,     65537,  64,
					65496, 4096, 4097,  16384, 300000, 2 };
	static uint8_t many[COUNT_OF(turns)][300000];
	const unsigned int count = COUNT_OF(turns);

	for (unsigned int round = 0; round < 20; round++) {
		uint64_t data = round % 3 == 2 ? 0 : 0xd0d0;
		for (unsigned int i = 0; i < count && pair->is_first; i++) {
			pair_fill(many[i], turns[i], i);
			if (data != 0 && (i + round) % 4 == 0)
				pair_retry(pair,
					   fi_tsenddata(pair->ep, many[i],
							turns[i], NULL, data,
							pair->peer, 5, NULL));
			else
				pair_retry(pair,
					   fi_tsend(pair->ep, many[i], turns[i],
						    NULL, pair->peer, 5, NULL));
		}
		if (pair->is_first) {
			for (unsigned int i = 0; i < count; i++)
				pair_wait(pair, pair->send_cq, NULL);
			continue;
		}
		for (unsigned int i = 0; i < count; i++)
			pair_do(fi_trecv(pair->ep, many[i], sizeof(many[i]),
					 NULL, pair->peer, 5, 0, &many[i]));
		for (unsigned int i = 0; i < count; i++) {
			struct fi_cq_tagged_entry entry =
				pair_wait(pair, pair->receive_cq, NULL);
			uint8_t(*at)[300000] = entry.op_context;
			pair_check(at >= many && at < many + count);
			pair_check(entry.len == turns[at - many]);
			pair_check(pair_is_filled(*at, entry.len,
						  (unsigned int)(at - many)));
		}
	}
}

static void remote_data_comes_with_it(struct pair *pair)
{
	for (unsigned int i = 0; i < 4; i++) {
		size_t size = i % 2 == 0 ? 8 : 50000;
		uint64_t data = UINT64_C(0xfedcba9876543210) + i;
		struct fi_cq_tagged_entry entry;
		if (pair->is_first) {
			if (i < 2)
				pair_retry(pair,
					   fi_tsenddata(pair->ep, out, size,
							NULL, data, pair->peer,
							3, NULL));
			else
				pair_retry(pair, fi_senddata(pair->ep, out,
							     size, NULL, data,
							     pair->peer, NULL));
			pair_wait(pair, pair->send_cq, NULL);
			continue;
		}
		if (i < 2)
			pair_do(fi_trecv(pair->ep, in, size, NULL, pair->peer,
					 3, 0, NULL));
		else
			pair_do(fi_recv(pair->ep, in, size, NULL, pair->peer,
					NULL));
		entry = pair_wait(pair, pair->receive_cq, NULL);
		pair_check((entry.flags & FI_REMOTE_CQ_DATA) != 0);
		pair_check(entry.data == data);
	}
}

static void injected_data_may_change_at_once(struct pair *pair)
{
	size_t size = pair->info->tx_attr->inject_size;

	for (unsigned int i = 0; i < 100; i++) {
		if (pair->is_first) {
			pair_fill(out, size, i);
			pair_retry(pair, fi_tinject(pair->ep, out, size,
						    pair->peer, i));
			memset(out, 0, size);
			continue;
		}
		pair_do(fi_trecv(pair->ep, in, size, NULL, pair->peer, i, 0,
				 NULL));
		pair_wait(pair, pair->receive_cq, NULL);
		pair_check(pair_is_filled(in, size, i));
	}
}

/* The sender of what must be delivered waits for the receiver. */
static void what_is_delivered_is_where_it_belongs(struct pair *pair)
{
	static const size_t totals[] = { 0, 8, 5000, 100000 };

	for (unsigned int i = 0; i < COUNT_OF(totals); i++) {
		struct iovec iov = { pair->is_first ? out : in, totals[i] };
		struct fi_msg_tagged msg = { .msg_iov = &iov,
					     .iov_count = 1,
					     .addr = pair->peer,
					     .tag = 6 };
		if (pair->is_first) {
			pair_fill(out, totals[i], i);
			pair_retry(pair, fi_tsendmsg(pair->ep, &msg,
						     FI_DELIVERY_COMPLETE |
							     FI_COMPLETION));
			pair_is_quiet(pair, pair->send_cq);
			pair_meet(pair);
			pair_wait(pair, pair->send_cq, NULL);
			continue;
		}
		pair_meet(pair);
		pair_do(fi_trecvmsg(pair->ep, &msg, FI_COMPLETION));
		pair_wait(pair, pair->receive_cq, NULL);
		pair_check(pair_is_filled(in, totals[i], i));
	}
}

static void several_buffers_are_one_message(struct pair *pair)
{
	static const size_t totals[] = { 100, 10000, 200000 };

	for (unsigned int i = 0; i < COUNT_OF(totals); i++) {
		size_t total = totals[i];
		uint8_t *bytes = pair->is_first ? out : in;
		const struct iovec iov[] = {
			{ bytes, total / 4 },
			{ bytes + total / 4, total / 2 },
			{ bytes + total / 4 + total / 2, total / 4 },
		};
		if (pair->is_first) {
			pair_fill(out, total, i);
			pair_retry(pair, fi_tsendv(pair->ep, iov, NULL, 3,
						   pair->peer, 9, NULL));
			pair_wait(pair, pair->send_cq, NULL);
			continue;
		}
		pair_do(fi_trecvv(pair->ep, iov, NULL, 3, pair->peer, 9, 0,
				  NULL));
		pair_wait(pair, pair->receive_cq, NULL);
		pair_check(pair_is_filled(in, total, i));
	}
}

static void what_does_not_fit_is_cut_and_said(struct pair *pair)
{
	static const size_t totals[] = { 100, 10000, 200000 };

	for (unsigned int i = 0; i < 2 * COUNT_OF(totals); i++) {
		size_t total = totals[i / 2];
		if (pair->is_first) {
			pair_fill(out, total, i);
			pair_retry(pair, fi_tsend(pair->ep, out, total, NULL,
						  pair->peer, 9, NULL));
			pair_wait(pair, pair->send_cq, NULL);
			pair_meet(pair);
			continue;
		}
		if (i % 2 == 0) /* what came before its receive, too */
			for (unsigned int turn = 0; turn < 1000; turn++)
				pair_progress(pair);
		memset(in, 0xee, sizeof(in));
		pair_do(fi_trecv(pair->ep, in, total / 2, NULL, pair->peer, 9,
				 0, &in));
		struct fi_cq_err_entry failure =
			pair_wait_failure(pair, pair->receive_cq);
		pair_check(failure.err == FI_ETRUNC);
		pair_check(failure.op_context == &in);
		pair_check(pair_is_filled(in, total / 2, i));
		pair_check(in[total / 2] == 0xee);
		pair_meet(pair);
	}
}

static void a_cancelled_receive_takes_nothing(struct pair *pair)
{
	int first = 0, second = 0;

	if (!pair->is_first) {
		pair_do(fi_trecv(pair->ep, in, 8, NULL, pair->peer, 1, 0,
				 &first));
		pair_do(fi_trecv(pair->ep, in + 8, 8, NULL, FI_ADDR_UNSPEC, 1,
				 0, &second));
		pair_do(fi_cancel(&pair->ep->fid, &first));
		struct fi_cq_err_entry failure =
			pair_wait_failure(pair, pair->receive_cq);
		pair_check(failure.err == FI_ECANCELED);
		pair_check(failure.op_context == &first);
		pair_check(fi_cancel(&pair->ep->fid, &first) == -FI_ENOENT);
	}
	pair_meet(pair);
	if (pair->is_first) {
		pair_retry(pair,
			   fi_tinject(pair->ep, "message", 8, pair->peer, 1));
		return;
	}
	struct fi_cq_tagged_entry entry =
		pair_wait(pair, pair->receive_cq, NULL);
	pair_check(entry.op_context == &second);
	pair_check(memcmp(in + 8, "message", 8) == 0);
}

/* Asks until the message is there; returns what is said of it. */
static struct fi_cq_tagged_entry peek(struct pair *pair, uint64_t flags,
				      struct fi_context *context)
{
	struct fi_msg_tagged msg = { .addr = FI_ADDR_UNSPEC,
				     .tag = 4,
				     .context = context };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry failure = { 0 };

	for (;;) {
		pair_do(fi_trecvmsg(pair->ep, &msg, flags | FI_COMPLETION));
		ssize_t result;
		while ((result = fi_cq_read(pair->receive_cq, &entry, 1)) ==
		       -FI_EAGAIN)
			pair_progress(pair);
		if (result == 1)
			return entry;
		pair_check(result == -FI_EAVAIL);
		fi_cq_readerr(pair->receive_cq, &failure, 0);
		pair_check(failure.err == FI_ENOMSG);
		pair_check(failure.op_context == context);
	}
}

static void a_message_can_be_looked_at_claimed_and_discarded(struct pair *pair)
{
	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		struct fi_context context;
		struct fi_cq_tagged_entry entry;
		if (pair->is_first) {
			for (unsigned int k = 0; k < 3; k++) {
				pair_fill(out, sizes[i], i);
				pair_retry(pair,
					   fi_tsend(pair->ep, out, sizes[i],
						    NULL, pair->peer, 4, NULL));
				pair_wait(pair, pair->send_cq, NULL);
			}
			continue;
		}
		entry = peek(pair, FI_PEEK, &context);
		pair_check(entry.len == sizes[i] && entry.tag == 4);
		pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, pair->peer, 4,
				 0, NULL));
		entry = pair_wait(pair, pair->receive_cq, NULL);
		pair_check(entry.len == sizes[i]);

		entry = peek(pair, FI_PEEK | FI_CLAIM, &context);
		pair_check(entry.len == sizes[i]);
		memset(in, 0, sizeof(in));
		struct iovec iov = { in, sizeof(in) };
		struct fi_msg_tagged msg = { .msg_iov = &iov,
					     .iov_count = 1,
					     .addr = FI_ADDR_UNSPEC,
					     .tag = 4,
					     .context = &context };
		pair_do(fi_trecvmsg(pair->ep, &msg, FI_CLAIM | FI_COMPLETION));
		entry = pair_wait(pair, pair->receive_cq, NULL);
		pair_check(entry.len == sizes[i]);
		pair_check(pair_is_filled(in, sizes[i], i));

		entry = peek(pair, FI_PEEK | FI_DISCARD, &context);
		pair_check(entry.len == sizes[i]);
	}
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
	};
	static const struct pair_case cases[] = {
		pair_case(the_first_messages_are_taken_at_once),
		pair_case(tagged_messages_arrive),
		pair_case(untagged_messages_arrive),
		pair_case(what_nobody_expects_is_kept_in_order),
		pair_case(messages_of_all_ways_keep_their_order),
		pair_case(remote_data_comes_with_it),
		pair_case(injected_data_may_change_at_once),
		pair_case(what_is_delivered_is_where_it_belongs),
		pair_case(several_buffers_are_one_message),
		pair_case(what_does_not_fit_is_cut_and_said),
		pair_case(a_cancelled_receive_takes_nothing),
		pair_case(a_message_can_be_looked_at_claimed_and_discarded),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
