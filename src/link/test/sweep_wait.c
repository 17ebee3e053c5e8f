/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of the sweep, and how they end. */
#include <poll.h>
#include <sched.h>

#include "link/test/sweep.h"

#define MARK 2 /* the tag of a message behind others */

_Alignas(64) uint8_t sweep_in[SWEEP_ROOM], sweep_out[SWEEP_ROOM];
uint64_t sweep_words[8];
unsigned int sweep_word_count;

static void take_from(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry failure = { 0 };
	fi_addr_t source = FI_ADDR_NOTAVAIL;
	ssize_t got = fi_cq_readfrom(cq, &entry, 1, &source);
	struct waiting *it;

	if (got == -FI_EAGAIN)
		return;
	if (got == -FI_EAVAIL) {
		pair_check(fi_cq_readerr(cq, &failure, 0) == 1);
		pair_check(failure.err != FI_EOVERRUN);
		it = failure.op_context;
		pair_check(it != NULL);
		it->error = failure.err;
		it->ended++;
		return;
	}
	pair_check(got == 1);
	it = entry.op_context;
	if (it == NULL) {
		pair_check((entry.flags & FI_REMOTE_CQ_DATA) != 0 &&
			   sweep_word_count < COUNT_OF(sweep_words));
		sweep_words[sweep_word_count++] = entry.data;
		return;
	}
	it->entry = entry;
	it->source = source;
	if (it->ended < SWEEP_MANY)
		it->all[it->ended] = entry;
	it->ended++;
}

/* Whoever waits does so for the other, and no longer than that is there. */
void go_on(struct pair *pair)
{
	struct pollfd other = { .fd = pair->fd };

	if (pair->fd < 0)
		return; /* it is alone, and has nothing under way */
	pair_check(poll(&other, 1, 0) == 0);
	take_from(pair->send_cq);
	take_from(pair->receive_cq);
	sched_yield();
}

void await(struct pair *pair, struct waiting *it)
{
	while (it->ended == 0)
		go_on(pair);
	pair_check(it->ended == 1);
	pair_do(it->error);
}

void await_error(struct pair *pair, struct waiting *it, int error)
{
	while (it->ended == 0)
		go_on(pair);
	pair_check(it->ended == 1 && it->error == error);
}

void post_receive(struct pair *pair, struct waiting *it, void *to, size_t size,
		  fi_addr_t from, uint64_t tag)
{
	*it = (struct waiting){ 0 };
	tried(pair, fi_trecv(pair->ep, to, size, NULL, from, tag, 0, it));
}

void post_send(struct pair *pair, struct waiting *it, const void *from,
	       size_t size, uint64_t tag)
{
	*it = (struct waiting){ 0 };
	tried(pair, fi_tsend(pair->ep, from, size, NULL, pair->peer, tag, it));
}

/* All that the other has sent before is here when this returns. */
void mark(struct pair *pair)
{
	struct waiting sent, got;
	uint64_t word;

	post_receive(pair, &got, &word, sizeof(word), pair->peer, MARK);
	post_send(pair, &sent, &word, sizeof(word), MARK);
	await(pair, &got);
	await(pair, &sent);
}

void insert(struct pair *pair)
{
	int inserted;

	while ((inserted = fi_av_insert(pair->av, pair->peer_name, 1,
					&pair->peer, 0, NULL)) != 1) {
		pair_check(inserted == 0 || inserted == -FI_ENOMEM);
		go_on(pair);
	}
}
