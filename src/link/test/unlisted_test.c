/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages from who is not in the receiver's address vector, or comes later. */
#include <string.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static size_t sizes[] = { 0, 100, 4000, 20000, 500000 };
static uint8_t out[500000], in[500000];

static void send_all(struct pair *pair)
{
	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		pair_fill(out, sizes[i], i);
		pair_retry(pair, fi_tsend(pair->ep, out, sizes[i], NULL,
					  pair->peer, 3, NULL));
		pair_wait(pair, pair->send_cq, NULL);
	}
}

static void receive_all(struct pair *pair, fi_addr_t from, fi_addr_t said)
{
	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		fi_addr_t source = 0;
		pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, from, 3, 0,
				 NULL));
		struct fi_cq_tagged_entry entry =
			pair_wait(pair, pair->receive_cq, &source);
		pair_check(entry.len == sizes[i]);
		pair_check(source == said);
		pair_check(pair_is_filled(in, sizes[i], i));
	}
}

static void messages_of_an_unlisted_peer_arrive(struct pair *pair)
{
	if (pair->is_first)
		send_all(pair);
	else
		receive_all(pair, FI_ADDR_UNSPEC, FI_ADDR_NOTAVAIL);
}

/* Of three that wait, one is taken by a receive that names the sender. */
static void what_came_before_the_address_is_its_sender_s(struct pair *pair)
{
	if (pair->is_first) {
		for (unsigned int i = 0; i < 3; i++)
			pair_retry(pair, fi_tinject(pair->ep, &i, sizeof(i),
						    pair->peer, 8));
		pair_meet(pair);
		return;
	}
	unsigned int got[3] = { 9, 9, 9 };
	pair_meet(pair);
	pair_do(fi_trecv(pair->ep, &got[0], sizeof(got[0]), NULL, 0, 8, 0,
			 NULL));
	for (unsigned int turn = 0; turn < 1000; turn++)
		pair_progress(pair);
	pair_insert(pair);
	pair_check(pair->peer == 0);
	for (unsigned int i = 1; i < 3; i++)
		pair_do(fi_trecv(pair->ep, &got[i], sizeof(got[i]), NULL,
				 pair->peer, 8, 0, NULL));
	for (unsigned int i = 0; i < 3; i++) {
		fi_addr_t source = FI_ADDR_UNSPEC;
		pair_wait(pair, pair->receive_cq, &source);
		pair_check(source == pair->peer);
	}
	for (unsigned int i = 0; i < 3; i++)
		pair_check(got[i] == i);
}

static void who_is_known_is_named(struct pair *pair)
{
	for (unsigned int turn = 0; turn < 3; turn++) {
		if (pair->is_first)
			send_all(pair);
		else
			receive_all(pair, pair->peer, pair->peer);
	}
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
		.is_one_sided = true,
	};
	static const struct pair_case cases[] = {
		pair_case(messages_of_an_unlisted_peer_arrive),
		pair_case(what_came_before_the_address_is_its_sender_s),
		pair_case(who_is_known_is_named),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
