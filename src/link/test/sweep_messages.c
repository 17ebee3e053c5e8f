/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of all sizes, expected or not; to one receive; looked at; cancelled. */
#include <string.h>

#include "link/test/sweep.h"

static const size_t sizes[] = { 8,     0,     1000, 4096,   5000,
				16000, 70000, 8,    300000, 1000000 };

#define SIZES COUNT_OF(sizes)

static void receive_all(struct pair *pair, struct waiting *got, fi_addr_t from,
			uint64_t tag)
{
	size_t at = 0;

	memset(sweep_in, 0xee, sizeof(sweep_in));
	for (unsigned int i = 0; i < SIZES; i++) {
		post_receive(pair, &got[i], sweep_in + at, sizes[i] + 1, from,
			     tag);
		at += sizes[i] + 1;
	}
}

static void send_all(struct pair *pair, struct waiting *sent, uint64_t tag)
{
	size_t at = 0;

	for (unsigned int i = 0; i < SIZES; i++) {
		pair_fill(sweep_out + at, sizes[i], i);
		post_send(pair, &sent[i], sweep_out + at, sizes[i], tag);
		at += sizes[i];
	}
}

static void await_sent(struct pair *pair, struct waiting *sent)
{
	for (unsigned int i = 0; i < SIZES; i++)
		await(pair, &sent[i]);
}

static void await_received(struct pair *pair, struct waiting *got,
			   fi_addr_t from)
{
	size_t at = 0;

	for (unsigned int i = 0; i < SIZES; i++) {
		await(pair, &got[i]);
		pair_check(got[i].entry.len == sizes[i]);
		pair_check(got[i].source == from);
		pair_check(pair_is_filled(sweep_in + at, sizes[i], i));
		pair_check(sweep_in[at + sizes[i]] == 0xee);
		at += sizes[i] + 1;
	}
}

static void some_are_expected(struct pair *pair)
{
	struct waiting sent[SIZES], got[SIZES];

	receive_all(pair, got, pair->peer, 1);
	pair_meet(pair);
	send_all(pair, sent, 1);
	await_sent(pair, sent);
	await_received(pair, got, pair->peer);
	pair_meet(pair);
}

static void some_are_not(struct pair *pair)
{
	struct waiting sent[SIZES], got[SIZES];

	send_all(pair, sent, 1);
	mark(pair);
	receive_all(pair, got, FI_ADDR_UNSPEC, 1);
	await_sent(pair, sent);
	await_received(pair, got, pair->peer);
	pair_meet(pair);
}

/* Its parts, its word, or when it is complete, is more than others have. */
static void some_are_special(struct pair *pair)
{
	const struct iovec parts[] = { { sweep_out, 30000 },
				       { sweep_out + 30000, 30000 } };
	const struct iovec word = { sweep_out, 8 };
	struct fi_msg_tagged msg = {
		.msg_iov = parts, .iov_count = 2, .addr = pair->peer, .tag = 3
	};
	struct waiting sent[3] = { 0 }, got[3];

	pair_fill(sweep_out, 60000, 1);
	for (unsigned int i = 0; i < 3; i++)
		post_receive(pair, &got[i], sweep_in + i * 60000, 60000,
			     pair->peer, 3);
	msg.context = &sent[0];
	tried(pair, fi_tsendmsg(pair->ep, &msg, FI_COMPLETION));
	msg.msg_iov = &word;
	msg.iov_count = 1;
	msg.context = &sent[1];
	msg.data = 42;
	tried(pair, fi_tsendmsg(pair->ep, &msg,
				FI_COMPLETION | FI_DELIVERY_COMPLETE |
					FI_INJECT | FI_REMOTE_CQ_DATA));
	tried(pair, fi_tsenddata(pair->ep, sweep_out, 9000, NULL, 43,
				 pair->peer, 3, &sent[2]));
	for (unsigned int i = 0; i < 3; i++) {
		await(pair, &sent[i]);
		await(pair, &got[i]);
	}
	pair_check(got[0].entry.len == 60000 &&
		   pair_is_filled(sweep_in, 60000, 1));
	pair_check(got[1].entry.len == 8 && got[1].entry.data == 42);
	pair_check(got[2].entry.len == 9000 && got[2].entry.data == 43);
	pair_check(pair_is_filled(sweep_in + 60000, 8, 1));
	pair_check(pair_is_filled(sweep_in + 120000, 9000, 1));
	pair_meet(pair);
}

/* --- one receive for many --- */

static size_t size_of_many(unsigned int i)
{
	return i % 4 == 3 ? 30000 : 100 + 700 * i;
}

static void receive_many(struct pair *pair, struct waiting *it)
{
	size_t size = 4095;
	struct iovec iov = { sweep_in, 0 };
	struct fi_msg msg = { .msg_iov = &iov,
			      .iov_count = 1,
			      .addr = FI_ADDR_UNSPEC,
			      .context = it };

	for (unsigned int i = 0; i < SWEEP_MANY; i++)
		size += size_of_many(i);
	iov.iov_len = size;
	*it = (struct waiting){ 0 };
	tried(pair, fi_recvmsg(pair->ep, &msg, FI_MULTI_RECV | FI_COMPLETION));
}

/* Each has its slice, in the order of sending. */
static void check_many(struct pair *pair, struct waiting *it)
{
	unsigned int last = 0;
	size_t at = 0;

	while (it->ended < SWEEP_MANY)
		go_on(pair);
	pair_check(it->ended == SWEEP_MANY && it->error == 0);
	for (unsigned int i = 0; i < SWEEP_MANY; i++) {
		size_t size = size_of_many(i);
		unsigned int found = 0;
		for (unsigned int k = 0; k < SWEEP_MANY; k++)
			found += it->all[k].buf == sweep_in + at &&
				 it->all[k].len == size;
		last += (it->all[i].flags & FI_MULTI_RECV) != 0;
		pair_check(found == 1 &&
			   pair_is_filled(sweep_in + at, size, i));
		at += size;
	}
	pair_check(last == 1 && (it->entry.flags & FI_MULTI_RECV) != 0);
}

static void one_receive_takes_many(struct pair *pair, bool is_expected)
{
	struct waiting sent[SWEEP_MANY] = { 0 }, got;
	size_t at = 0;

	if (is_expected)
		receive_many(pair, &got);
	pair_meet(pair);
	for (unsigned int i = 0; i < SWEEP_MANY; i++) {
		size_t size = size_of_many(i);
		pair_fill(sweep_out + at, size, i);
		tried(pair, fi_send(pair->ep, sweep_out + at, size, NULL,
				    pair->peer, &sent[i]));
		at += size;
	}
	mark(pair);
	if (!is_expected)
		receive_many(pair, &got);
	for (unsigned int i = 0; i < SWEEP_MANY; i++)
		await(pair, &sent[i]);
	check_many(pair, &got);
	pair_meet(pair);
}

/* --- what is looked at --- */

static void look(struct pair *pair, struct waiting *it, uint64_t tag,
		 uint64_t flags)
{
	struct fi_msg_tagged msg = { .addr = FI_ADDR_UNSPEC,
				     .tag = tag,
				     .context = it };

	it->ended = 0;
	it->error = 0;
	tried(pair, fi_trecvmsg(pair->ep, &msg, flags | FI_COMPLETION));
}

/* Nobody takes a completion meanwhile, so that queues have to grow. */
static void look_often(struct pair *pair, uint64_t tag)
{
	enum {
		COUNT = 1100
	};
	struct waiting it = { 0 };

	for (unsigned int i = 0; i < COUNT; i++) {
		struct fi_msg_tagged msg = { .addr = pair->peer,
					     .tag = tag,
					     .context = &it };
		pair_do(fi_trecvmsg(pair->ep, &msg, FI_PEEK | FI_COMPLETION));
	}
	while (it.ended < COUNT)
		go_on(pair);
	pair_check(it.ended == COUNT && it.error == 0 && it.entry.len == 8);
}

static void what_waits_is_looked_at(struct pair *pair)
{
	static const size_t size[] = { 8, 70000, 8, 70000, 70000 };
	struct waiting sent[COUNT_OF(size)], got = { 0 };
	struct iovec iov = { sweep_in, 70000 };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
				     .iov_count = 1,
				     .addr = pair->peer,
				     .tag = 11,
				     .context = &got };

	pair_fill(sweep_out, 70000, 3);
	for (unsigned int i = 0; i < COUNT_OF(size); i++)
		post_send(pair, &sent[i], sweep_out, size[i], 10 + i);
	mark(pair);
	look(pair, &got, 999, FI_PEEK);
	await_error(pair, &got, FI_ENOMSG);
	look_often(pair, 10);
	look(pair, &got, 11, FI_PEEK | FI_CLAIM);
	await(pair, &got);
	pair_check(got.entry.len == 70000);
	got.ended = 0;
	tried(pair, fi_trecvmsg(pair->ep, &msg, FI_CLAIM | FI_COMPLETION));
	await(pair, &got);
	pair_check(got.entry.len == 70000 &&
		   pair_is_filled(sweep_in, 70000, 3));
	look(pair, &got, 12, FI_PEEK | FI_DISCARD);
	await(pair, &got);
	look(pair, &got, 13, FI_PEEK | FI_DISCARD);
	await(pair, &got);
	look(pair, &got, 14, FI_PEEK | FI_CLAIM);
	await(pair, &got);
	look(pair, &got, 14, FI_CLAIM | FI_DISCARD);
	await(pair, &got);
	post_receive(pair, &got, sweep_in, 8, pair->peer, 10);
	await(pair, &got);
	for (unsigned int i = 0; i < COUNT_OF(size); i++)
		await(pair, &sent[i]);
	pair_meet(pair);
}

static void receives_are_cancelled(struct pair *pair)
{
	enum {
		COUNT = 70 /* more than a table has at first */
	};
	static struct waiting got[COUNT];

	for (unsigned int i = 0; i < COUNT; i++)
		post_receive(pair, &got[i], sweep_in, 8, pair->peer, 100 + i);
	for (unsigned int i = 0; i < COUNT; i++)
		tried(pair, fi_cancel(&pair->ep->fid, &got[i]));
	for (unsigned int i = 0; i < COUNT; i++)
		await_error(pair, &got[i], FI_ECANCELED);
}

void sweep_messages(struct pair *pair)
{
	some_are_expected(pair);
	some_are_not(pair);
	some_are_special(pair);
	one_receive_takes_many(pair, true);
	one_receive_takes_many(pair, false);
	what_waits_is_looked_at(pair);
	receives_are_cancelled(pair);
}

/* --- who is not in the vector --- */

static void one_is_known(struct pair *pair)
{
	struct waiting sent[SIZES], marked;

	insert(pair);
	for (uint64_t tag = 20; tag < 22; tag++) {
		send_all(pair, sent, tag);
		post_send(pair, &marked, sweep_out, 8, 22);
		await(pair, &marked);
		pair_meet(pair);
		await_sent(pair, sent);
	}
	pair_meet(pair);
}

/* What names the sender waits for it to be known. */
static void one_is_not(struct pair *pair)
{
	struct waiting got[SIZES], marked;

	receive_all(pair, got, FI_ADDR_UNSPEC, 20);
	await_received(pair, got, FI_ADDR_NOTAVAIL);
	post_receive(pair, &marked, sweep_out, 8, FI_ADDR_UNSPEC, 22);
	await(pair, &marked);
	pair_meet(pair);
	post_receive(pair, &marked, sweep_out, 8, FI_ADDR_UNSPEC, 22);
	await(pair, &marked);
	pair->peer = 0; /* there is no other */
	receive_all(pair, got, pair->peer, 21);
	insert(pair);
	pair_check(pair->peer == 0);
	pair_meet(pair);
	await_received(pair, got, pair->peer);
	pair_meet(pair);
}

void sweep_unlisted(struct pair *pair)
{
	if (pair->is_first)
		one_is_known(pair);
	else
		one_is_not(pair);
}
