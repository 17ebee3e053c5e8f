/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures half-way, over a core that fails on request: both sides are
 * notified, and nothing that is due to the other is dropped.
 */
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_atomic.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LARGE           100000

static uint8_t out[LARGE], in[LARGE];

static void send_to_the_end(struct pair *pair, size_t size, uint64_t tag)
{
	const struct iovec iov = { out, size };
	const struct fi_msg_tagged msg = { .msg_iov = &iov,
					   .iov_count = 1,
					   .addr = pair->peer,
					   .tag = tag,
					   .context = out };

	pair_fill(out, size, 1);
	pair_retry(pair, fi_tsendmsg(pair->ep, &msg,
				     FI_DELIVERY_COMPLETE | FI_COMPLETION));
}

/* Neither that, nor that it be sent in pieces. */
static void what_cannot_be_read_is_a_failed_send(struct pair *pair)
{
	struct fi_cq_err_entry failure;

	if (pair->is_first) {
		send_to_the_end(pair, LARGE, 1);
		failure = pair_wait_failure(pair, pair->send_cq);
		pair_check(failure.err == FI_EIO && failure.op_context == out);
		return;
	}
	pair_peek(pair, 1);
	setenv("TESTCORE_FAULTS", "read:*1:eio,send:1:eio", 1);
	pair_do(fi_trecv(pair->ep, in, LARGE, NULL, pair->peer, 1, 0, in));
	failure = pair_wait_failure(pair, pair->receive_cq);
	pair_check(failure.err == FI_EIO && failure.op_context == in);
	unsetenv("TESTCORE_FAULTS");
}

/* --- answers that the core does not take at first --- */

static void receive_refusing(struct pair *pair, uint64_t tag)
{
	pair_peek(pair, tag);
	setenv("TESTCORE_FAULTS", "send:1:eagain", 1);
	pair_do(fi_trecv(pair->ep, in, 8, NULL, FI_ADDR_UNSPEC, tag, 0, in));
	pair_wait(pair, pair->receive_cq, NULL);
}

static void who_is_removed_is_still_answered(struct pair *pair)
{
	if (pair->is_first) {
		send_to_the_end(pair, 8, 1);
		pair_wait(pair, pair->send_cq, NULL);
		pair_meet(pair);
		return;
	}
	receive_refusing(pair, 1);
	pair_do(fi_av_remove(pair->av, &pair->peer, 1, 0));
	pair_meet(pair);
	unsetenv("TESTCORE_FAULTS");
	pair_insert(pair);
}

static void who_is_removed_still_hears_what_it_asked(struct pair *pair)
{
	const uint64_t one = 1;
	uint64_t before = 5;
	struct fid_mr *mr;

	memset(in, 0, 8);
	pair_do(fi_mr_reg(pair->domain, in, 8, FI_REMOTE_READ | FI_REMOTE_WRITE,
			  0, 5, 0, &mr, NULL));
	pair_meet(pair);
	if (pair->is_first) {
		pair_retry(pair, fi_fetch_atomic(pair->ep, &one, 1, NULL,
						 &before, NULL, pair->peer, 0,
						 5, FI_UINT64, FI_SUM, NULL));
		pair_wait(pair, pair->send_cq, NULL);
		pair_check(before == 0);
		pair_meet(pair);
	} else {
		setenv("TESTCORE_FAULTS", "send:1:eagain", 1);
		while (in[0] == 0)
			(void)fi_cq_read(pair->receive_cq, NULL, 0);
		pair_do(fi_av_remove(pair->av, &pair->peer, 1, 0));
		pair_meet(pair);
		unsetenv("TESTCORE_FAULTS");
		pair_insert(pair);
	}
	pair_do(fi_close(&mr->fid));
}

static void who_closes_answers_first(struct pair *pair)
{
	if (pair->is_first) {
		send_to_the_end(pair, 8, 1);
		pair_wait(pair, pair->send_cq, NULL);
		pair_outlive(pair);
		return;
	}
	receive_refusing(pair, 1);
	pair_do(fi_close(&pair->ep->fid));
	pair_die(pair);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_ATOMIC | FI_DIRECTED_RECV |
			FI_SOURCE,
	};
	static const struct pair_case cases[] = {
		pair_case(what_cannot_be_read_is_a_failed_send),
		pair_case(who_is_removed_is_still_answered),
		pair_case(who_is_removed_still_hears_what_it_asked),
	};
	static const struct pair_case mortal_cases[] = {
		pair_case(who_closes_answers_first),
	};
	int result = pair_run(&setting, cases, COUNT_OF(cases));

	return result != 0 ? result
			   : pair_run_mortal(&setting, mortal_cases,
					     COUNT_OF(mortal_cases));
}
