/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FI_PROGRESS_AUTO: what goes on while a program computes. It says FI_THREAD_DOMAIN,
 * so it counts on no locks of its own. Its thread: see progress_thread_test.c.
 */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LARGE           (1 << 20)
#define TURNS           20
#define KEY             9
#define TAG             3

static uint8_t out[LARGE], in[LARGE];

/* Who computes waits by pair_meet_blind(). */

static void receive_one(struct pair *pair, unsigned int seed)
{
	memset(in, 0, sizeof(in));
	pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, pair->peer, TAG, 0,
			 NULL));
	pair_wait(pair, pair->receive_cq, NULL);
	pair_check(pair_is_filled(in, sizeof(in), seed));
}

static void a_large_message_goes_while_its_sender_computes(struct pair *pair)
{
	for (unsigned int i = 0; i < TURNS; i++) {
		if (!pair->is_first) {
			receive_one(pair, i);
			pair_meet_blind(pair);
			continue;
		}
		pair_fill(out, sizeof(out), i);
		pair_retry(pair, fi_tsend(pair->ep, out, sizeof(out), NULL,
					  pair->peer, TAG, NULL));
		pair_meet_blind(pair);
		pair_wait(pair, pair->send_cq, NULL);
	}
}

static void send_delivered(struct pair *pair, size_t size)
{
	const struct iovec iov = { out, size };
	const struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = pair->peer, .tag = TAG
	};

	pair_retry(pair, fi_tsendmsg(pair->ep, &msg,
				     FI_DELIVERY_COMPLETE | FI_COMPLETION));
	pair_wait(pair, pair->send_cq, NULL);
}

/* It is delivered, as its sender knows, and nobody has looked. */
static void a_message_arrives_while_its_receiver_computes(struct pair *pair)
{
	static const size_t sizes[] = { 8, 5000, LARGE };

	for (unsigned int i = 0; i < TURNS; i++) {
		size_t size = sizes[i % COUNT_OF(sizes)];
		if (pair->is_first) {
			pair_meet_blind(pair);
			pair_fill(out, size, i);
			send_delivered(pair, size);
			pair_meet_blind(pair);
			continue;
		}
		memset(in, 0, size);
		pair_do(fi_trecv(pair->ep, in, size, NULL, FI_ADDR_UNSPEC, TAG,
				 0, NULL));
		pair_meet_blind(pair);
		pair_meet_blind(pair);
		pair_wait(pair, pair->receive_cq, NULL);
		pair_check(pair_is_filled(in, size, i));
	}
}

static void access_all(struct pair *pair)
{
	const uint64_t one = 1;
	uint64_t before;

	pair_retry(pair, fi_write(pair->ep, out + 8, LARGE - 8, NULL,
				  pair->peer, 8, KEY, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_retry(pair, fi_read(pair->ep, in + 8, LARGE - 8, NULL, pair->peer,
				 8, KEY, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_check(memcmp(in + 8, out + 8, LARGE - 8) == 0);
	for (uint64_t i = 0; i < TURNS; i++) {
		pair_retry(pair, fi_fetch_atomic(pair->ep, &one, 1, NULL,
						 &before, NULL, pair->peer, 0,
						 KEY, FI_UINT64, FI_SUM, NULL));
		pair_wait(pair, pair->send_cq, NULL);
		pair_check(before == i);
	}
}

static void memory_is_reached_while_its_owner_computes(struct pair *pair)
{
	uint64_t reads = fi_cntr_read(pair->remote_read_cntr);
	uint64_t writes = fi_cntr_read(pair->remote_write_cntr);
	struct fid_mr *mr;

	pair_fill(out, sizeof(out), 7);
	if (pair->is_first) {
		pair_meet_blind(pair);
		access_all(pair);
		pair_meet_blind(pair);
		return;
	}
	memset(in, 0, sizeof(in));
	pair_do(fi_mr_reg(pair->domain, in, sizeof(in),
			  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
			  NULL));
	pair_meet_blind(pair);
	pair_meet_blind(pair);
	/* A fetching operation counts as a read. */
	pair_do(fi_cntr_wait(pair->remote_read_cntr, reads + 1 + TURNS, -1));
	pair_do(fi_cntr_wait(pair->remote_write_cntr, writes + 1, -1));
	pair_check(memcmp(in + 8, out + 8, LARGE - 8) == 0);
	pair_do(fi_close(&mr->fid));
}

static void a_call_that_waits_returns(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;

	for (unsigned int i = 0; i < TURNS; i++) {
		pair_do(fi_trecv(pair->ep, in, 8, NULL, pair->peer, TAG, 0,
				 NULL));
		if (pair->is_first == (i % 2 == 0))
			pair_check(fi_cq_sread(pair->receive_cq, &entry, 1,
					       NULL, -1) == 1);
		pair_retry(pair, fi_tsend(pair->ep, out, 8, NULL, pair->peer,
					  TAG, NULL));
		pair_check(fi_cq_sread(pair->send_cq, &entry, 1, NULL, -1) ==
			   1);
		if (pair->is_first != (i % 2 == 0))
			pair_check(fi_cq_sread(pair->receive_cq, &entry, 1,
					       NULL, -1) == 1);
	}
}

/* Nobody has asked whether to wait. It may tell of what came before as well. */
static void a_descriptor_tells_what_came_by_itself(struct pair *pair)
{
	struct pollfd at = { .events = POLLIN };
	struct fi_cq_tagged_entry entry;
	uint64_t times;
	ssize_t got;

	pair_do(fi_control(&pair->receive_cq->fid, FI_GETWAIT, &at.fd));
	for (unsigned int i = 0; i < TURNS; i++) {
		if (pair->is_first) {
			pair_meet_blind(pair);
			send_delivered(pair, 8);
			pair_meet_blind(pair);
			continue;
		}
		(void)!read(at.fd, &times, sizeof(times));
		pair_do(fi_trecv(pair->ep, in, 8, NULL, FI_ADDR_UNSPEC, TAG, 0,
				 NULL));
		pair_meet_blind(pair);
		do {
			pair_check(poll(&at, 1, -1) == 1);
			(void)!read(at.fd, &times, sizeof(times));
			got = fi_cq_read(pair->receive_cq, &entry, 1);
		} while (got == -FI_EAGAIN);
		pair_check(got == 1);
		pair_meet_blind(pair);
	}
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RMA_EVENT |
			FI_DIRECTED_RECV | FI_SOURCE,
		.threading = FI_THREAD_DOMAIN,
		.wait = FI_WAIT_FD,
		.progress = FI_PROGRESS_AUTO,
	};
	static const struct pair_case cases[] = {
		pair_case(a_large_message_goes_while_its_sender_computes),
		pair_case(a_message_arrives_while_its_receiver_computes),
		pair_case(memory_is_reached_while_its_owner_computes),
		pair_case(a_call_that_waits_returns),
		pair_case(a_descriptor_tells_what_came_by_itself),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
