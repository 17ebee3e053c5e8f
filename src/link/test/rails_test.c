/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes, each in a network of its own, with two cables between them,
 * and a link that has both as rails. Cables are cut while something is under
 * way: everything has to arrive, once and in order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fi_rma.h>

#include "link/test/cables.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SMALL           2000
#define LARGE           (8 << 20)
#define LARGES          12
#define DEPTH           64

static uint8_t out[LARGE], in[LARGE];

static bool network_make(struct pair *pair)
{
	return cables_make(pair, 2);
}

/* What has gone out by a cable. */
static uint64_t bytes_of(int cable)
{
	unsigned long long bytes = 0, skipped;
	char line[256], name[32];
	FILE *file = fopen("/proc/self/net/dev", "re");

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		int index = -1;
		if (sscanf(line,
			   " %31[^:]: %llu %llu %llu %llu %llu %llu %llu "
			   "%llu %llu",
			   name, &skipped, &skipped, &skipped, &skipped,
			   &skipped, &skipped, &skipped, &skipped,
			   &bytes) == 10 &&
		    sscanf(name, "e%d", &index) == 1 && index == cable)
			break;
		bytes = 0;
	}
	if (file != NULL)
		fclose(file);
	return bytes;
}

enum cut {
	CUT_DOWN,   /* both ends see it */
	CUT_SILENT, /* nothing gets through, and nobody is told */
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

static void large_go_by_both(struct pair *pair)
{
	uint64_t before[2], after[2];

	for (int i = 0; i < 2; i++)
		before[i] = bytes_of(i);
	for (unsigned int i = 0; i < 4; i++) {
		if (pair->is_first)
			large_go(pair, i);
		else
			large_comes(pair, i);
	}
	for (int i = 0; i < 2; i++)
		after[i] = bytes_of(i);
	/* Of four times the size each cable had a good part. */
	for (int i = 0; i < 2 && pair->is_first; i++)
		pair_check(after[i] - before[i] > LARGE);
}

/* A cable that was mended carries its part again, in the end. */
static void until_both_are_used(struct pair *pair)
{
	for (unsigned int i = 0;; i++) {
		uint64_t before[2] = { bytes_of(0), bytes_of(1) };
		char go_on;
		if (pair->is_first)
			large_go(pair, i);
		else
			large_comes(pair, i);
		go_on = bytes_of(0) - before[0] < LARGE / 8 ||
			bytes_of(1) - before[1] < LARGE / 8;
		/* Data flows from the first one. */
		if (pair->is_first)
			pair_check(write(pair->fd, &go_on, 1) == 1);
		else
			while (read(pair->fd, &go_on, 1) != 1)
				;
		if (!go_on)
			return;
	}
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
		until_both_are_used(pair);
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

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE |
			FI_RMA,
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
	};

	/* What other tests say of the interface is not true here. */
	if (getenv("FAIRLEAD_INTERFACES") == NULL)
		unsetenv("FI_TCP_IFACE");
	unsetenv("FI_NET_IFACE");
	return pair_run(&setting, cases, COUNT_OF(cases));
}
