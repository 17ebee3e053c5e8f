/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses that are inserted and removed while messages come. */
#include <pthread.h>
#include <rdma/fi_atomic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/address/address.h"
#include "link/test/pair.h"
#include "link/test/sanitizer.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define TAG             5
#define MANY            512 /* some chunks of the vector */
#define CHUNK           256
#define CHUNK_HALF      128 /* of a chunk that two fill */

static void exchange(struct pair *pair, fi_addr_t peer, unsigned int number)
{
	uint64_t out = number, in = 0;
	fi_addr_t source = FI_ADDR_NOTAVAIL;

	pair_do(fi_trecv(pair->ep, &in, sizeof(in), NULL, peer, TAG, 0, NULL));
	pair_retry(pair,
		   fi_tinject(pair->ep, &out, sizeof(out), pair->peer, TAG));
	pair_wait(pair, pair->receive_cq, &source);
	pair_check(in == number && source == peer);
}

static void an_address_is_one_peer_however_often_it_is_inserted(
	struct pair *pair)
{
	fi_addr_t again[2];

	exchange(pair, pair->peer, 1);
	for (unsigned int i = 0; i < COUNT_OF(again); i++) {
		again[i] = FI_ADDR_NOTAVAIL;
		pair_check(fi_av_insert(pair->av, pair->peer_name, 1, &again[i],
					0, NULL) == 1);
		pair_check(again[i] == pair->peer);
		exchange(pair, again[i], 2 + i);
	}
}

/* After two more insertions. */
static void a_peer_is_there_until_it_was_removed_as_often(struct pair *pair)
{
	uint8_t name[sizeof(pair->peer_name)];
	size_t size = sizeof(name);

	for (unsigned int i = 0; i < 2; i++) {
		pair_do(fi_av_remove(pair->av, &pair->peer, 1, 0));
		exchange(pair, pair->peer, 4 + i);
	}
	pair_meet(pair);
	pair_do(fi_av_remove(pair->av, &pair->peer, 1, 0));
	pair_check(fi_av_lookup(pair->av, pair->peer, name, &size) ==
		   -FI_EINVAL);
	pair_check(fi_av_remove(pair->av, &pair->peer, 1, 0) == -FI_EINVAL);
	pair_meet(pair);
	pair_insert(pair);
	pair_meet(pair);
	exchange(pair, pair->peer, 6);
}

static pthread_barrier_t together;

static unsigned int arrived[2]; /* of the two threads, by how often */

struct inserter {
	unsigned int index;
	struct pair *pair;
	uint64_t first; /* number of an endpoint that there is not */
	pthread_t thread;
	fi_addr_t addresses[MANY];
};

/* --- the moment in which a chunk is made --- */

#if !IS_SANITIZED /* else they meet by chance */
#define NOBODY -1
#define MET    -2

static int waiting = NOBODY; /* which of the two threads does */
static _Thread_local int inserting = NOBODY;
static pid_t threads[2];

/* As who waits for a lock, or has ended. */
static bool is_asleep(int index)
{
	char path[64], text[256] = "";
	FILE *file;
	bool is_asleep;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", threads[index]);
	file = fopen(path, "re");
	is_asleep = file == NULL || fgets(text, sizeof(text), file) == NULL ||
		    strstr(text, ") S ") != NULL;
	if (file != NULL)
		fclose(file);
	return is_asleep;
}

static bool waiting_turns(int from, int to)
{
	return __atomic_compare_exchange_n(&waiting, &from, to, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Until the other one makes a chunk as well, or cannot since a lock is held. */
static void meet_in_making(int index)
{
	if (waiting_turns(!index, MET))
		return;
	pair_check(waiting_turns(NOBODY, index));
	while (!waiting_turns(MET, NOBODY) &&
	       !(is_asleep(!index) && waiting_turns(index, NOBODY)))
		sched_yield();
}

extern void *__libc_calloc(size_t count, size_t size);

void *calloc(size_t count, size_t size)
{
	int index = inserting;

	if (index != NOBODY && count == CHUNK) {
		inserting = NOBODY; /* not within this */
		meet_in_making(index);
		inserting = index;
	}
	return __libc_calloc(count, size);
}
#endif

/* Both go on at one moment: sleeping until then would take too long. */
static void meet_other(unsigned int index)
{
	unsigned int mine =
		__atomic_add_fetch(&arrived[index], 1, __ATOMIC_ACQ_REL);

	while (__atomic_load_n(&arrived[!index], __ATOMIC_ACQUIRE) < mine)
		continue;
}

/* An endpoint of another node, where the peer's fabric is. */
static void insert_other(struct pair *pair, uint64_t number,
			 fi_addr_t *ret_address)
{
	uint8_t bytes[LINK_ADDRESS_SIZE];
	struct link_address address;

	pair_do(link_address_decode(pair->peer_name, &address, NULL));
	address.number = number;
	address.node++;
	pair_check(link_address_encode(&address, bytes) >= 0);
	fi_av_insert(pair->av, bytes, 1, ret_address, 0, NULL);
}

/*
 * What it sends meanwhile may not name it: it knows that it is known, and does not
 * hear that it is no more.
 */
static void what_a_removed_peer_sends_is_its_when_it_is_back(struct pair *pair)
{
	fi_addr_t other;

	/* What tells each that it is known has come. */
	for (unsigned int i = 0; i < 3; i++) {
		exchange(pair, pair->peer, 20 + i);
		pair_meet(pair);
	}
	for (uint64_t turn = 0; turn < 3; turn++) {
		if (pair->is_first) {
			pair_meet(pair);
			for (uint64_t i = 0; i < 3; i++)
				pair_retry(pair,
					   fi_tinject(pair->ep, &i, sizeof(i),
						      pair->peer, TAG));
			pair_meet(pair);
			continue;
		}
		pair_do(fi_av_remove(pair->av, &pair->peer, 1, 0));
		/* Not those of who might get its place in the core. */
		insert_other(pair, 100000 + turn, &other);
		pair_meet(pair);
		pair_peek(pair, TAG);
		pair_insert(pair);
		for (uint64_t i = 0, got; i < 3; i++) {
			fi_addr_t source = FI_ADDR_NOTAVAIL;
			pair_do(fi_trecv(pair->ep, &got, sizeof(got), NULL,
					 pair->peer, TAG, 0, NULL));
			pair_wait(pair, pair->receive_cq, &source);
			pair_check(got == i && source == pair->peer);
		}
		pair_meet(pair);
	}
}

/* Its place in the vector may be another one's meanwhile. */
static void a_message_that_waits_stays_its_senders(struct pair *pair)
{
	fi_addr_t other = FI_ADDR_NOTAVAIL, source = FI_ADDR_NOTAVAIL;
	uint64_t value = 77;

	if (pair->is_first) {
		pair_retry(pair, fi_tinject(pair->ep, &value, sizeof(value),
					    pair->peer, TAG + 1));
		pair_meet(pair);
		return;
	}
	pair_peek(pair, TAG + 1);
	pair_do(fi_av_remove(pair->av, &pair->peer, 1, 0));
	insert_other(pair, 200000, &other);
	if (other != FI_ADDR_NOTAVAIL) {
		const struct fi_msg_tagged peek = { .addr = other,
						    .tag = TAG + 1 };
		pair_check(other == pair->peer);
		pair_do(fi_trecvmsg(pair->ep, &peek, FI_PEEK));
		pair_check(pair_wait_failure(pair, pair->receive_cq).err ==
			   FI_ENOMSG);
		pair_do(fi_av_remove(pair->av, &other, 1, 0));
	}
	pair_insert(pair);
	value = 0;
	pair_do(fi_trecv(pair->ep, &value, sizeof(value), NULL, pair->peer,
			 TAG + 1, 0, NULL));
	pair_wait(pair, pair->receive_cq, &source);
	pair_check(value == 77 && source == pair->peer);
	pair_meet(pair);
}

static void *insert_many(void *arg)
{
	struct inserter *inserter = arg;

#if !IS_SANITIZED
	threads[inserter->index] = gettid();
	inserting = (int)inserter->index;
#endif
	for (unsigned int i = 0; i < MANY; i++) {
		pthread_barrier_wait(&together);
		if (i % CHUNK_HALF >= CHUNK_HALF - 2)
			meet_other(inserter->index);
		insert_other(inserter->pair, inserter->first + i,
			     &inserter->addresses[i]);
	}
	return NULL;
}

/* An operation that there is not is refused as such of a peer that is known. */
static bool is_known(const struct pair *pair, fi_addr_t address)
{
	uint64_t value = 0;

	return fi_atomic(pair->ep, &value, 1, NULL, address, 0, 0, FI_UINT64,
			 FI_CSWAP, NULL) == -FI_EOPNOTSUPP;
}

static void what_two_threads_insert_is_all_there(struct pair *pair)
{
	bool has_fabric = strcmp(getenv("FI_FAIRLEAD_LINKS"), "shm") != 0;
	static struct inserter inserters[2];
	fi_addr_t one;

	/* With it each of the two is the first in a chunk at the same time. */
	insert_other(pair, 1, &one);
	pair_check(pthread_barrier_init(&together, NULL, 2) == 0);
	for (unsigned int i = 0; i < 2; i++) {
		inserters[i].pair = pair;
		inserters[i].index = i;
		inserters[i].first = 2 + i * MANY;
		pair_check(pthread_create(&inserters[i].thread, NULL,
					  insert_many, &inserters[i]) == 0);
	}
	for (unsigned int i = 0; i < 2; i++) {
		pair_check(pthread_join(inserters[i].thread, NULL) == 0);
		for (unsigned int k = 0; k < MANY; k++) {
			fi_addr_t address = inserters[i].addresses[k];
			pair_check((address != FI_ADDR_NOTAVAIL) == has_fabric);
			pair_check(!has_fabric || is_known(pair, address));
		}
	}
	pair_meet(pair);
	exchange(pair, pair->peer, 7);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE | FI_ATOMIC,
	};
	static const struct pair_case cases[] = {
		pair_case(an_address_is_one_peer_however_often_it_is_inserted),
		pair_case(a_peer_is_there_until_it_was_removed_as_often),
		pair_case(what_a_removed_peer_sends_is_its_when_it_is_back),
		pair_case(a_message_that_waits_stays_its_senders),
		pair_case(what_two_threads_insert_is_all_there),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
