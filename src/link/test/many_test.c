/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives that take many messages, over the link that the caller names. */
#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LARGE           (1 << 20)

static uint8_t out[LARGE], in[LARGE];

static void one_receive_takes_many(struct pair *pair)
{
	enum {
		COUNT = 30
	};
	size_t done = 0, min = 500;

	if (!pair->is_first)
		pair_do(fi_setopt(&pair->ep->fid, FI_OPT_ENDPOINT,
				  FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)));
	for (unsigned int i = 0; i < COUNT; i++) {
		size_t size = i == COUNT - 1 ? 30000 : 10 * i;
		if (pair->is_first) {
			pair_fill(out, size, i);
			pair_retry(pair, fi_send(pair->ep, out, size, NULL,
						 pair->peer, NULL));
			pair_wait(pair, pair->send_cq, NULL);
			continue;
		}
		if (i == 0) {
			struct iovec iov = { in, 10 * 29 * 14 + 30000 + 499 };
			struct fi_msg msg = { .msg_iov = &iov,
					      .iov_count = 1,
					      .addr = FI_ADDR_UNSPEC,
					      .context = &in };
			pair_do(fi_recvmsg(pair->ep, &msg,
					   FI_MULTI_RECV | FI_COMPLETION));
		}
		struct fi_cq_tagged_entry entry =
			pair_wait(pair, pair->receive_cq, NULL);
		pair_check(entry.op_context == &in && entry.len == size);
		pair_check(entry.buf == in + done);
		pair_check(pair_is_filled(entry.buf, size, i));
		pair_check(((entry.flags & FI_MULTI_RECV) != 0) ==
			   (i == COUNT - 1));
		done += size;
	}
}

static void post_many(struct pair *pair, size_t size)
{
	struct iovec iov = { in, size };
	struct fi_msg msg = { .msg_iov = &iov,
			      .iov_count = 1,
			      .addr = FI_ADDR_UNSPEC,
			      .context = &in };

	pair_do(fi_recvmsg(pair->ep, &msg, FI_MULTI_RECV | FI_COMPLETION));
}

static void send_some(struct pair *pair, unsigned int count, size_t size)
{
	pair_fill(out, size, 0);
	for (unsigned int i = 0; i < count; i++)
		pair_retry(pair, fi_send(pair->ep, out, size, NULL, pair->peer,
					 NULL));
}

static void wait_all(struct pair *pair, struct fid_cq *cq, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		pair_wait(pair, cq, NULL);
}

/* Whatever its size, and whether it came before the buffer. */
static void the_last_message_gives_the_buffer_back(struct pair *pair)
{
	static const size_t parts[] = { 1, 512, 4096, 5000, 20000, 65536 };

	for (unsigned int i = 0; i < 2 * COUNT_OF(parts); i++) {
		size_t size = parts[i / 2];
		if (pair->is_first && i % 2 == 0)
			pair_meet(pair);
		if (pair->is_first) {
			send_some(pair, 4, size);
			if (i % 2 != 0)
				pair_meet(pair);
			wait_all(pair, pair->send_cq, 4);
			continue;
		}
		pair_do(fi_setopt(&pair->ep->fid, FI_OPT_ENDPOINT,
				  FI_OPT_MIN_MULTI_RECV, &size, sizeof(size)));
		if (i % 2 != 0)
			pair_meet(pair);
		post_many(pair, 4 * size);
		if (i % 2 == 0)
			pair_meet(pair);
		unsigned int said = 0;
		for (unsigned int k = 0; k < 4; k++) {
			struct fi_cq_tagged_entry entry =
				pair_wait(pair, pair->receive_cq, NULL);
			pair_check(entry.op_context == &in);
			pair_check(entry.len == size);
			pair_check(pair_is_filled(entry.buf, size, 0));
			said += (entry.flags & FI_MULTI_RECV) != 0;
		}
		pair_check(said == 1);
		pair_is_quiet(pair, pair->receive_cq);
	}
}

/* What is smaller than the least that is to be free takes one message. */
static void a_small_buffer_takes_one(struct pair *pair)
{
	size_t min = 4096;

	if (pair->is_first) {
		pair_meet(pair);
		send_some(pair, 3, 512);
		wait_all(pair, pair->send_cq, 3);
		return;
	}
	pair_do(fi_setopt(&pair->ep->fid, FI_OPT_ENDPOINT,
			  FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)));
	post_many(pair, 2048);
	pair_meet(pair);
	for (unsigned int i = 0; i < 3; i++) {
		struct fi_cq_tagged_entry entry =
			pair_wait(pair, pair->receive_cq, NULL);
		pair_check((entry.flags & FI_MULTI_RECV) != 0);
		pair_check(entry.len == 512);
		pair_is_quiet(pair, pair->receive_cq);
		if (i < 2)
			post_many(pair, 2048);
	}
}

static void a_cancelled_buffer_takes_no_more(struct pair *pair)
{
	static const size_t parts[] = { 8, 5000, 100000 };
	size_t min = 1;

	for (unsigned int i = 0; i < COUNT_OF(parts); i++) {
		if (pair->is_first) {
			send_some(pair, 1, parts[i]);
			pair_wait(pair, pair->send_cq, NULL);
			pair_meet(pair);
			send_some(pair, 1, parts[i]);
			pair_wait(pair, pair->send_cq, NULL);
			continue;
		}
		pair_do(fi_setopt(&pair->ep->fid, FI_OPT_ENDPOINT,
				  FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)));
		post_many(pair, LARGE / 2);
		struct fi_cq_tagged_entry entry =
			pair_wait(pair, pair->receive_cq, NULL);
		pair_check((entry.flags & FI_MULTI_RECV) == 0);
		pair_do(fi_cancel(&pair->ep->fid, &in));
		struct fi_cq_err_entry failure =
			pair_wait_failure(pair, pair->receive_cq);
		pair_check(failure.err == FI_ECANCELED);
		pair_check(failure.op_context == &in);
		pair_check(fi_cancel(&pair->ep->fid, &in) == -FI_ENOENT);
		pair_do(fi_recv(pair->ep, in + LARGE / 2, parts[i], NULL,
				FI_ADDR_UNSPEC, &min));
		pair_meet(pair);
		entry = pair_wait(pair, pair->receive_cq, NULL);
		pair_check(entry.op_context == &min);
		pair_check(pair_is_filled(in + LARGE / 2, parts[i], 0));
	}
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE |
			FI_MULTI_RECV,
	};
	static const struct pair_case cases[] = {
		pair_case(one_receive_takes_many),
		pair_case(the_last_message_gives_the_buffer_back),
		pair_case(a_small_buffer_takes_one),
		pair_case(a_cancelled_buffer_takes_no_more),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
