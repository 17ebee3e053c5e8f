/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes, each in a network of its own, with two cables between them,
 * and a link that has both as rails. Cables are cut while something is under
 * way: everything has to arrive, once and in order.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include "link/test/cables.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SMALL           2000
#define LARGE           (8 << 20)
#define TURNS_MAX       1000

#define ACCESSES        100 /* small ones of a round */
#define KEY             77

static uint8_t out[LARGE], in[LARGE];

/* What the first one reaches at the second. */
static struct memory {
	uint8_t written[LARGE], read[LARGE];
	uint64_t count, word;
} memory;

static bool network_make(struct pair *pair)
{
	return cables_make(pair, 2);
}

enum cut {
	CUT_DOWN,   /* both ends see it */
	CUT_SILENT, /* nothing gets through, and no error is reported */
	CUT_RESET,  /* connections break; new ones can be made */
};

static void cable_cut(int cable, enum cut cut)
{
	switch (cut) {
	case CUT_DOWN:
		pair_check(shell("ip link set e%d down", cable));
		break;
	case CUT_SILENT:
		pair_check(shell("nft 'add table ip cut%d; "
				 "add chain ip cut%d in { type filter hook "
				 "input priority 0; }; "
				 "add chain ip cut%d out { type filter hook "
				 "output priority 0; }; "
				 "add rule ip cut%d in iifname e%d drop; "
				 "add rule ip cut%d out oifname e%d drop'",
				 cable, cable, cable, cable, cable, cable,
				 cable));
		break;
	case CUT_RESET:
		pair_check(
			shell("ss -K -t 'src 10.9.%d.0/24' >/dev/null", cable));
		break;
	}
}

static void cable_mend(int cable, enum cut cut)
{
	if (cut == CUT_DOWN)
		pair_check(shell("ip link set e%d up", cable));
	else if (cut == CUT_SILENT)
		pair_check(shell("nft delete table ip cut%d", cable));
}

static void small_go(struct pair *pair, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++) {
		pair_fill(out, 100, i);
		pair_retry(pair, fi_tsend(pair->ep, out, 100, NULL, pair->peer,
					  i, NULL));
		pair_wait(pair, pair->send_cq, NULL);
	}
}

static void small_come(struct pair *pair, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++) {
		/* Any tag: so it is the next one, or it is not in order. */
		pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC,
				 0, ~UINT64_C(0) >> 1, NULL));
		struct fi_cq_tagged_entry entry =
			pair_wait(pair, pair->receive_cq, NULL);
		pair_check(entry.tag == i && entry.len == 100);
		pair_check(pair_is_filled(in, 100, i));
	}
}

/* Both send, so that nobody knows which rail the peer prefers. */
static void small_cross(struct pair *pair, unsigned int from, unsigned int to)
{
	if (pair->is_first) {
		small_go(pair, from, to);
		small_come(pair, from, to);
	} else {
		small_come(pair, from, to);
		small_go(pair, from, to);
	}
}

static void small_over_cuts(struct pair *pair, enum cut cut)
{
	for (int cable = 0; cable < 2; cable++) {
		small_cross(pair, 0, 100);
		/* In the middle of what the second one still has to take. */
		if (pair->is_first) {
			small_go(pair, 0, 50);
			cable_cut(cable, cut);
			small_go(pair, 50, SMALL);
		} else {
			small_come(pair, 0, SMALL);
		}
		small_cross(pair, 0, 100);
		pair_meet(pair);
		if (pair->is_first)
			cable_mend(cable, cut);
		pair_meet(pair);
		small_cross(pair, 0, 100);
	}
}

static void small_arrive_when_a_cable_is_down(struct pair *pair)
{
	small_over_cuts(pair, CUT_DOWN);
}

static void small_arrive_when_a_cable_is_silent(struct pair *pair)
{
	small_over_cuts(pair, CUT_SILENT);
}

static void small_arrive_when_connections_break(struct pair *pair)
{
	small_over_cuts(pair, CUT_RESET);
}

static void large_go(struct pair *pair, unsigned int i)
{
	pair_fill(out, LARGE, i);
	pair_retry(pair,
		   fi_tsend(pair->ep, out, LARGE, NULL, pair->peer, i, NULL));
	pair_wait(pair, pair->send_cq, NULL);
}

static void large_comes(struct pair *pair, unsigned int i)
{
	memset(in, 0, LARGE);
	pair_do(fi_trecv(pair->ep, in, LARGE, NULL, pair->peer, i, 0, NULL));
	pair_check(pair_wait(pair, pair->receive_cq, NULL).len == LARGE);
	pair_check(pair_is_filled(in, LARGE, i));
}

/*
 * A cable that is well, or was mended, carries so much of `count` messages in
 * the end: a busy machine may take it for silent for a while.
 */
static void large_until(struct pair *pair, unsigned int count, uint64_t least)
{
	char go_on = 1;

	for (unsigned int turn = 0; go_on; turn++) {
		uint64_t before[2] = { cable_bytes(0), cable_bytes(1) };
		pair_check(turn < TURNS_MAX);
		for (unsigned int i = 0; i < count; i++) {
			if (pair->is_first)
				large_go(pair, turn + i);
			else
				large_comes(pair, turn + i);
		}
		go_on = cable_bytes(0) - before[0] <= least ||
			cable_bytes(1) - before[1] <= least;
		/* Data flows from the first one. */
		if (pair->is_first)
			pair_check(write(pair->fd, &go_on, 1) == 1);
		else
			while (read(pair->fd, &go_on, 1) != 1)
				;
	}
}

/* Of four times the size each cable has a good part. */
static void large_go_by_both(struct pair *pair)
{
	large_until(pair, 4, LARGE);
}

/* The cut comes when the first piece is there, while the rest is under way. */
static void large_comes_over_cut(struct pair *pair, unsigned int i, int cable,
				 enum cut cut)
{
	memset(in, 0, LARGE);
	pair_do(fi_trecv(pair->ep, in, LARGE, NULL, pair->peer, i, 0, NULL));
	pair_fill(out, 1, i);
	while (*(volatile uint8_t *)&in[LARGE / 2] == 0 &&
	       *(volatile uint8_t *)&in[1000] == 0)
		pair_progress(pair);
	cable_cut(cable, cut);
	pair_check(pair_wait(pair, pair->receive_cq, NULL).len == LARGE);
	pair_check(pair_is_filled(in, LARGE, i));
}

static void large_over_cuts(struct pair *pair, enum cut cut)
{
	for (int cable = 0; cable < 2; cable++) {
		for (unsigned int i = 0; i < 3; i++) {
			if (pair->is_first)
				large_go(pair, i);
			else if (i == 1)
				large_comes_over_cut(pair, i, cable, cut);
			else
				large_comes(pair, i);
		}
		pair_meet(pair);
		if (!pair->is_first)
			cable_mend(cable, cut);
		pair_meet(pair);
		large_until(pair, 1, LARGE / 8);
		small_cross(pair, 0, 100);
	}
}

static void large_arrive_when_a_cable_is_down(struct pair *pair)
{
	large_over_cuts(pair, CUT_DOWN);
}

static void large_arrive_when_a_cable_is_silent(struct pair *pair)
{
	large_over_cuts(pair, CUT_SILENT);
}

static void large_arrive_when_connections_break(struct pair *pair)
{
	large_over_cuts(pair, CUT_RESET);
}

/* --- reads, writes and atomic operations of the program's --- */

static struct fid_mr *mr;

static void memory_is_registered(struct pair *pair)
{
	pair_fill(memory.read, LARGE, 7);
	if (!pair->is_first)
		pair_do(fi_mr_reg(pair->domain, &memory, sizeof(memory),
				  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0,
				  &mr, NULL));
}

static void memory_is_given_back(struct pair *pair)
{
	if (!pair->is_first)
		pair_do(fi_close(&mr->fid));
}

static void large_ones_begin(struct pair *pair, unsigned int i)
{
	pair_fill(out, LARGE, i);
	memset(in, 0, LARGE);
	pair_retry(pair, fi_write(pair->ep, out, LARGE, NULL, pair->peer,
				  offsetof(struct memory, written), KEY, out));
	pair_retry(pair, fi_read(pair->ep, in, LARGE, NULL, pair->peer,
				 offsetof(struct memory, read), KEY, in));
}

static void reach_all(struct pair *pair, unsigned int i, int cable,
		      enum cut cut)
{
	static uint64_t reached, one = 1;
	static uint64_t before[ACCESSES], words[ACCESSES];

	large_ones_begin(pair, i);
	/* When the first piece is there, while the rest is under way. */
	while (cable >= 0 && *(volatile uint8_t *)&in[LARGE / 2] == 0 &&
	       *(volatile uint8_t *)&in[1000] == 0)
		pair_progress(pair);
	if (cable >= 0)
		cable_cut(cable, cut);
	for (uint64_t n = 0; n < ACCESSES; n++) {
		words[n] = n;
		pair_retry(pair,
			   fi_fetch_atomic(pair->ep, &one, 1, NULL, &before[n],
					   NULL, pair->peer,
					   offsetof(struct memory, count), KEY,
					   FI_UINT64, FI_SUM, before));
		pair_retry(pair, fi_writedata(pair->ep, &words[n], 8, NULL, n,
					      pair->peer,
					      offsetof(struct memory, word),
					      KEY, words));
	}
	for (unsigned int n = 0; n < 2 * ACCESSES + 2; n++)
		pair_wait(pair, pair->send_cq, NULL);
	pair_check(pair_is_filled(in, LARGE, 7));
	for (unsigned int n = 0; n < ACCESSES; n++)
		pair_check(before[n] == reached++);
}

/* Each is done once, and counted. */
static void are_reached(struct pair *pair, unsigned int i)
{
	static uint64_t reads, writes;

	for (uint64_t n = 0; n < ACCESSES; n++) {
		struct fi_cq_tagged_entry entry =
			pair_wait(pair, pair->receive_cq, NULL);
		pair_check((entry.flags & FI_REMOTE_CQ_DATA) != 0 &&
			   entry.data == n);
	}
	reads += ACCESSES + 1;
	writes += ACCESSES + 1;
	pair_do(fi_cntr_wait(pair->remote_read_cntr, reads, -1));
	pair_do(fi_cntr_wait(pair->remote_write_cntr, writes, -1));
	pair_meet(pair);
	pair_check(fi_cntr_read(pair->remote_read_cntr) == reads);
	pair_check(fi_cntr_read(pair->remote_write_cntr) == writes);
	pair_check(pair_is_filled(memory.written, LARGE, i));
	pair_check(memory.word == ACCESSES - 1);
}

static void reach_round(struct pair *pair, unsigned int i, int cable,
			enum cut cut)
{
	pair_meet(pair);
	if (pair->is_first) {
		reach_all(pair, i, cable, cut);
		pair_meet(pair);
	} else {
		are_reached(pair, i);
	}
	pair_meet(pair);
}

/* The same of what is read and written, both ways. */
static void accesses_until(struct pair *pair, unsigned int count,
			   uint64_t least)
{
	bool both = false, other = false;

	for (unsigned int turn = 0; !both || !other; turn++) {
		uint64_t before[2] = { cable_bytes(0), cable_bytes(1) };
		pair_check(turn < TURNS_MAX);
		for (unsigned int i = 0; i < count; i++)
			reach_round(pair, i, -1, 0);
		both = cable_bytes(0) - before[0] > least &&
		       cable_bytes(1) - before[1] > least;
		pair_check(write(pair->fd, &both, 1) == 1);
		while (read(pair->fd, &other, 1) != 1)
			;
	}
}

static void accesses_go_by_both(struct pair *pair)
{
	accesses_until(pair, 4, LARGE);
}

static void accesses_over_cuts(struct pair *pair, enum cut cut)
{
	for (int cable = 0; cable < 2; cable++) {
		for (unsigned int i = 0; i < 3; i++)
			reach_round(pair, i, i == 1 ? cable : -1, cut);
		if (pair->is_first)
			cable_mend(cable, cut);
		accesses_until(pair, 1, LARGE / 8);
	}
}

static void accesses_go_on_when_a_cable_is_down(struct pair *pair)
{
	accesses_over_cuts(pair, CUT_DOWN);
}

static void accesses_go_on_when_a_cable_is_silent(struct pair *pair)
{
	accesses_over_cuts(pair, CUT_SILENT);
}

static void accesses_go_on_when_connections_break(struct pair *pair)
{
	accesses_over_cuts(pair, CUT_RESET);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE |
			FI_RMA | FI_ATOMIC | FI_RMA_EVENT,
		.prepare = network_make,
	};
	static const struct pair_case cases[] = {
		pair_case(large_go_by_both),
		pair_case(small_arrive_when_a_cable_is_down),
		pair_case(small_arrive_when_a_cable_is_silent),
		pair_case(small_arrive_when_connections_break),
		pair_case(large_arrive_when_a_cable_is_down),
		pair_case(large_arrive_when_a_cable_is_silent),
		pair_case(large_arrive_when_connections_break),
		pair_case(memory_is_registered),
		pair_case(accesses_go_by_both),
		pair_case(accesses_go_on_when_a_cable_is_down),
		pair_case(accesses_go_on_when_a_cable_is_silent),
		pair_case(accesses_go_on_when_connections_break),
		pair_case(memory_is_given_back),
	};

	/* What other tests say of the interface is not true here. */
	if (getenv("FAIRLEAD_INTERFACES") == NULL)
		unsetenv("FI_TCP_IFACE");
	unsetenv("FI_NET_IFACE");
	return pair_run(&setting, cases, COUNT_OF(cases));
}
