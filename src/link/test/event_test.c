/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of accesses by peers: FI_RMA_EVENT. */
#include <string.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MEMORY          200000
#define KEY             77
#define OTHER_KEY       78

_Alignas(8) static uint8_t here[MEMORY], out[MEMORY], in[MEMORY];
static struct fid_mr *mr, *other_mr;

static void memory_is_registered(struct pair *pair)
{
	const uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;

	pair_do(fi_mr_reg(pair->domain, here, sizeof(here), access, 0, KEY, 0,
			  &mr, NULL));
	pair_do(fi_mr_reg(pair->domain, here, sizeof(here), access, 0,
			  OTHER_KEY, FI_RMA_EVENT, &other_mr, NULL));
	pair_do(fi_mr_bind(other_mr, &pair->ep->fid, 0));
	pair_do(fi_mr_enable(other_mr));
}

static void write_to(struct pair *pair, size_t size, uint64_t key)
{
	pair_retry(pair, fi_write(pair->ep, out, size, NULL, pair->peer, 0, key,
				  NULL));
	pair_wait(pair, pair->send_cq, NULL);
}

static void read_from(struct pair *pair, size_t size, uint64_t key)
{
	pair_retry(pair,
		   fi_read(pair->ep, in, size, NULL, pair->peer, 0, key, NULL));
	pair_wait(pair, pair->send_cq, NULL);
}

static void add_to(struct pair *pair, uint64_t key)
{
	const uint64_t one = 1;

	pair_retry(pair, fi_atomic(pair->ep, &one, 1, NULL, pair->peer, 0, key,
				   FI_UINT64, FI_SUM, NULL));
	pair_wait(pair, pair->send_cq, NULL);
}

static void fetch_from(struct pair *pair, uint64_t key)
{
	const uint64_t one = 1;
	uint64_t before;

	pair_retry(pair, fi_fetch_atomic(pair->ep, &one, 1, NULL, &before, NULL,
					 pair->peer, 0, key, FI_UINT64, FI_SUM,
					 NULL));
	pair_wait(pair, pair->send_cq, NULL);
}

static void what_is_counted_is_there(struct pair *pair)
{
	static const size_t sizes[] = { 1, 5000, MEMORY };

	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		if (pair->is_first) {
			pair_fill(out, sizes[i], i);
			write_to(pair, sizes[i], KEY);
		} else {
			pair_do(fi_cntr_wait(pair->remote_write_cntr, i + 1,
					     -1));
			pair_check(pair_is_filled(here, sizes[i], i));
		}
		pair_meet(pair);
	}
}

static void each_kind_of_access_is_counted_once(struct pair *pair)
{
	uint64_t reads = fi_cntr_read(pair->remote_read_cntr);
	uint64_t writes = fi_cntr_read(pair->remote_write_cntr);

	pair_meet(pair);
	if (pair->is_first) {
		for (unsigned int i = 0; i < 3; i++)
			add_to(pair, KEY);
		fetch_from(pair, KEY);
		read_from(pair, 10, KEY);
		read_from(pair, MEMORY, KEY);
		pair_retry(pair, fi_inject_write(pair->ep, out, 8, pair->peer,
						 0, KEY));
	} else {
		pair_do(fi_cntr_wait(pair->remote_write_cntr, writes + 4, -1));
		pair_do(fi_cntr_wait(pair->remote_read_cntr, reads + 3, -1));
	}
	pair_meet(pair);
	if (pair->is_first)
		return;
	pair_check(fi_cntr_read(pair->remote_write_cntr) == writes + 4);
	pair_check(fi_cntr_read(pair->remote_read_cntr) == reads + 3);
}

/*
 * Large messages are read from their sender: that is no business of programs.
 */
static void messages_are_no_accesses(struct pair *pair)
{
	uint64_t reads = fi_cntr_read(pair->remote_read_cntr);
	uint64_t writes = fi_cntr_read(pair->remote_write_cntr);

	if (pair->is_first)
		pair_retry(pair, fi_tsend(pair->ep, out, MEMORY, NULL,
					  pair->peer, 1, NULL));
	else
		pair_do(fi_trecv(pair->ep, in, MEMORY, NULL, pair->peer, 1, 0,
				 NULL));
	pair_wait(pair, pair->is_first ? pair->send_cq : pair->receive_cq,
		  NULL);
	pair_meet(pair);
	pair_check(fi_cntr_read(pair->remote_read_cntr) == reads);
	pair_check(fi_cntr_read(pair->remote_write_cntr) == writes);
}

static void a_region_counts_for_itself(struct pair *pair)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fid_cntr *reads, *writes;

	if (pair->is_first) {
		pair_meet(pair);
		write_to(pair, 5000, KEY);
		write_to(pair, 5000, OTHER_KEY);
		add_to(pair, OTHER_KEY);
		read_from(pair, 8, OTHER_KEY);
		pair_meet(pair);
		pair_meet(pair);
		write_to(pair, 8, OTHER_KEY);
		return;
	}
	pair_do(fi_cntr_open(pair->domain, &attr, &reads, NULL));
	pair_do(fi_cntr_open(pair->domain, &attr, &writes, NULL));
	pair_check(fi_mr_bind(other_mr, &reads->fid, 0) == -FI_EINVAL);
	pair_do(fi_mr_bind(other_mr, &reads->fid, FI_REMOTE_READ));
	pair_do(fi_mr_bind(other_mr, &writes->fid, FI_REMOTE_WRITE));
	uint64_t all = fi_cntr_read(pair->remote_write_cntr);
	pair_meet(pair);
	/* Nothing but these counters is looked at. */
	pair_do(fi_cntr_wait(writes, 2, -1));
	pair_do(fi_cntr_wait(reads, 1, -1));
	pair_meet(pair);
	pair_check(fi_cntr_read(writes) == 2 && fi_cntr_read(reads) == 1);
	pair_check(fi_cntr_read(pair->remote_write_cntr) == all + 3);
	pair_check(fi_close(&writes->fid) == -FI_EBUSY);
	pair_do(fi_close(&other_mr->fid));
	pair_do(fi_close(&reads->fid));
	pair_do(fi_close(&writes->fid));
	pair_do(fi_mr_reg(pair->domain, here, sizeof(here), FI_REMOTE_WRITE, 0,
			  OTHER_KEY, 0, &other_mr, NULL));
	pair_meet(pair);
}

static void what_is_refused_is_not_counted(struct pair *pair)
{
	uint64_t writes = fi_cntr_read(pair->remote_write_cntr);

	if (pair->is_first) {
		pair_retry(pair, fi_write(pair->ep, out, 8, NULL, pair->peer,
					  MEMORY - 7, KEY, NULL));
		pair_wait_failure(pair, pair->send_cq);
	}
	pair_meet(pair);
	pair_check(fi_cntr_read(pair->remote_write_cntr) == writes);
}

static void memory_is_given_back(struct pair *pair)
{
	pair_meet(pair);
	pair_do(fi_close(&mr->fid));
	pair_do(fi_close(&other_mr->fid));
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RMA_EVENT,
	};
	static const struct pair_case cases[] = {
		pair_case(memory_is_registered),
		pair_case(what_is_counted_is_there),
		pair_case(each_kind_of_access_is_counted_once),
		pair_case(messages_are_no_accesses),
		pair_case(a_region_counts_for_itself),
		pair_case(what_is_refused_is_not_counted),
		pair_case(memory_is_given_back),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
