/* SPDX-License-Identifier: BSD-3-Clause */
/* The other process's memory is read, written and reckoned with; events. */
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

#include "link/test/sweep.h"

#define KEY    77
#define LARGE  700000
#define FRAMED 3000
/* Where is what in the memory that both have for each other. */
#define VALUE_AT  0 /* two values to reckon with */
#define SMALL_AT  64
#define INJECT_AT 4096
#define LARGE_AT  16384
#define MEMORY    (LARGE_AT + LARGE)

static _Alignas(64) uint8_t here[MEMORY];

/* What goes in a frame goes where nobody may read others' memory, too. */
static size_t at_most(size_t size)
{
	return getenv("LINK_TEST_PUSHED") != NULL && size > FRAMED ? FRAMED
								   : size;
}

static void put(struct pair *pair, size_t size, uint64_t at, uint64_t word)
{
	struct waiting it = { 0 };

	pair_fill(sweep_out, size, (unsigned int)at);
	if (word == 0)
		tried(pair, fi_write(pair->ep, sweep_out, size, NULL,
				     pair->peer, at, KEY, &it));
	else
		tried(pair, fi_writedata(pair->ep, sweep_out, size, NULL, word,
					 pair->peer, at, KEY, &it));
	await(pair, &it);
}

static void get(struct pair *pair, size_t size, uint64_t at)
{
	struct waiting it = { 0 };

	memset(sweep_in, 0, size);
	tried(pair, fi_read(pair->ep, sweep_in, size, NULL, pair->peer, at, KEY,
			    &it));
	await(pair, &it);
}

static void check(struct pair *pair, size_t size, uint64_t at)
{
	get(pair, size, at);
	pair_check(pair_is_filled(sweep_in, size, (unsigned int)at));
}

/* What is injected says of no end: it is looked for. */
static void inject(struct pair *pair)
{
	size_t size = at_most(pair->info->tx_attr->inject_size);

	pair_fill(sweep_out, size, INJECT_AT);
	tried(pair, fi_inject_write(pair->ep, sweep_out, size, pair->peer,
				    INJECT_AT, KEY));
	memset(sweep_out, 0, size);
	do {
		get(pair, size, INJECT_AT);
	} while (!pair_is_filled(sweep_in, size, INJECT_AT));
}

static void reckon(struct pair *pair)
{
	struct waiting it[3] = { 0 };
	uint64_t two = 2, five = 5, before[2] = { 77, 77 }, nothing = 0;

	tried(pair, fi_atomic(pair->ep, &two, 1, NULL, pair->peer, VALUE_AT,
			      KEY, FI_UINT64, FI_SUM, &it[0]));
	await(pair, &it[0]);
	tried(pair, fi_fetch_atomic(pair->ep, &five, 1, NULL, &before[0], NULL,
				    pair->peer, VALUE_AT, KEY, FI_UINT64,
				    FI_SUM, &it[1]));
	await(pair, &it[1]);
	pair_check(before[0] == 2);
	tried(pair,
	      fi_compare_atomic(pair->ep, &five, 1, NULL, &nothing, NULL,
				&before[1], NULL, pair->peer, VALUE_AT + 8, KEY,
				FI_UINT64, FI_CSWAP, &it[2]));
	await(pair, &it[2]);
	pair_check(before[1] == 0);
}

/* A region that nobody has is no matter of memory. */
static void fail(struct pair *pair)
{
	struct waiting it = { 0 };
	uint64_t value = 1;

	tried(pair, fi_atomic(pair->ep, &value, 1, NULL, pair->peer, 0, KEY + 1,
			      FI_UINT64, FI_SUM, &it));
	await_error(pair, &it, FI_EKEYREJECTED);
}

/* What was done to our memory by the other, each once. */
static void check_here(struct pair *pair)
{
	const uint64_t *values = (const uint64_t *)(here + VALUE_AT);

	pair_check(values[0] == 7 && values[1] == 5);
	pair_check(pair_is_filled(here + SMALL_AT, 8, SMALL_AT));
	pair_check(pair_is_filled(here + LARGE_AT, at_most(LARGE), LARGE_AT));
	while (sweep_word_count < 2)
		go_on(pair);
	pair_check(sweep_word_count == 2);
	pair_check(sweep_words[0] + sweep_words[1] == 11 + 12);
	/* Five writes, and an atomic operation that tells nothing back. */
	while (fi_cntr_read(pair->remote_write_cntr) < 6)
		go_on(pair);
	pair_check(fi_cntr_read(pair->remote_write_cntr) == 6);
	pair_check(fi_cntr_readerr(pair->remote_write_cntr) == 0);
}

void sweep_memory(struct pair *pair)
{
	const uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;
	struct fid_mr *mr;

	tried(pair, fi_mr_reg(pair->domain, here, sizeof(here), access, 0, KEY,
			      0, &mr, NULL));
	pair_meet(pair);
	put(pair, 8, SMALL_AT, 0);
	check(pair, 8, SMALL_AT);
	put(pair, at_most(LARGE), LARGE_AT, 0);
	check(pair, at_most(LARGE), LARGE_AT);
	put(pair, 8, SMALL_AT, 11);
	put(pair, at_most(LARGE), LARGE_AT, 12);
	inject(pair);
	reckon(pair);
	fail(pair);
	pair_meet(pair);
	check_here(pair);
	pair_meet(pair);
	pair_do(fi_close(&mr->fid));
}

/* --- events --- */

void sweep_events(struct pair *pair)
{
	struct fi_eq_attr attr = { .flags = FI_WRITE,
				   .wait_obj = FI_WAIT_NONE };
	struct fi_eq_entry entry = { .data = 7 };
	struct fid_eq *eq;
	uint32_t event;

	tried(pair, fi_eq_open(pair->fabric, &attr, &eq, NULL));
	tried(pair, fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0) < 0
			    ? -FI_ENOMEM
			    : 0);
	pair_check(fi_eq_read(eq, &event, &entry, sizeof(entry), 0) ==
		   sizeof(entry));
	pair_do(fi_close(&eq->fid));
}
