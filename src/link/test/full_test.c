/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues that are full: of what nobody expects, of a peer that does nothing. Who
 * sends waits, nothing is lost, and all goes on as soon as there is room.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define COUNT           5000
#define SIZE            4000
#define LARGE           50000

static uint8_t out[LARGE], in[LARGE];

/*
 * Some cores keep for us, without end, what we do not take from them; and what shm
 * has since 2.0, it does not ask for again.
 */
static void check_refused(unsigned int next)
{
	const char *link = getenv("FI_FAIRLEAD_LINKS");

	bool asks_again = FI_VERSION_LT(fi_version(), FI_VERSION(2, 0));

	if ((pair_is_local() && asks_again) || strcmp(link, "net") == 0)
		pair_check(next < COUNT);
}

/* Sends what it can, without a receive at the other side. Returns the next. */
static unsigned int send_some(struct pair *pair, unsigned int next)
{
	unsigned int refused = 0;

	while (next < COUNT && refused < 20000) {
		pair_fill(out, SIZE, next);
		long result = fi_tinject(pair->ep, out, SIZE, pair->peer, 1);
		pair_check(result == 0 || result == -FI_EAGAIN);
		next += result == 0;
		refused = result == 0 ? 0 : refused + 1;
		pair_progress(pair);
	}
	return next;
}

static void receive_one(struct pair *pair, unsigned int i)
{
	memset(in, 0, SIZE);
	pair_do(fi_trecv(pair->ep, in, SIZE, NULL, pair->peer, 1, 0, NULL));
	pair_wait(pair, pair->receive_cq, NULL);
	pair_check(pair_is_filled(in, SIZE, i));
}

static void who_sends_more_than_is_kept_waits(struct pair *pair)
{
	if (pair->is_first) {
		unsigned int next = send_some(pair, 0);
		check_refused(next);
		pair_meet(pair);
		while (next < COUNT)
			next = send_some(pair, next);
		return;
	}
	pair_meet(pair);
	pair_peek(pair, 1);
	for (unsigned int i = 0; i < COUNT; i++)
		receive_one(pair, i);
}

/* One message is kept. What has a receive goes past it. */
static void what_is_expected_finds_room(struct pair *pair)
{
	if (!pair->is_first) {
		pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, pair->peer, 2,
				 0, in));
		pair_meet(pair);
		pair_wait(pair, pair->receive_cq, NULL);
		pair_check(pair_is_filled(in, sizeof(in), 2));
		pair_meet(pair);
		receive_one(pair, 0);
		return;
	}
	pair_meet(pair);
	pair_fill(out, SIZE, 0);
	pair_retry(pair, fi_tinject(pair->ep, out, SIZE, pair->peer, 1));
	pair_fill(out, sizeof(out), 2);
	pair_retry(pair, fi_tsend(pair->ep, out, sizeof(out), NULL, pair->peer,
				  2, NULL));
	pair_meet(pair);
	pair_wait(pair, pair->send_cq, NULL);
}

/* Both send and receive at once, as each can. */
static void both_may_be_full(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;
	unsigned int next = send_some(pair, 0), got = 0;

	check_refused(next);
	pair_meet(pair);
	pair_do(fi_trecv(pair->ep, in, SIZE, NULL, pair->peer, 1, 0, NULL));
	while (next < COUNT || got < COUNT) {
		pair_fill(out, SIZE, next);
		if (next < COUNT &&
		    fi_tinject(pair->ep, out, SIZE, pair->peer, 1) == 0)
			next++;
		if (fi_cq_read(pair->receive_cq, &entry, 1) != 1)
			continue;
		pair_check(pair_is_filled(in, SIZE, got));
		if (++got < COUNT)
			pair_do(fi_trecv(pair->ep, in, SIZE, NULL, pair->peer,
					 1, 0, NULL));
	}
}

static void a_peer_that_does_nothing_is_waited_for(struct pair *pair)
{
	if (pair->is_first) {
		unsigned int next = send_some(pair, 0);
		check_refused(next);
		pair_meet_blind(pair);
		while (next < COUNT)
			next = send_some(pair, next);
		return;
	}
	pair_meet_blind(pair);
	for (unsigned int i = 0; i < COUNT; i++)
		receive_one(pair, i);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
	};
	static const struct pair_case few[] = {
		pair_case(what_is_expected_finds_room),
	};
	static const struct pair_case many[] = {
		pair_case(who_sends_more_than_is_kept_waits),
		pair_case(both_may_be_full),
		pair_case(a_peer_that_does_nothing_is_waited_for),
	};
	int status = 0;
	pid_t child = fork();

	pair_check(child >= 0);
	setenv("FI_FAIRLEAD_UNEXPECTED_MAX", child == 0 ? "0" : "100000", 1);
	if (child == 0)
		exit(pair_run(&setting, few, COUNT_OF(few)));
	pair_check(waitpid(child, &status, 0) == child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	return pair_run(&setting, many, COUNT_OF(many));
}
