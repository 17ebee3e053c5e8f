/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scoll-exec: a part of an answer is refused and changes nothing, or what was
 * taken of it comes out as a part that says the same, and is never taken
 * twice; an order that is accepted is encoded as it came.
 *
 * Input: 0 and an order, or another byte, the number of nodes in two bytes and
 * a part.
 */
#include <errno.h>

#include "fuzz.h"
#include "base/cleanup.h"
#include "order.h"
#include "results.h"

static void order_check(const uint8_t *data, size_t size)
{
	_auto_(writer_fini) struct writer again = { 0 };
	struct exec_order order;

	if (order_decode(data, size, &order) < 0)
		return;
	fuzz_check(*order.nodes != 0 && *order.command != 0);
	fuzz_check(order.timeout_ms > 0);
	order_encode(&order, &again);
	fuzz_check(again.size == size);
	fuzz_check(memcmp(again.data, data, size) == 0);
	order_fini(&order);
}

static void part_check(struct results *results, const uint8_t *data,
		       size_t size)
{
	int added = results_merge(results, data, size);
	struct results *copy = results_create(EXEC_NODES_MAX);

	fuzz_check(added >= 0 || added == -EBADMSG);
	fuzz_check(idset_count(results_known(results)) ==
		   (added < 0 ? 0u : (uint32_t)added));
	if (added < 0) {
		results_destroy(copy);
		return;
	}
	fuzz_check(results_merge(results, data, size) == 0);
	while (!results_is_empty(results)) {
		_auto_(writer_fini) struct writer part = { 0 };

		fuzz_check(results_take(results, EXEC_PART_BYTES, &part) > 0);
		fuzz_check(part.size <= EXEC_PART_BYTES);
		fuzz_check(results_merge(copy, part.data, part.size) > 0);
	}
	fuzz_check(idset_count(results_known(copy)) == (uint32_t)added);
	results_destroy(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(results_destroyp) struct results *results = NULL;

	if (size > 0 && data[0] == 0)
		order_check(data + 1, size - 1);
	if (size < 3 || data[0] == 0)
		return 0;
	results = results_create(data[1] | (uint32_t)data[2] << 8);
	if (results == NULL)
		return 0;
	part_check(results, data + 3, size - 3);
	return 0;
}
