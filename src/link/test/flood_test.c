/* SPDX-License-Identifier: BSD-3-Clause */
/* Very many messages that nobody expects: kept, in their order, or waited with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link/test/pair.h"

#define COUNT_OF(array)  (sizeof(array) / sizeof((array)[0]))
#define SMALL_COUNT      100000
#define LARGE_COUNT      2000
#define LARGE_COUNT_LONG 100000
#define LARGE            65536

static uint8_t out[LARGE], in[LARGE];

static unsigned int large_count(void)
{
	const char *length = getenv("FAIRLEAD_TEST");

	return length != NULL && strcmp(length, "long") == 0 ? LARGE_COUNT_LONG
							     : LARGE_COUNT;
}

/* The last message is another: when it is seen, all have come. */
static void wait_until_all_are_here(struct pair *pair)
{
	pair_peek(pair, 2);
}

static void small_messages_wait(struct pair *pair)
{
	if (pair->is_first) {
		for (uint64_t i = 0; i <= SMALL_COUNT; i++)
			pair_retry(pair, fi_tinject(pair->ep, &i, sizeof(i),
						    pair->peer,
						    i == SMALL_COUNT ? 2 : 1));
		return;
	}
	wait_until_all_are_here(pair);
	for (uint64_t i = 0, got = 0; i <= SMALL_COUNT; i++, got = 0) {
		pair_do(fi_trecv(pair->ep, &got, sizeof(got), NULL,
				 i % 2 == 0 ? pair->peer : FI_ADDR_UNSPEC,
				 i == SMALL_COUNT ? 2 : 1, 0, NULL));
		pair_wait(pair, pair->receive_cq, NULL);
		pair_check(got == i);
	}
}

static void large_messages_wait(struct pair *pair)
{
	unsigned int count = large_count();

	if (pair->is_first) {
		pair_fill(out, sizeof(out), 1);
		for (unsigned int i = 0; i < count; i++)
			pair_retry(pair, fi_tsend(pair->ep, out, sizeof(out),
						  NULL, pair->peer, i, NULL));
		pair_retry(pair, fi_tinject(pair->ep, out, 1, pair->peer,
					    UINT32_MAX));
		for (unsigned int i = 0; i < count; i++)
			pair_wait(pair, pair->send_cq, NULL);
		return;
	}
	pair_do(fi_trecv(pair->ep, in, 1, NULL, pair->peer, UINT32_MAX, 0,
			 NULL));
	pair_wait(pair, pair->receive_cq, NULL);
	for (unsigned int i = count; i-- > 0;) {
		memset(in, 0, sizeof(in));
		pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, pair->peer, i,
				 0, NULL));
		pair_wait(pair, pair->receive_cq, NULL);
		pair_check(pair_is_filled(in, sizeof(in), 1));
	}
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
	};
	static const struct pair_case cases[] = {
		pair_case(small_messages_wait),
		pair_case(large_messages_wait),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
