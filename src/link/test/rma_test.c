/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes of the other process's memory. */
#include <string.h>

#include <rdma/fi_rma.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MEMORY          500000
#define KEY             77

static const size_t sizes[] = { 0, 1, 8, 4096, 5000, 70000, 400000 };
static uint8_t here[MEMORY], out[MEMORY], in[MEMORY];
static struct fid_mr *mr;

static void memory_is_registered(struct pair *pair)
{
	const uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;

	pair_do(fi_mr_reg(pair->domain, here, sizeof(here), access, 0, KEY, 0,
			  &mr, NULL));
	pair_check(fi_mr_key(mr) == KEY);
	struct fid_mr *other;
	pair_check(fi_mr_reg(pair->domain, here, 8, access, 0, KEY, 0, &other,
			     NULL) == -FI_ENOKEY);
	pair_check(fi_mr_reg(pair->domain, here, 8, access, 0,
			     UINT64_C(1) << 56, 0, &other,
			     NULL) == -FI_EKEYREJECTED);
	pair_do(fi_mr_reg(pair->domain, out, 8, FI_SEND, 0, KEY, 0, &other,
			  NULL));
	pair_do(fi_close(&other->fid));
}

static void what_is_written_is_there(struct pair *pair)
{
	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		if (!pair->is_first) {
			memset(here, 0xee, sizeof(here));
			pair_meet(pair);
			pair_meet(pair);
			pair_check(pair_is_filled(here + 100, sizes[i], i));
			pair_check(here[99] == 0xee &&
				   here[100 + sizes[i]] == 0xee);
			continue;
		}
		pair_meet(pair);
		pair_fill(out, sizes[i], i);
		pair_retry(pair, fi_write(pair->ep, out, sizes[i], NULL,
					  pair->peer, 100, KEY, &out));
		struct fi_cq_tagged_entry entry =
			pair_wait(pair, pair->send_cq, NULL);
		pair_check(entry.op_context == &out);
		pair_check(entry.flags == (FI_RMA | FI_WRITE));
		/* What comes behind a write of the same memory has it. */
		memset(in, 0, sizeof(in));
		pair_retry(pair, fi_read(pair->ep, in, sizes[i], NULL,
					 pair->peer, 100, KEY, &in));
		pair_check(pair_wait(pair, pair->send_cq, NULL).flags ==
			   (FI_RMA | FI_READ));
		pair_check(pair_is_filled(in, sizes[i], i));
		pair_meet(pair);
	}
}

static void what_is_read_is_what_is_there(struct pair *pair)
{
	for (unsigned int i = 0; i < COUNT_OF(sizes); i++) {
		size_t size = sizes[i];
		const struct iovec iov[] = {
			{ in, size / 2 }, { in + size / 2, size - size / 2 }
		};
		if (!pair->is_first) {
			pair_fill(here, size, i + 40);
			pair_meet(pair);
			pair_meet(pair);
			continue;
		}
		pair_meet(pair);
		memset(in, 0, sizeof(in));
		pair_retry(pair, fi_readv(pair->ep, iov, NULL, 2, pair->peer, 0,
					  KEY, &in));
		struct fi_cq_tagged_entry entry =
			pair_wait(pair, pair->send_cq, NULL);
		pair_check(entry.op_context == &in);
		pair_check(pair_is_filled(in, size, i + 40));
		pair_meet(pair);
	}
}

static void what_is_injected_may_change_at_once(struct pair *pair)
{
	size_t size = pair->info->tx_attr->inject_size;

	if (!pair->is_first) {
		pair_meet(pair);
		pair_check(pair_is_filled(here, size, 3));
		return;
	}
	uint64_t before = fi_cntr_read(pair->write_cntr);
	pair_fill(out, size, 3);
	pair_retry(pair,
		   fi_inject_write(pair->ep, out, size, pair->peer, 0, KEY));
	memset(out, 0, size);
	pair_do(fi_cntr_wait(pair->write_cntr, before + 1, -1));
	/* Read back, so that it has surely arrived. */
	pair_retry(pair, fi_read(pair->ep, in, 1, NULL, pair->peer, size - 1,
				 KEY, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_meet(pair);
}

static void a_word_can_be_left_with_a_write(struct pair *pair)
{
	const uint64_t word = UINT64_C(0x1122334455667788);

	if (pair->is_first) {
		pair_fill(out, 1000, 9);
		pair_retry(pair, fi_writedata(pair->ep, out, 1000, NULL, word,
					      pair->peer, 0, KEY, NULL));
		pair_wait(pair, pair->send_cq, NULL);
		return;
	}
	struct fi_cq_tagged_entry entry =
		pair_wait(pair, pair->receive_cq, NULL);
	pair_check((entry.flags & (FI_REMOTE_CQ_DATA | FI_REMOTE_WRITE)) ==
		   (FI_REMOTE_CQ_DATA | FI_REMOTE_WRITE));
	pair_check(entry.data == word);
	pair_check(pair_is_filled(here, 1000, 9));
}

static void memory_is_given_back(struct pair *pair)
{
	pair_meet(pair);
	pair_do(fi_close(&mr->fid));
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_RMA,
	};
	static const struct pair_case cases[] = {
		pair_case(memory_is_registered),
		pair_case(what_is_written_is_there),
		pair_case(what_is_read_is_what_is_there),
		pair_case(what_is_injected_may_change_at_once),
		pair_case(a_word_can_be_left_with_a_write),
		pair_case(memory_is_given_back),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
