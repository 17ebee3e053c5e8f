/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters, and completions only where they are asked for. */
#include <string.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static size_t sizes[] = { 8, 5000, 100000 };
static uint8_t out[100000], in[100000];

static void all_is_counted_and_nothing_completes(struct pair *pair)
{
	uint64_t before = fi_cntr_read(pair->is_first ? pair->send_cntr
						      : pair->receive_cntr);
	unsigned int count = 0;

	for (unsigned int i = 0; i < COUNT_OF(sizes); i++, count++) {
		if (pair->is_first)
			pair_retry(pair, fi_tsend(pair->ep, out, sizes[i], NULL,
						  pair->peer, 1, NULL));
		else
			pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL,
					 pair->peer, 1, 0, NULL));
	}
	if (pair->is_first)
		pair_retry(pair, fi_tinject(pair->ep, out, 8, pair->peer, 1));
	else
		pair_do(fi_trecv(pair->ep, in, 8, NULL, pair->peer, 1, 0,
				 NULL));
	count++;
	pair_do(fi_cntr_wait(pair->is_first ? pair->send_cntr
					    : pair->receive_cntr,
			     before + count, -1));
	pair_meet(pair);
	pair_check(fi_cntr_read(pair->is_first ? pair->send_cntr
					       : pair->receive_cntr) ==
		   before + count);
}

static void what_is_asked_for_completes(struct pair *pair)
{
	struct iovec iov = { pair->is_first ? out : in, 8 };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
				     .iov_count = 1,
				     .addr = pair->peer,
				     .tag = 2,
				     .context = &iov };

	if (pair->is_first)
		pair_retry(pair, fi_tsendmsg(pair->ep, &msg, FI_COMPLETION));
	else
		pair_do(fi_trecvmsg(pair->ep, &msg, FI_COMPLETION));
	pair_check(pair_wait(pair,
			     pair->is_first ? pair->send_cq : pair->receive_cq,
			     NULL)
			   .op_context == &iov);
}

static void a_failure_counts_as_one(struct pair *pair)
{
	if (pair->is_first)
		return;
	uint64_t errors = fi_cntr_readerr(pair->receive_cntr);
	pair_do(fi_trecv(pair->ep, in, 8, NULL, pair->peer, 3, 0, in));
	pair_do(fi_cancel(&pair->ep->fid, in));
	pair_check(pair_wait_failure(pair, pair->receive_cq).err ==
		   FI_ECANCELED);
	pair_check(fi_cntr_readerr(pair->receive_cntr) == errors + 1);
}

static void a_wait_ends_in_time(struct pair *pair)
{
	uint64_t now = fi_cntr_read(pair->send_cntr);

	pair_check(fi_cntr_wait(pair->send_cntr, now + 1, 1) == -FI_ETIMEDOUT);
	pair_do(fi_cntr_add(pair->send_cntr, 1));
	pair_do(fi_cntr_wait(pair->send_cntr, now + 1, 1));
	pair_do(fi_cntr_set(pair->send_cntr, now));
	pair_check(fi_cntr_read(pair->send_cntr) == now);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV,
		.bind_flags = FI_SELECTIVE_COMPLETION,
	};
	static const struct pair_case cases[] = {
		pair_case(all_is_counted_and_nothing_completes),
		pair_case(what_is_asked_for_completes),
		pair_case(a_failure_counts_as_one),
		pair_case(a_wait_ends_in_time),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
