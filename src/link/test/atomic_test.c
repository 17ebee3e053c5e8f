/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic operations on the other process's memory. */
#include <string.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include "link/atomic/atomic.h"
#include "link/test/pair.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MEMORY          16384
#define KEY             77
#define KEY_READ        78 /* the same memory, to be read alone */
#define NO_KEY          79

_Alignas(32) static uint8_t here[MEMORY], in[MEMORY], out[MEMORY], than[MEMORY],
	want[MEMORY];
static struct fid_mr *mr, *read_mr;

static void memory_is_registered(struct pair *pair)
{
	pair_do(fi_mr_reg(pair->domain, here, sizeof(here),
			  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
			  NULL));
	pair_do(fi_mr_reg(pair->domain, here, sizeof(here), FI_REMOTE_READ, 0,
			  KEY_READ, 0, &read_mr, NULL));
}

/* What the other has is what `bytes` has, from now on or already. */
static void put(struct pair *pair, const void *bytes, size_t size)
{
	struct fi_msg_rma msg = {
		.msg_iov = &(struct iovec){ (void *)bytes, size },
		.iov_count = 1,
		.addr = pair->peer,
		.rma_iov = &(struct fi_rma_iov){ 0, size, KEY },
		.rma_iov_count = 1,
	};

	pair_retry(pair, fi_writemsg(pair->ep, &msg, FI_DELIVERY_COMPLETE));
	pair_wait(pair, pair->send_cq, NULL);
}

static bool has(struct pair *pair, const void *bytes, size_t size)
{
	static uint8_t back[MEMORY];

	pair_retry(pair, fi_read(pair->ep, back, size, NULL, pair->peer, 0, KEY,
				 NULL));
	pair_wait(pair, pair->send_cq, NULL);
	return memcmp(back, bytes, size) == 0;
}

static void completes(struct pair *pair, const void *context, uint64_t flags)
{
	struct fi_cq_tagged_entry entry = pair_wait(pair, pair->send_cq, NULL);

	pair_check(entry.op_context == context);
	pair_check(entry.flags == flags);
}

/* --- all types with all operations --- */

/* Values of a type that are true, false, equal, less and more. */
static void values_fill(unsigned int type, void *bytes, size_t count,
			unsigned int seed)
{
	size_t size = atomic_size(type);
	uint64_t number;

	memset(bytes, 0, count * size);
	for (size_t i = 0; i < count; i++) {
		/* Numbers that are exact in each type. */
		const uint8_t small = (uint8_t)((i * 7 + seed) % 5);
		const float real = small;
		const double twice = small;
		const long double precise = small;
		uint8_t *at = (uint8_t *)bytes + i * size;
		switch (type) {
		case FI_FLOAT:
		case FI_FLOAT_COMPLEX:
			memcpy(at, &real, sizeof(real));
			break;
		case FI_DOUBLE:
		case FI_DOUBLE_COMPLEX:
			memcpy(at, &twice, sizeof(twice));
			break;
		case FI_LONG_DOUBLE:
		case FI_LONG_DOUBLE_COMPLEX:
			memcpy(at, &precise, sizeof(precise));
			break;
		default:
			number = small;
			memcpy(at, &number, size < 8 ? size : 8);
		}
	}
}

static bool values_are_equal(unsigned int type, const uint8_t *a,
			     const uint8_t *b, size_t count)
{
	size_t size = atomic_size(type);

	for (size_t i = 0; i < count; i++, a += size, b += size) {
		long double x[2] = { 0 }, y[2] = { 0 };
		if (type != FI_LONG_DOUBLE && type != FI_LONG_DOUBLE_COMPLEX) {
			if (memcmp(a, b, size) != 0)
				return false;
			continue;
		}
		/* These have bytes that mean nothing. */
		memcpy(x, a, size);
		memcpy(y, b, size);
		if (x[0] != y[0] || x[1] != y[1])
			return false;
	}
	return true;
}

static void op_begin(struct pair *pair, enum atomic_family family,
		     unsigned int type, unsigned int op, size_t count)
{
	const void *operands = op == FI_ATOMIC_READ ? NULL : out;

	switch (family) {
	case ATOMIC_BASE:
		pair_retry(pair, fi_atomic(pair->ep, operands, count, NULL,
					   pair->peer, 0, KEY, type, op, &in));
		break;
	case ATOMIC_FETCH:
		pair_retry(pair, fi_fetch_atomic(pair->ep, operands, count,
						 NULL, in, NULL, pair->peer, 0,
						 KEY, type, op, &in));
		break;
	case ATOMIC_COMPARE:
		pair_retry(pair,
			   fi_compare_atomic(pair->ep, operands, count, NULL,
					     than, NULL, in, NULL, pair->peer,
					     0, KEY, type, op, &in));
		break;
	}
}

/* They are done in their order, so nothing is waited for in between. */
static void do_one(struct pair *pair, enum atomic_family family,
		   unsigned int type, unsigned int op, size_t count)
{
	static uint8_t after[MEMORY];

	values_fill(type, want, count, op);
	values_fill(type, out, count, op + 2);
	values_fill(type, than, count, op + 4);
	pair_retry(pair, fi_atomic(pair->ep, want, count, NULL, pair->peer, 0,
				   KEY, type, FI_ATOMIC_WRITE, NULL));
	op_begin(pair, family, type, op, count);
	pair_retry(pair, fi_fetch_atomic(pair->ep, NULL, count, NULL, after,
					 NULL, pair->peer, 0, KEY, type,
					 FI_ATOMIC_READ, NULL));
	completes(pair, NULL, FI_ATOMIC | FI_WRITE);
	completes(pair, &in,
		  FI_ATOMIC | (family == ATOMIC_BASE ? FI_WRITE : FI_READ));
	completes(pair, NULL, FI_ATOMIC | FI_READ);
	if (family != ATOMIC_BASE)
		pair_check(values_are_equal(type, in, want, count));
	atomic_apply(type, op, want, out, than, NULL, count);
	pair_check(values_are_equal(type, after, want, count));
}

static int ask(struct pair *pair, enum atomic_family family, unsigned int type,
	       unsigned int op, size_t *ret_count)
{
	switch (family) {
	case ATOMIC_BASE:
		return fi_atomicvalid(pair->ep, type, op, ret_count);
	case ATOMIC_FETCH:
		return fi_fetch_atomicvalid(pair->ep, type, op, ret_count);
	default:
		return fi_compare_atomicvalid(pair->ep, type, op, ret_count);
	}
}

static void queries_agree(struct pair *pair, enum atomic_family family,
			  unsigned int type, unsigned int op, int result,
			  size_t count)
{
	static const uint64_t flags[] = { 0, FI_FETCH_ATOMIC,
					  FI_COMPARE_ATOMIC };
	struct fi_atomic_attr attr;

	pair_check(fi_query_atomic(pair->domain, type, op, &attr,
				   flags[family]) == result);
	if (result == 0)
		pair_check(attr.count == count &&
			   attr.size == atomic_size(type));
}

static void each_operation_is_done(struct pair *pair)
{
	unsigned int there = 0;

	for (unsigned int family = 0; family < 3; family++)
		for (unsigned int type = 0; type < ATOMIC_TYPES; type++)
			for (unsigned int op = 0; op < ATOMIC_OPS; op++) {
				size_t count = 0;
				int result =
					ask(pair, family, type, op, &count);
				queries_agree(pair, family, type, op, result,
					      count);
				if (result != 0) {
					pair_check(result == -FI_EOPNOTSUPP);
					continue;
				}
				there++;
				pair_check(atomic_is_valid(family, type, op));
				if (pair->is_first)
					do_one(pair, family, type, op,
					       count < 9 ? count : 9);
			}
	/* Of 416 that there are; a core may lack integers of 128 bits. */
	pair_check(there >= 350);
}

static void as_many_values_as_it_says_are_taken(struct pair *pair)
{
	static const unsigned int types[] = { FI_UINT8, FI_INT64,
					      FI_DOUBLE_COMPLEX };
	size_t base, fetch, compare;

	if (!pair->is_first)
		return;
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		unsigned int type = types[i];
		pair_do(fi_atomicvalid(pair->ep, type, FI_SUM, &base));
		pair_do(fi_fetch_atomicvalid(pair->ep, type, FI_SUM, &fetch));
		pair_do(fi_compare_atomicvalid(pair->ep, type, FI_CSWAP,
					       &compare));
		pair_check((base + 1) * atomic_size(type) <= MEMORY);
		do_one(pair, ATOMIC_BASE, type, FI_SUM, base);
		do_one(pair, ATOMIC_FETCH, type, FI_SUM, fetch);
		do_one(pair, ATOMIC_FETCH, type, FI_ATOMIC_READ, fetch);
		do_one(pair, ATOMIC_COMPARE, type, FI_CSWAP, compare);
		pair_check(fi_atomic(pair->ep, out, base + 1, NULL, pair->peer,
				     0, KEY, type, FI_SUM,
				     NULL) == -FI_EMSGSIZE);
		pair_check(fi_compare_atomic(pair->ep, out, compare + 1, NULL,
					     than, NULL, in, NULL, pair->peer,
					     0, KEY, type, FI_CSWAP,
					     NULL) == -FI_EMSGSIZE);
	}
}

static void what_there_is_not_is_refused(struct pair *pair)
{
	size_t count;

	pair_check(fi_atomicvalid(pair->ep, FI_DOUBLE, FI_BXOR, &count) ==
		   -FI_EOPNOTSUPP);
	pair_check(fi_atomicvalid(pair->ep, FI_UINT64, FI_ATOMIC_READ,
				  &count) == -FI_EOPNOTSUPP);
	pair_check(fi_atomicvalid(pair->ep, 1000, FI_SUM, &count) ==
		   -FI_EOPNOTSUPP);
	pair_check(fi_atomic(pair->ep, out, 1, NULL, pair->peer, 0, KEY,
			     FI_DOUBLE, FI_BXOR, NULL) == -FI_EOPNOTSUPP);
	pair_check(fi_query_atomic(pair->domain, FI_UINT64, FI_SUM, NULL,
				   FI_TAGGED) == -FI_EOPNOTSUPP);
	pair_check(fi_query_atomic(pair->domain, FI_UINT64, FI_SUM, NULL,
				   FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC) ==
		   -FI_EINVAL);
}

/* --- places --- */

static void values_may_lie_in_several_places(struct pair *pair)
{
	uint32_t *operands = (uint32_t *)out, *results = (uint32_t *)in;
	const struct fi_ioc from[] = { { operands, 2 }, { operands + 7, 3 } };
	struct fi_ioc to[] = { { results, 1 },
			       { results + 5, 1 },
			       { results + 9, 3 } };
	const struct fi_rma_ioc there[] = { { 40, 4, KEY }, { 4, 1, KEY } };
	const struct fi_msg_atomic msg = { .msg_iov = from,
					   .iov_count = COUNT_OF(from),
					   .addr = pair->peer,
					   .rma_iov = there,
					   .rma_iov_count = COUNT_OF(there),
					   .datatype = FI_UINT32,
					   .op = FI_SUM,
					   .context = in };
	uint32_t before[20], after[20];

	if (!pair->is_first)
		return;
	for (unsigned int i = 0; i < 20; i++) {
		before[i] = after[i] = 100 + i;
		operands[i] = 1000 * (i + 1);
	}
	put(pair, before, sizeof(before));
	pair_retry(pair,
		   fi_fetch_atomicmsg(pair->ep, &msg, to, NULL, COUNT_OF(to),
				      FI_COMPLETION | FI_DELIVERY_COMPLETE));
	completes(pair, in, FI_ATOMIC | FI_READ);
	pair_check(results[0] == 110 && results[5] == 111 &&
		   results[9] == 112 && results[10] == 113 &&
		   results[11] == 101);
	after[10] += 1000;
	after[11] += 2000;
	after[12] += 8000;
	after[13] += 9000;
	after[1] += 10000;
	pair_check(has(pair, after, sizeof(after)));
	/* Not as many results, or values there, as operands. */
	pair_check(fi_fetch_atomicmsg(pair->ep, &msg, to, NULL, 2, 0) ==
		   -FI_EINVAL);
}

static void what_is_injected_may_change_at_once(struct pair *pair)
{
	uint64_t value = 5, sum = 0;

	if (!pair->is_first)
		return;
	put(pair, &sum, sizeof(sum));
	uint64_t before = fi_cntr_read(pair->write_cntr);
	for (unsigned int i = 0; i < 10; i++) {
		value = i;
		sum += i;
		pair_retry(pair,
			   fi_inject_atomic(pair->ep, &value, 1, pair->peer, 0,
					    KEY, FI_UINT64, FI_SUM));
	}
	value = 0;
	pair_do(fi_cntr_wait(pair->write_cntr, before + 10, -1));
	pair_check(has(pair, &sum, sizeof(sum)));
}

static void fetches_count_as_reads(struct pair *pair)
{
	const uint64_t one = 1;
	uint64_t fetched;

	if (!pair->is_first)
		return;
	uint64_t reads = fi_cntr_read(pair->read_cntr);
	uint64_t writes = fi_cntr_read(pair->write_cntr);
	pair_retry(pair, fi_fetch_atomic(pair->ep, &one, 1, NULL, &fetched,
					 NULL, pair->peer, 0, KEY, FI_UINT64,
					 FI_SUM, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_check(fi_cntr_read(pair->read_cntr) == reads + 1);
	pair_retry(pair, fi_atomic(pair->ep, &one, 1, NULL, pair->peer, 0, KEY,
				   FI_UINT64, FI_SUM, NULL));
	pair_wait(pair, pair->send_cq, NULL);
	pair_check(fi_cntr_read(pair->write_cntr) == writes + 1);
}

/* --- refusals of the other side --- */

static void fails(struct pair *pair, uint64_t address, uint64_t key)
{
	uint64_t value = 1, fetched = 7;
	uint64_t errors = fi_cntr_readerr(pair->read_cntr);

	pair_retry(pair, fi_fetch_atomic(pair->ep, &value, 1, NULL, &fetched,
					 NULL, pair->peer, address, key,
					 FI_UINT64, FI_SUM, &value));
	struct fi_cq_err_entry failure = pair_wait_failure(pair, pair->send_cq);
	pair_check(failure.op_context == &value && failure.err > 0);
	pair_check((failure.flags & FI_ATOMIC) != 0);
	pair_check(fi_cntr_readerr(pair->read_cntr) == errors + 1);
	pair_check(fetched == 7);
}

static void what_may_not_be_reached_fails_and_is_as_it_was(struct pair *pair)
{
	uint64_t read = 0;

	if (!pair->is_first)
		return;
	pair_fill(out, MEMORY, 3);
	put(pair, out, MEMORY);
	fails(pair, 0, NO_KEY);
	fails(pair, 0, KEY_READ);
	fails(pair, MEMORY - 4, KEY);
	fails(pair, UINT64_MAX - 3, KEY);
	pair_check(has(pair, out, MEMORY));
	/* What is allowed goes on. */
	pair_retry(pair, fi_fetch_atomic(pair->ep, NULL, 1, NULL, &read, NULL,
					 pair->peer, MEMORY - 8, KEY_READ,
					 FI_UINT64, FI_ATOMIC_READ, NULL));
	completes(pair, NULL, FI_ATOMIC | FI_READ);
	pair_check(memcmp(&read, out + MEMORY - 8, 8) == 0);
}

static void more_than_queues_hold_come_all(struct pair *pair)
{
	const unsigned int count = 5000;
	uint64_t one = 1, sum = 0;
	struct fi_cq_tagged_entry entry;
	unsigned int ended = 0;

	if (!pair->is_first)
		return;
	put(pair, &sum, sizeof(sum));
	for (unsigned int i = 0; i < count; i++) {
		ssize_t result;
		while ((result = fi_atomic(pair->ep, &one, 1, NULL, pair->peer,
					   0, KEY, FI_UINT64, FI_SUM, NULL)) ==
		       -FI_EAGAIN)
			if (fi_cq_read(pair->send_cq, &entry, 1) == 1)
				ended++;
		pair_do(result);
	}
	for (; ended < count; ended++)
		pair_wait(pair, pair->send_cq, NULL);
	sum = count;
	pair_check(has(pair, &sum, sizeof(sum)));
}

/* --- order --- */

/* Without waiting for any of them. */
static void operations_are_done_in_their_order(struct pair *pair)
{
	enum {
		COUNT = 300
	};
	static uint64_t values[COUNT], fetched[2][COUNT];
	const uint64_t orders = FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW |
				FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW;

	pair_check((pair->info->tx_attr->msg_order & orders) == orders);
	pair_check((pair->info->rx_attr->msg_order & orders) == orders);
	if (!pair->is_first)
		return;
	put(pair, &values[0], 8);
	for (unsigned int i = 0; i < COUNT; i++) {
		values[i] = i + 1;
		pair_retry(pair, fi_fetch_atomic(pair->ep, NULL, 1, NULL,
						 &fetched[0][i], NULL,
						 pair->peer, 0, KEY, FI_UINT64,
						 FI_ATOMIC_READ, NULL));
		pair_retry(pair,
			   fi_atomic(pair->ep, &values[i], 1, NULL, pair->peer,
				     0, KEY, FI_UINT64, FI_ATOMIC_WRITE, NULL));
		pair_retry(pair,
			   fi_fetch_atomic(pair->ep, &values[i], 1, NULL,
					   &fetched[1][i], NULL, pair->peer, 0,
					   KEY, FI_UINT64, FI_MAX, NULL));
	}
	for (unsigned int i = 0; i < 3 * COUNT; i++)
		pair_wait(pair, pair->send_cq, NULL);
	for (unsigned int i = 0; i < COUNT; i++)
		pair_check(fetched[0][i] == i && fetched[1][i] == i + 1);
}

/* A core may send what is large later than what is small: see direct.c. */
static void large_operations_are_not_overtaken(struct pair *pair)
{
	enum {
		COUNT = 50
	};
	static uint64_t values[COUNT][MEMORY / 8], fetched[COUNT];
	size_t most;

	pair_do(fi_atomicvalid(pair->ep, FI_UINT64, FI_ATOMIC_WRITE, &most));
	pair_check(most >= 16 && most <= MEMORY / 8);
	pair_check(pair->info->ep_attr->max_order_raw_size >= 8 * most);
	for (unsigned int i = 0; i < COUNT && pair->is_first; i++) {
		for (size_t k = 0; k < most; k++)
			values[i][k] = i + 1;
		pair_retry(pair, fi_atomic(pair->ep, values[i], most, NULL,
					   pair->peer, 0, KEY, FI_UINT64,
					   FI_ATOMIC_WRITE, NULL));
		pair_retry(pair, fi_fetch_atomic(pair->ep, NULL, 1, NULL,
						 &fetched[i], NULL, pair->peer,
						 8 * (most - 1), KEY, FI_UINT64,
						 FI_ATOMIC_READ, NULL));
	}
	for (unsigned int i = 0; i < 2 * COUNT && pair->is_first; i++)
		pair_wait(pair, pair->send_cq, NULL);
	for (unsigned int i = 0; i < COUNT && pair->is_first; i++)
		pair_check(fetched[i] == i + 1);
}

static void memory_is_given_back(struct pair *pair)
{
	pair_meet(pair);
	pair_do(fi_close(&mr->fid));
	pair_do(fi_close(&read_mr->fid));
}

int main(void)
{
	static const struct pair_setting setting = {
		.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC,
	};
	static const struct pair_case cases[] = {
		pair_case(memory_is_registered),
		pair_case(each_operation_is_done),
		pair_case(as_many_values_as_it_says_are_taken),
		pair_case(what_there_is_not_is_refused),
		pair_case(values_may_lie_in_several_places),
		pair_case(what_is_injected_may_change_at_once),
		pair_case(fetches_count_as_reads),
		pair_case(what_may_not_be_reached_fails_and_is_as_it_was),
		pair_case(more_than_queues_hold_come_all),
		pair_case(operations_are_done_in_their_order),
		pair_case(large_operations_are_not_overtaken),
		pair_case(memory_is_given_back),
	};
	return pair_run(&setting, cases, COUNT_OF(cases));
}
