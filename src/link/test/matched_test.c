/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core that matches tags: which receives it is given, and what it is asked,
 * by its own record. The processes do not share memory with each other; where the
 * link has a local rail, the second one has an endpoint that does with its first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/test/beside.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define LARGE           300000

static const size_t sizes[] = { 0, 8, 64, 65, 5000, 16385, LARGE };
static uint8_t out[LARGE], in[LARGE];
static char path[64];

/* --- what the core was given --- */

/* From now on; what came before is forgotten. */
static void record(struct pair *pair)
{
	snprintf(path, sizeof(path), "matched-%d.record", (int)getpid());
	unlink(path);
	setenv("TESTCORE_RECORD", path, 1);
}

static void record_end(void)
{
	unsetenv("TESTCORE_RECORD");
	unlink(path);
}

/* How many lines begin so; `ret_at` is the last one's number. */
static unsigned int recorded(const char *what, unsigned int *ret_at)
{
	unsigned int count = 0, number = 0;
	char line[256];
	FILE *file = fopen(path, "r");

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		number++;
		if (strncmp(line, what, strlen(what)) != 0)
			continue;
		count++;
		if (ret_at != NULL)
			*ret_at = number;
	}
	if (file != NULL)
		fclose(file);
	return count;
}

static void send_to(struct pair *pair, size_t size, uint64_t tag)
{
	pair_fill(out, size, (unsigned int)tag);
	pair_retry(pair,
		   fi_tsend(pair->ep, out, size, NULL, pair->peer, tag, NULL));
	pair_wait(pair, pair->send_cq, NULL);
}

static void wait_for(struct pair *pair, void *context, size_t size,
		     uint64_t tag)
{
	fi_addr_t source = FI_ADDR_UNSPEC;
	struct fi_cq_tagged_entry entry =
		pair_wait(pair, pair->receive_cq, &source);

	pair_check(entry.op_context == context);
	pair_check(entry.flags == (FI_RECV | FI_TAGGED));
	pair_check(entry.len == size && entry.tag == tag);
	pair_check(source == pair->peer);
}

/* --- an endpoint that shares memory --- */

static struct beside other;

static void other_sends(struct pair *pair, size_t size, uint64_t tag)
{
	struct fi_cq_tagged_entry entry;
	ssize_t result;

	pair_fill(out, size, (unsigned int)tag);
	pair_retry(pair,
		   fi_tsend(other.ep, out, size, NULL, other.mine, tag, NULL));
	while ((result = fi_cq_read(other.cq, &entry, 1)) == -FI_EAGAIN)
		pair_progress(pair);
	pair_check(result == 1);
}

/* --- cases --- */

static void a_receive_with_a_source_is_the_core_s(struct pair *pair)
{
	record(pair);
	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		if (!pair->is_first)
			pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL,
					 pair->peer, 16 + i, 0, &in));
		pair_meet(pair);
		if (pair->is_first) {
			send_to(pair, sizes[i], 16 + i);
			continue;
		}
		wait_for(pair, &in, sizes[i], 16 + i);
		pair_check(pair_is_filled(in, sizes[i], 16 + i));
	}
	if (pair->is_first) {
		pair_check(recorded("tsend", NULL) == COUNT_OF(sizes));
	} else {
		pair_check(recorded("post", NULL) == COUNT_OF(sizes));
		pair_check(recorded("took", NULL) == COUNT_OF(sizes));
		pair_check(recorded("kept", NULL) == 0);
		pair_check(recorded("peek", NULL) == 0);
	}
	record_end();
}

/* Nobody shares memory with the endpoint yet. */
static void so_is_one_from_anybody(struct pair *pair)
{
	record(pair);
	if (!pair->is_first) {
		pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC,
				 2, 1, &in));
		pair_check(recorded("post tag=2 ignore=1 any", NULL) == 1);
	}
	pair_meet(pair);
	if (pair->is_first)
		send_to(pair, 100, 3);
	else
		wait_for(pair, &in, 100, 3);
	pair_check(recorded("peek", NULL) == 0);
	record_end();
}

static void a_cancel_is_the_core_s(struct pair *pair)
{
	record(pair);
	if (!pair->is_first) {
		pair_do(fi_trecv(pair->ep, in, 8, NULL, pair->peer, 1, 0, &in));
		pair_do(fi_cancel(&pair->ep->fid, &in));
		struct fi_cq_err_entry failure =
			pair_wait_failure(pair, pair->receive_cq);
		pair_check(failure.err == FI_ECANCELED);
		pair_check(failure.op_context == &in);
		pair_check(fi_cancel(&pair->ep->fid, &in) == -FI_ENOENT);
		pair_check(recorded("cancel tag=1", NULL) == 1);
	}
	record_end();
}

static void what_does_not_fit_is_cut(struct pair *pair)
{
	for (unsigned int i = 0; i < 4; i++) {
		size_t size = i % 2 == 0 ? 100 : LARGE;
		if (!pair->is_first && i < 2)
			pair_do(fi_trecv(pair->ep, in, 60, NULL, pair->peer, 1,
					 0, &in));
		pair_meet(pair);
		if (pair->is_first) {
			pair_retry(pair, fi_tsend(pair->ep, out, size, NULL,
						  pair->peer, 1, NULL));
			pair_wait(pair, pair->send_cq, NULL);
			continue;
		}
		/* The other two nobody expects. */
		if (i >= 2) {
			pair_peek(pair, 1);
			pair_do(fi_trecv(pair->ep, in, 60, NULL, pair->peer, 1,
					 0, &in));
		}
		struct fi_cq_err_entry failure =
			pair_wait_failure(pair, pair->receive_cq);
		pair_check(failure.err == FI_ETRUNC && failure.len == 60);
		pair_check(failure.olen == size - 60);
	}
}

static void what_nobody_expects_is_claimed_from_the_core(struct pair *pair)
{
	record(pair);
	if (pair->is_first) {
		for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
			pair_fill(out, sizes[i], 7);
			pair_retry(pair, fi_tsend(pair->ep, out, sizes[i], NULL,
						  pair->peer, 7, NULL));
			pair_wait(pair, pair->send_cq, NULL);
		}
		record_end();
		return;
	}
	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		pair_peek(pair, 7);
		pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC,
				 7, 0, &in));
		wait_for(pair, &in, sizes[i], 7);
		pair_check(pair_is_filled(in, sizes[i], 7));
	}
	pair_check(recorded("claim", NULL) == COUNT_OF(sizes));
	record_end();
}

/* --- with shared memory --- */

static void who_shares_memory_takes_receives_back(struct pair *pair)
{
	static uint8_t first[100], second[100], third[100];
	unsigned int first_at = 0, third_at = 0;

	if (pair->is_first) {
		pair_meet(pair);
		send_to(pair, 80, 5);
		send_to(pair, 90, 6);
		return;
	}
	record(pair);
	beside_open(&other, pair);
	pair_do(fi_trecv(pair->ep, first, 100, NULL, FI_ADDR_UNSPEC, 5, 0,
			 first));
	pair_do(fi_trecv(pair->ep, second, 100, NULL, pair->peer, 5, 0,
			 second));
	pair_do(fi_trecv(pair->ep, third, 100, NULL, pair->peer, 6, 0, third));
	pair_check(recorded("post", NULL) == 3);
	beside_insert(&other, pair);
	other_sends(pair, 70, 5);
	struct fi_cq_tagged_entry entry =
		pair_wait(pair, pair->receive_cq, NULL);
	pair_check(entry.op_context == first && entry.len == 70);
	/* The last one first, so that nothing overtook the first one. */
	pair_check(recorded("cancel tag=5", &first_at) == 2);
	pair_check(recorded("cancel tag=6", &third_at) == 1);
	pair_check(third_at < first_at);
	pair_meet(pair);
	wait_for(pair, second, 80, 5);
	wait_for(pair, third, 90, 6);
	record_end();
}

static void a_wildcard_shadows_what_it_fits(struct pair *pair)
{
	static uint8_t any[100], behind[100], beside[100];

	if (pair->is_first) {
		pair_meet(pair);
		send_to(pair, 10, 4);
		send_to(pair, 20, 9);
		send_to(pair, 30, 4);
		return;
	}
	/* Before it all is the core's, and stays there. */
	record(pair);
	pair_do(fi_trecv(pair->ep, in, 100, NULL, pair->peer, 8, 0, in));
	pair_check(recorded("post tag=8", NULL) == 1);
	pair_do(fi_trecv(pair->ep, any, 100, NULL, FI_ADDR_UNSPEC, 4, 0, any));
	pair_do(fi_trecv(pair->ep, behind, 100, NULL, pair->peer, 4, 0,
			 behind));
	for (unsigned int i = 0; i < 1000; i++)
		pair_progress(pair);
	pair_check(recorded("post tag=4", NULL) == 0);
	pair_check(recorded("cancel", NULL) == 0);
	pair_check(recorded("peek", NULL) > 0);
	pair_do(fi_trecv(pair->ep, beside, 100, NULL, pair->peer, 9, 0,
			 beside));
	while (recorded("post tag=9", NULL) == 0)
		pair_progress(pair);
	pair_meet(pair);
	size_t got[3] = { 0 };
	for (unsigned int i = 0; i < 3; i++) {
		struct fi_cq_tagged_entry entry =
			pair_wait(pair, pair->receive_cq, NULL);
		got[entry.op_context == any      ? 0
		    : entry.op_context == behind ? 1
						 : 2] = entry.len;
	}
	pair_check(got[0] == 10 && got[1] == 30 && got[2] == 20);
	pair_check(recorded("took tag=9", NULL) == 1);
	/* Nothing shadows any more. */
	unsigned int peeks = recorded("peek", NULL);
	pair_do(fi_trecv(pair->ep, any, 100, NULL, pair->peer, 4, 0, any));
	while (recorded("post tag=4", NULL) < 1)
		pair_progress(pair);
	pair_check(recorded("peek", NULL) <= peeks + 2);
	for (unsigned int i = 0; i < 2; i++) {
		pair_do(fi_cancel(&pair->ep->fid, i == 0 ? any : in));
		pair_check(pair_wait_failure(pair, pair->receive_cq).err ==
			   FI_ECANCELED);
	}
	record_end();
}

static void a_wildcard_takes_from_both_sides(struct pair *pair)
{
	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		if (!pair->is_first)
			for (unsigned int k = 0; k < 2; k++)
				pair_do(fi_trecv(pair->ep, in, sizeof(in), NULL,
						 FI_ADDR_UNSPEC, 4, 0, in));
		pair_meet(pair);
		if (pair->is_first) {
			send_to(pair, sizes[i], 4);
			pair_meet(pair);
			continue;
		}
		wait_for(pair, in, sizes[i], 4);
		pair_check(pair_is_filled(in, sizes[i], 4));
		other_sends(pair, sizes[i], 4);
		struct fi_cq_tagged_entry entry =
			pair_wait(pair, pair->receive_cq, NULL);
		pair_check(entry.len == sizes[i]);
		pair_check(pair_is_filled(in, sizes[i], 4));
		pair_meet(pair);
	}
}

static void the_other_leaves(struct pair *pair)
{
	if (!pair->is_first)
		beside_close(&other);
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE,
	};
	static const struct pair_case cases[] = {
		pair_case(a_receive_with_a_source_is_the_core_s),
		pair_case(so_is_one_from_anybody),
		pair_case(a_cancel_is_the_core_s),
		pair_case(what_does_not_fit_is_cut),
		pair_case(what_nobody_expects_is_claimed_from_the_core),
		/* With a local rail. */
		pair_case(who_shares_memory_takes_receives_back),
		pair_case(a_wildcard_shadows_what_it_fits),
		pair_case(a_wildcard_takes_from_both_sides),
		pair_case(the_other_leaves),
	};
	bool has_local = strncmp(getenv("FI_FAIRLEAD_LINKS"), "shm", 3) == 0;

	return pair_run(&setting, cases, has_local ? COUNT_OF(cases) : 5);
}
