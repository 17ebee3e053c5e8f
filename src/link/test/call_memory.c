/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that read, write or change what the other has. */
#include <string.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include "link/test/call.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static uint8_t here[CALL_LARGE];
static struct fid_mr *mr;

void memory_is_registered_by_its_attributes(struct pair *pair)
{
	const struct iovec iov = { here, sizeof(here) };
	struct fi_mr_attr attr = {
		.mr_iov = &iov,
		.iov_count = 1,
		.access = FI_REMOTE_READ | FI_REMOTE_WRITE,
		.requested_key = CALL_KEY,
		.context = here,
	};
	struct fid_mr *none;

	pair_do(fi_mr_regattr(pair->domain, &attr, 0, &mr));
	pair_check(fi_mr_key(mr) == CALL_KEY && mr->fid.context == here);
	pair_check(fi_mr_regattr(pair->domain, &attr, 0, &none) == -FI_ENOKEY);
	attr.requested_key = CALL_KEY + 1;
	attr.offset = 8;
	pair_check(fi_mr_regattr(pair->domain, &attr, 0, &none) == -FI_EINVAL);
	attr.offset = 0;
	attr.iov_count = 0;
	pair_check(fi_mr_regattr(pair->domain, &attr, 0, &none) == -FI_EINVAL);
}

static void is_done(struct pair *pair, uint64_t flags)
{
	struct fi_cq_tagged_entry entry = pair_wait(pair, pair->send_cq, NULL);

	pair_check(entry.op_context == call_out && entry.flags == flags);
}

/* A word with it is seen when what is written is there. */
static void was_written(struct pair *pair, size_t size, unsigned int seed)
{
	struct fi_cq_tagged_entry entry =
		pair_wait(pair, pair->receive_cq, NULL);

	pair_check((entry.flags & FI_REMOTE_CQ_DATA) != 0);
	pair_check(entry.data == CALL_WORD && pair_is_filled(here, size, seed));
}

void each_call_writes(struct pair *pair)
{
	static const struct {
		size_t size;
		uint64_t flags;
		bool injects;
	} turns[] = {
		{ 100, FI_REMOTE_CQ_DATA, false },
		{ CALL_LARGE, FI_REMOTE_CQ_DATA | FI_TRANSMIT_COMPLETE, false },
		{ 100, FI_REMOTE_CQ_DATA | FI_INJECT, false },
		{ 100, FI_REMOTE_CQ_DATA | FI_INJECT_COMPLETE, false },
		{ 100, 0, true },
	};

	for (unsigned int i = 0; i < COUNT_OF(turns); i++) {
		size_t size = turns[i].size;
		const struct fi_rma_iov there = { 0, size, CALL_KEY };
		const struct fi_msg_rma msg = { .msg_iov = call_halves(call_out,
								       size),
						.iov_count = 2,
						.addr = pair->peer,
						.rma_iov = &there,
						.rma_iov_count = 1,
						.context = call_out,
						.data = CALL_WORD };
		if (!pair->is_first) {
			was_written(pair, size, i);
			pair_meet(pair);
			continue;
		}
		pair_fill(call_out, size, i);
		if (turns[i].injects)
			pair_retry(pair,
				   fi_inject_writedata(pair->ep, call_out, size,
						       CALL_WORD, pair->peer, 0,
						       CALL_KEY));
		else
			pair_retry(pair,
				   fi_writemsg(pair->ep, &msg, turns[i].flags));
		if (turns[i].injects || (turns[i].flags & FI_INJECT) != 0)
			memset(call_out, 0, size);
		if (!turns[i].injects)
			is_done(pair, FI_RMA | FI_WRITE);
		pair_meet(pair);
	}
}

/* With a descriptor of the memory that is here, and without. */
void parts_are_written_and_read(struct pair *pair)
{
	static const size_t sizes[] = { 2, 3000, CALL_LARGE };
	struct fid_mr *mine;

	if (!pair->is_first)
		return;
	pair_do(fi_mr_reg(pair->domain, call_out, sizeof(call_out),
			  FI_READ | FI_WRITE, 0, 0, 0, &mine, NULL));
	void *desc[] = { fi_mr_desc(mine), fi_mr_desc(mine) };
	for (unsigned int i = 0; i < 2 * COUNT_OF(sizes); i++) {
		size_t size = sizes[i / 2];
		void **given = i % 2 == 0 ? NULL : desc;
		pair_fill(call_out, size, i);
		pair_retry(pair,
			   fi_writev(pair->ep, call_halves(call_out, size),
				     given, 2, pair->peer, 0, CALL_KEY,
				     call_out));
		is_done(pair, FI_RMA | FI_WRITE);
		memset(call_out, 0, size);
		pair_retry(pair, fi_readv(pair->ep, call_halves(call_out, size),
					  given, 2, pair->peer, 0, CALL_KEY,
					  call_out));
		is_done(pair, FI_RMA | FI_READ);
		pair_check(pair_is_filled(call_out, size, i));
	}
	/* What is empty may be nowhere. */
	pair_retry(pair, fi_write(pair->ep, NULL, 0, NULL, pair->peer, 0,
				  CALL_KEY, call_out));
	is_done(pair, FI_RMA | FI_WRITE);
	pair_retry(pair, fi_read(pair->ep, NULL, 0, NULL, pair->peer, 0,
				 CALL_KEY, call_out));
	is_done(pair, FI_RMA | FI_READ);
	pair_do(fi_close(&mine->fid));
}

/* --- atomic operations --- */

static uint64_t operands[4] = { 10, 20, 30, 40 }, than[4], results[4];

/* Until it is called 16 times more. */
static struct fi_ioc *apart(uint64_t *values)
{
	static struct fi_ioc ioc[16][2];
	static unsigned int turn;
	struct fi_ioc *it = ioc[turn++ % 16];

	it[0] = (struct fi_ioc){ values, 1 };
	it[1] = (struct fi_ioc){ values + 2, 2 };
	return it;
}

static struct fi_msg_atomic message_of(struct pair *pair, enum fi_op op)
{
	static struct fi_rma_ioc there;

	there = (struct fi_rma_ioc){ 0, 3, CALL_KEY };
	return (struct fi_msg_atomic){ .msg_iov = apart(operands),
				       .iov_count = 2,
				       .addr = pair->peer,
				       .rma_iov = &there,
				       .rma_iov_count = 1,
				       .datatype = FI_UINT64,
				       .op = op,
				       .context = call_out };
}

/* The three values there are as is said. */
static void values_are(struct pair *pair, uint64_t a, uint64_t b, uint64_t c)
{
	const struct fi_msg_atomic msg = message_of(pair, FI_ATOMIC_READ);
	struct fi_ioc to = { results, 3 };

	pair_retry(pair, fi_fetch_atomicmsg(pair->ep, &msg, &to, NULL, 1,
					    FI_TRANSMIT_COMPLETE));
	is_done(pair, FI_ATOMIC | FI_READ);
	pair_check(results[0] == a && results[1] == b && results[2] == c);
}

void each_call_changes_values(struct pair *pair)
{
	struct fi_msg_atomic msg = message_of(pair, FI_SUM);

	if (!pair->is_first)
		return;
	pair_retry(pair,
		   fi_atomicv(pair->ep, apart(operands), NULL, 2, pair->peer, 0,
			      CALL_KEY, FI_UINT64, FI_ATOMIC_WRITE, call_out));
	is_done(pair, FI_ATOMIC | FI_WRITE);
	values_are(pair, 10, 30, 40);
	pair_retry(pair, fi_atomicmsg(pair->ep, &msg, FI_INJECT));
	operands[0] = 11; /* it may change at once */
	is_done(pair, FI_ATOMIC | FI_WRITE);
	values_are(pair, 20, 60, 80);
	pair_retry(pair,
		   fi_fetch_atomicv(pair->ep, apart(operands), NULL, 2,
				    apart(results), NULL, 2, pair->peer, 0,
				    CALL_KEY, FI_UINT64, FI_SUM, call_out));
	is_done(pair, FI_ATOMIC | FI_READ);
	pair_check(results[0] == 20 && results[2] == 60 && results[3] == 80);
	values_are(pair, 31, 90, 120);
}

void each_call_compares_values(struct pair *pair)
{
	const struct fi_msg_atomic msg = message_of(pair, FI_CSWAP);

	if (!pair->is_first)
		return;
	than[0] = 31;
	than[2] = 91; /* not so */
	than[3] = 120;
	pair_retry(pair,
		   fi_compare_atomicv(pair->ep, apart(operands), NULL, 2,
				      apart(than), NULL, 2, apart(results),
				      NULL, 2, pair->peer, 0, CALL_KEY,
				      FI_UINT64, FI_CSWAP, call_out));
	is_done(pair, FI_ATOMIC | FI_READ);
	pair_check(results[0] == 31 && results[2] == 90 && results[3] == 120);
	values_are(pair, 11, 90, 40);
	than[2] = 90;
	pair_retry(pair, fi_compare_atomicmsg(pair->ep, &msg, apart(than), NULL,
					      2, apart(results), NULL, 2,
					      FI_DELIVERY_COMPLETE));
	is_done(pair, FI_ATOMIC | FI_READ);
	pair_check(results[0] == 11 && results[2] == 90 && results[3] == 40);
	values_are(pair, 11, 30, 40);
}

void memory_is_given_back(struct pair *pair)
{
	pair_meet(pair);
	pair_do(fi_close(&mr->fid));
}
