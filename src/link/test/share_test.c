/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What endpoints share, by several threads: queues, counters and a vector,
 * while endpoints are opened and closed; regions that are closed while they are
 * reached.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include <rdma/fi_rma.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define OPENERS         2
#define TURNS           5
#define LARGE           20000
#define REGION          (4 << 20)
#define REGIONS         20
#define KEY             9
#define TAG_OF_PAIR     100

static atomic_bool is_over;

/* --- endpoints that come and go --- */

struct opener {
	struct pair *pair;
	unsigned int number;
	fi_addr_t old; /* the one that is there all the time */
	pthread_t thread;
	uint8_t out[LARGE], in[LARGE];
};

static struct fid_ep *open_one(struct pair *pair)
{
	struct fid_ep *ep;

	pair_do(fi_endpoint(pair->domain, pair->info, &ep, NULL));
	pair_do(fi_ep_bind(ep, &pair->send_cq->fid, FI_TRANSMIT));
	pair_do(fi_ep_bind(ep, &pair->receive_cq->fid, FI_RECV));
	pair_do(fi_ep_bind(ep, &pair->send_cntr->fid, FI_SEND));
	pair_do(fi_ep_bind(ep, &pair->receive_cntr->fid, FI_RECV));
	pair_do(fi_ep_bind(ep, &pair->av->fid, 0));
	pair_do(fi_enable(ep));
	return ep;
}

static void speak(struct opener *o, struct fid_ep *ep, size_t size,
		  unsigned int seed)
{
	struct pair *pair = o->pair;
	atomic_bool sent = false, received = false;

	pair_fill(o->out, size, seed);
	pair_do(fi_trecv(pair->ep, o->in, sizeof(o->in), NULL, FI_ADDR_UNSPEC,
			 o->number, 0, &received));
	pair_retry_done(pair, fi_tsend(ep, o->out, size, NULL, o->old,
				       o->number, &sent));
	pair_wait_done(pair, &sent);
	pair_wait_done(pair, &received);
	pair_check(pair_is_filled(o->in, size, seed));
}

static void *open_and_close(void *arg)
{
	struct opener *o = arg;
	struct pair *pair = o->pair;

	for (unsigned int i = 0; i < TURNS; i++) {
		struct fid_ep *ep = open_one(pair);
		uint8_t name[64];
		size_t size = sizeof(name);
		fi_addr_t address;
		pair_do(fi_getname(&ep->fid, name, &size));
		pair_check(fi_av_insert(pair->av, name, 1, &address, 0, NULL) ==
			   1);
		speak(o, ep, 8, 2 * i);
		speak(o, ep, LARGE, 2 * i + 1);
		pair_do(fi_av_remove(pair->av, &address, 1, 0));
		pair_do(fi_close(&ep->fid));
	}
	return NULL;
}

static void *count(void *arg)
{
	struct pair *pair = arg;
	uint64_t last = 0;

	while (!atomic_load(&is_over)) {
		uint64_t now = fi_cntr_read(pair->receive_cntr);
		pair_check(now >= last);
		last = now;
		fi_cntr_read(pair->send_cntr);
	}
	return NULL;
}

/* Until both know that the other's openers are done. */
static void *speak_with_other(void *arg)
{
	struct pair *pair = arg;
	uint32_t here = 0, there = 0;

	while (here == 0 || there == 0) {
		atomic_bool sent = false, received = false;
		here = atomic_load(&is_over);
		pair_do(fi_trecv(pair->ep, &there, sizeof(there), NULL,
				 pair->peer, TAG_OF_PAIR, 0, &received));
		pair_retry_done(pair,
				fi_tsend(pair->ep, &here, sizeof(here), NULL,
					 pair->peer, TAG_OF_PAIR, &sent));
		pair_wait_done(pair, &sent);
		pair_wait_done(pair, &received);
	}
	return NULL;
}

static void endpoints_come_and_go_while_others_go_on(struct pair *pair)
{
	static struct opener openers[OPENERS];
	pthread_t counter, speaker;
	uint8_t name[64];
	size_t size = sizeof(name);
	fi_addr_t self;

	pair_do(fi_getname(&pair->ep->fid, name, &size));
	pair_check(fi_av_insert(pair->av, name, 1, &self, 0, NULL) == 1);
	atomic_store(&is_over, false);
	pair_check(pthread_create(&counter, NULL, count, pair) == 0);
	pair_check(pthread_create(&speaker, NULL, speak_with_other, pair) == 0);
	for (unsigned int i = 0; i < OPENERS; i++) {
		openers[i].pair = pair;
		openers[i].number = i;
		openers[i].old = self;
		pair_check(pthread_create(&openers[i].thread, NULL,
					  open_and_close, &openers[i]) == 0);
	}
	for (unsigned int i = 0; i < OPENERS; i++)
		pair_check(pthread_join(openers[i].thread, NULL) == 0);
	atomic_store(&is_over, true);
	pair_check(pthread_join(counter, NULL) == 0);
	pair_check(pthread_join(speaker, NULL) == 0);
}

/* --- regions that come and go --- */

static void *look_after(void *arg)
{
	struct pair *pair = arg;

	while (!atomic_load(&is_over))
		pair_progress(pair);
	return NULL;
}

/*
 * Closed while it is read again and again, by the other thread: this one does
 * not look after it then. The memory is gone when its region is.
 */
static void regions_open_and_close(struct pair *pair)
{
	pthread_t thread;

	atomic_store(&is_over, false);
	pair_check(pthread_create(&thread, NULL, look_after, pair) == 0);
	for (unsigned int i = 0; i < REGIONS; i++) {
		struct fid_mr *mr;
		void *bytes =
			mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		pair_check(bytes != MAP_FAILED);
		pair_do(fi_mr_reg(pair->domain, bytes, REGION, FI_REMOTE_READ,
				  0, KEY, 0, &mr, NULL));
		pair_meet(pair);
		pair_meet(pair);
		for (unsigned int k = 0; k < i; k++)
			sched_yield();
		pair_do(fi_close(&mr->fid));
		pair_check(munmap(bytes, REGION) == 0);
		pair_meet(pair);
	}
	atomic_store(&is_over, true);
	pair_check(pthread_join(thread, NULL) == 0);
}

static ssize_t region_read(struct pair *pair)
{
	static uint8_t in[REGION];
	struct fi_cq_tagged_entry entry;
	ssize_t got;

	pair_retry(pair, fi_read(pair->ep, in, sizeof(in), NULL, pair->peer, 0,
				 KEY, NULL));
	while ((got = fi_cq_read(pair->send_cq, &entry, 1)) == -FI_EAGAIN)
		pair_progress(pair);
	return got;
}

/* Until there is none any more: which is all that may be said of it. */
static void regions_read(struct pair *pair)
{
	for (unsigned int i = 0; i < REGIONS; i++) {
		struct fi_cq_err_entry failure = { 0 };
		ssize_t got;
		pair_meet(pair);
		pair_check(region_read(pair) == 1);
		pair_meet(pair);
		while ((got = region_read(pair)) == 1)
			;
		pair_check(got == -FI_EAVAIL);
		pair_check(fi_cq_readerr(pair->send_cq, &failure, 0) == 1);
		pair_check(failure.err == FI_EKEYREJECTED);
		pair_meet(pair);
	}
}

static void a_region_that_is_reached_is_closed_after_that(struct pair *pair)
{
	if (!pair_is_local())
		return; /* its core sees to that */
	if (pair->is_first)
		regions_open_and_close(pair);
	else
		regions_read(pair);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_DIRECTED_RECV |
			FI_SOURCE,
		.threading = FI_THREAD_SAFE,
	};
	static const struct pair_case cases[] = {
		pair_case(endpoints_come_and_go_while_others_go_on),
		pair_case(a_region_that_is_reached_is_closed_after_that),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
