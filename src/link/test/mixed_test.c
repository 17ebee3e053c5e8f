/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random receives, and random messages of two senders: the other process, by a
 * core that matches tags, and an endpoint beside, by shared memory where the link
 * has it. It becomes known in the middle, so that receives come back from the
 * core. Nothing may overtake anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/test/beside.h"

#define COUNT      400 /* messages of each sender */
#define POSTED_MAX 2000
#define AHEAD      40 /* receives that wait, at most */
#define LARGE      20000
#define SEEDS      4

struct content {
	uint32_t sender, number;
};

struct receive {
	fi_addr_t source;
	uint64_t tag, ignore;
	bool is_done;
	uint64_t got_tag;
	struct content got;
	uint8_t bytes[LARGE];
};

static struct receive *receives;
static unsigned int posted, done;
static uint8_t out[COUNT][LARGE];
static uint64_t state;

static unsigned int below(unsigned int limit)
{
	state = state * UINT64_C(6364136223846793005) +
		UINT64_C(1442695040888963407);
	return (unsigned int)(state >> 33) % limit;
}

static size_t message_make(unsigned int sender, unsigned int number)
{
	const struct content content = { sender, number };

	memcpy(out[number], &content, sizeof(content));
	return below(4) == 0 ? LARGE : sizeof(content) + below(200);
}

static bool post_one(struct pair *pair, fi_addr_t beside, bool takes_all)
{
	struct receive *r = &receives[posted];
	unsigned int kind = below(6);
	ssize_t result;

	if (posted == POSTED_MAX || posted - done >= AHEAD)
		return false;
	r->source = takes_all || kind < 2                     ? FI_ADDR_UNSPEC
		    : kind == 2 && beside != FI_ADDR_NOTAVAIL ? beside
							      : pair->peer;
	r->tag = below(4);
	r->ignore = takes_all || below(3) == 0 ? 3 : 0;
	r->is_done = false;
	result = fi_trecv(pair->ep, r->bytes, LARGE, NULL, r->source, r->tag,
			  r->ignore, r);
	pair_check(result == 0 || result == -FI_EAGAIN);
	posted += result == 0;
	return result == 0;
}

static void take_completions(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;
	ssize_t result;

	while ((result = fi_cq_read(pair->receive_cq, &entry, 1)) == 1) {
		struct receive *r = entry.op_context;
		pair_check(!r->is_done);
		r->is_done = true;
		r->got_tag = entry.tag;
		memcpy(&r->got, r->bytes, sizeof(r->got));
		done++;
	}
	pair_check(result == -FI_EAGAIN);
}

static bool fits(const struct receive *r, const struct receive *with,
		 const fi_addr_t sources[2])
{
	return (r->source == FI_ADDR_UNSPEC ||
		r->source == sources[with->got.sender]) &&
	       ((r->tag ^ with->got_tag) & ~r->ignore) == 0;
}

static void check_order(struct pair *pair, const fi_addr_t sources[2])
{
	for (unsigned int i = 0; i < posted; i++) {
		const struct receive *with = &receives[i];
		if (!with->is_done)
			continue;
		for (unsigned int k = 0; k < i; k++) {
			const struct receive *r = &receives[k];
			if (!fits(r, with, sources))
				continue;
			pair_check(r->is_done);
			pair_check(r->got.sender != with->got.sender ||
				   r->got.number < with->got.number);
		}
	}
}

static void cancel_rest(struct pair *pair)
{
	for (unsigned int i = 0; i < posted; i++) {
		if (receives[i].is_done)
			continue;
		pair_do(fi_cancel(&pair->ep->fid, &receives[i]));
		struct fi_cq_err_entry failure =
			pair_wait_failure(pair, pair->receive_cq);
		pair_check(failure.err == FI_ECANCELED);
	}
}

static void receive_all(struct pair *pair, struct beside *beside)
{
	fi_addr_t sources[2] = { pair->peer, beside->its };
	unsigned int sent = 0, ended = 0;

	posted = done = 0;
	while (done < 2 * COUNT || ended < COUNT) {
		unsigned int what = below(10);
		bool is_late = done > COUNT;
		struct fi_cq_tagged_entry entry;
		if (what < 4)
			post_one(pair, sources[1], posted > 3 * COUNT);
		if (what == 4 && sent < COUNT && (sent < 50 || is_late)) {
			size_t size = message_make(1, sent);
			sent += fi_tsend(beside->ep, out[sent], size, NULL,
					 beside->mine, below(4), NULL) == 0;
		}
		if (done > COUNT / 3 && sources[1] == FI_ADDR_NOTAVAIL)
			sources[1] = beside_insert(beside, pair);
		/* Not to wait for ever for what none of these takes. */
		if (posted - done >= AHEAD && posted - done < 2 * AHEAD &&
		    below(50) == 0) {
			struct receive *r = &receives[posted];
			*r = (struct receive){ .source = FI_ADDR_UNSPEC,
					       .ignore = 3 };
			pair_check(posted < POSTED_MAX);
			posted += fi_trecv(pair->ep, r->bytes, LARGE, NULL,
					   r->source, 0, 3, r) == 0;
		}
		take_completions(pair);
		ended += fi_cq_read(beside->cq, &entry, 1) == 1;
	}
	check_order(pair, sources);
	cancel_rest(pair);
}

static void send_all(struct pair *pair)
{
	unsigned int ended = 0;

	for (unsigned int i = 0; i < COUNT; i++) {
		size_t size = message_make(0, i);
		pair_retry(pair, fi_tsend(pair->ep, out[i], size, NULL,
					  pair->peer, below(4), NULL));
	}
	for (; ended < COUNT; ended++)
		pair_wait(pair, pair->send_cq, NULL);
}

static void nothing_overtakes_anything(struct pair *pair)
{
	struct beside beside;

	receives = calloc(POSTED_MAX, sizeof(*receives));
	pair_check(receives != NULL);
	if (!pair->is_first)
		beside_open(&beside, pair);
	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		state = 2 * seed + (pair->is_first ? 1 : 0);
		if (seed == SEEDS / 2) {
			/* A core that takes its time, and is often full. */
			setenv("TESTCORE_DELAY", "3", 1);
			setenv("TESTCORE_FAULTS",
			       "receive:*3:eagain,peek:*4:eagain,"
			       "send:*5:eagain",
			       1);
		}
		pair_meet(pair);
		if (pair->is_first)
			send_all(pair);
		else
			receive_all(pair, &beside);
	}
	pair_meet(pair);
	if (!pair->is_first)
		beside_close(&beside);
	free(receives);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
	};
	static const struct pair_case cases[] = {
		pair_case(nothing_overtakes_anything),
	};
	return pair_run(&setting, cases, 1);
}
