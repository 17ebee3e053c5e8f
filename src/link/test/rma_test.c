/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes of the other process's memory. */
#include <stdio.h>
#include <string.h>

#include <rdma/fi_rma.h>

#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MEMORY          500000
#define KEY             77
#define OTHER_KEY       78

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

/* --- several places --- */

static struct fi_msg_rma several(struct pair *pair, uint8_t *memory,
				 size_t size)
{
	static struct iovec iov[3];
	static struct fi_rma_iov there[3];

	iov[0] = (struct iovec){ memory, size / 3 };
	iov[1] = (struct iovec){ memory + size / 3, 0 };
	iov[2] = (struct iovec){ memory + size / 3, size - size / 3 };
	there[0] = (struct fi_rma_iov){ 0, size, KEY };
	if (pair->info->tx_attr->rma_iov_limit >= 3)
		there[0].len = size / 2;
	there[1] = (struct fi_rma_iov){ MEMORY / 2, 1, KEY };
	there[2] = (struct fi_rma_iov){ MEMORY / 4, size - size / 2 - 1, KEY };
	return (struct fi_msg_rma){ .msg_iov = iov,
				    .iov_count = 3,
				    .addr = pair->peer,
				    .rma_iov = there,
				    .rma_iov_count =
					    there[0].len == size ? 1 : 3,
				    .context = iov };
}

static void data_may_lie_in_several_places(struct pair *pair)
{
	static const size_t counts[] = { 2, 1000, 90000 };

	if (!pair->is_first)
		return;
	for (unsigned int i = 0; i < COUNT_OF(counts); i++) {
		struct fi_msg_rma msg = several(pair, out, counts[i]);
		pair_fill(out, counts[i], i);
		pair_retry(pair,
			   fi_writemsg(pair->ep, &msg, FI_DELIVERY_COMPLETE));
		pair_wait(pair, pair->send_cq, NULL);
		memset(in, 0, counts[i]);
		msg = several(pair, in, counts[i]);
		pair_retry(pair, fi_readmsg(pair->ep, &msg, 0));
		pair_wait(pair, pair->send_cq, NULL);
		pair_check(pair_is_filled(in, counts[i], i));
	}
}

/* What was written lies in the parts one after another, from the fifth byte. */
static bool has_parts(const struct iovec *parts, size_t count, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		memcpy(in + at, parts[i].iov_base, parts[i].iov_len);
		at += parts[i].iov_len;
	}
	return pair_is_filled(in + 5, size, 5);
}

static void a_region_may_have_several_parts(struct pair *pair)
{
	const struct iovec parts[] = { { here + 1000, 100 },
				       { here, 50 },
				       { here + 5000, 20000 } };
	size_t count = pair->info->domain_attr->mr_iov_limit;
	struct fid_mr *parted;
	size_t size = 0;

	if (count > COUNT_OF(parts))
		count = COUNT_OF(parts);
	for (size_t i = 0; i < count; i++)
		size += parts[i].iov_len;
	if (!pair->is_first) {
		pair_do(fi_mr_regv(pair->domain, parts, count,
				   FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
				   OTHER_KEY, 0, &parted, NULL));
		pair_meet(pair);
		pair_meet(pair);
		pair_check(has_parts(parts, count, size - 10));
		pair_do(fi_close(&parted->fid));
		return;
	}
	pair_meet(pair);
	pair_fill(out, size, 5);
	pair_retry(pair, fi_write(pair->ep, out, size - 10, NULL, pair->peer, 5,
				  OTHER_KEY, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_retry(pair, fi_read(pair->ep, in, size - 10, NULL, pair->peer, 5,
				 OTHER_KEY, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_check(pair_is_filled(in, size - 10, 5));
	pair_meet(pair);
}

static void sizes_that_do_not_agree_are_refused(struct pair *pair)
{
	struct fi_msg_rma msg = several(pair, out, 100);
	const struct iovec iov = { out, 99 };

	msg.msg_iov = &iov;
	msg.iov_count = 1;
	pair_check(fi_writemsg(pair->ep, &msg, 0) == -FI_EINVAL);
	pair_check(fi_readmsg(pair->ep, &msg, 0) == -FI_EINVAL);
	msg.iov_count = pair->info->tx_attr->iov_limit + 1;
	pair_check(fi_writemsg(pair->ep, &msg, 0) == -FI_EINVAL);
	pair_check(fi_inject_write(pair->ep, out,
				   pair->info->tx_attr->inject_size + 1,
				   pair->peer, 0, KEY) == -FI_EINVAL);
	pair_check(fi_write(pair->ep, out, 8, NULL, 1000, 0, KEY, NULL) ==
		   -FI_EINVAL);
}

static void more_than_queues_hold_come_all(struct pair *pair)
{
	const unsigned int count = 4000;
	struct fi_cq_tagged_entry entry;
	unsigned int ended = 0;

	if (!pair->is_first) {
		pair_meet(pair);
		pair_check(pair_is_filled(here, count * 16, 21));
		return;
	}
	pair_fill(out, count * 16, 21);
	for (unsigned int i = 0; i < count; i++) {
		ssize_t result;
		while ((result = fi_write(pair->ep, out + 16 * i, 16, NULL,
					  pair->peer, 16 * i, KEY, NULL)) ==
		       -FI_EAGAIN)
			if (fi_cq_read(pair->send_cq, &entry, 1) == 1)
				ended++;
		pair_do(result);
	}
	for (; ended < count; ended++)
		pair_wait(pair, pair->send_cq, NULL);
	pair_retry(pair,
		   fi_read(pair->ep, in, 1, NULL, pair->peer, 0, KEY, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_meet(pair);
}

/* --- order --- */

/* What is offered holds, without waiting, for small and large accesses. */
static void accesses_are_in_the_order_that_is_offered(struct pair *pair)
{
	static const size_t each[] = { 8, 4000, 60000 };
	uint64_t order = pair->info->tx_attr->msg_order;
	unsigned int posted = 0;

	pair_check((order & FI_ORDER_RMA_WAW) == 0 || /* no atomics here */
		   (order & FI_ORDER_WAW) != 0);
	if (!pair->is_first)
		return;
	for (unsigned int i = 0; i < COUNT_OF(each); i++) {
		size_t size = each[i];
		uint8_t *old = out + size, *new = out + 2 * size;
		memset(in, 0, size);
		pair_fill(old, size, 1);
		pair_fill(new, size, 2);
		if ((order & FI_ORDER_WAW) != 0) {
			pair_retry(pair, fi_write(pair->ep, old, size, NULL,
						  pair->peer, 0, KEY, NULL));
			posted++;
		}
		pair_retry(pair, fi_write(pair->ep, new, size, NULL, pair->peer,
					  0, KEY, NULL));
		posted++;
		if ((order & FI_ORDER_RAW) == 0)
			for (; posted > 0; posted--)
				pair_wait(pair, pair->send_cq, NULL);
		pair_retry(pair, fi_read(pair->ep, in, size, NULL, pair->peer,
					 0, KEY, NULL));
		posted++;
		if ((order & FI_ORDER_WAR) != 0) {
			pair_retry(pair, fi_write(pair->ep, old, size, NULL,
						  pair->peer, 0, KEY, NULL));
			posted++;
		}
		for (; posted > 0; posted--)
			pair_wait(pair, pair->send_cq, NULL);
		pair_check(pair_is_filled(in, size, 2));
	}
}

/* A message behind a write finds it done: FI_ORDER_SAW. */
static void a_message_comes_behind_what_was_written(struct pair *pair)
{
	uint8_t word = 0;

	if ((pair->info->tx_attr->msg_order & FI_ORDER_SAW) == 0) {
		printf("not offered\n");
		return;
	}
	for (unsigned int i = 0; i < 100; i++) {
		size_t size = i % 2 == 0 ? 100 : 50000;
		if (pair->is_first) {
			pair_fill(out, size, i);
			pair_retry(pair, fi_write(pair->ep, out, size, NULL,
						  pair->peer, 0, KEY, NULL));
			pair_retry(pair, fi_tinject(pair->ep, &word, 1,
						    pair->peer, 4));
			pair_wait(pair, pair->send_cq, NULL);
		} else {
			pair_do(fi_trecv(pair->ep, &word, 1, NULL, pair->peer,
					 4, 0, NULL));
			pair_wait(pair, pair->receive_cq, NULL);
			pair_check(pair_is_filled(here, size, i));
		}
		pair_meet(pair);
	}
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
		pair_case(data_may_lie_in_several_places),
		pair_case(a_region_may_have_several_parts),
		pair_case(sizes_that_do_not_agree_are_refused),
		pair_case(more_than_queues_hold_come_all),
		pair_case(accesses_are_in_the_order_that_is_offered),
		pair_case(a_message_comes_behind_what_was_written),
		pair_case(memory_is_given_back),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
