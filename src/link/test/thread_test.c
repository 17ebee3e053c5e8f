/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that share an endpoint and its queues, without a lock of theirs. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define THREADS         4
#define TURNS           200

static const size_t sizes[] = { 8, 1000, 5000, 30000 };

struct worker {
	struct pair *pair;
	unsigned int number;
	pthread_t thread;
	uint8_t out[30000], in[30000];
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct pair *pair = w->pair;

	for (unsigned int turn = 0; turn < TURNS; turn++) {
		size_t size = sizes[(turn + w->number) % COUNT_OF(sizes)];
		atomic_bool sent = false, received = false;
		pair_fill(w->out, size, turn * THREADS + w->number);
		pair_do(fi_trecv(pair->ep, w->in, sizeof(w->in), NULL,
				 turn % 2 == 0 ? pair->peer : FI_ADDR_UNSPEC,
				 w->number, 0, &received));
		pair_retry_done(pair, fi_tsend(pair->ep, w->out, size, NULL,
					       pair->peer, w->number, &sent));
		pair_wait_done(pair, &sent);
		pair_wait_done(pair, &received);
		pair_check(pair_is_filled(w->in, size,
					  turn * THREADS + w->number));
	}
	return NULL;
}

static void threads_send_and_receive(struct pair *pair)
{
	static struct worker workers[THREADS];

	for (unsigned int i = 0; i < THREADS; i++) {
		workers[i].pair = pair;
		workers[i].number = i;
		pair_check(pthread_create(&workers[i].thread, NULL, work,
					  &workers[i]) == 0);
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pair_check(pthread_join(workers[i].thread, NULL) == 0);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
		.threading = FI_THREAD_SAFE,
	};
	static const struct pair_case cases[] = {
		pair_case(threads_send_and_receive),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
