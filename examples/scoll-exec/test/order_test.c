/* SPDX-License-Identifier: BSD-3-Clause */
/* What a credential carries. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "order.h"

static const struct exec_order sample = { .id = "an id of 16 byte",
					  .stop_digest = "a digest of some",
					  .timeout_ms = 5000,
					  .nodes = "n[1-3]",
					  .command = "uptime" };

static void order_is_read_back_as_it_was(void **state)
{
	_auto_(writer_fini) struct writer writer = { 0 };
	struct exec_order order;

	order_encode(&sample, &writer);
	assert_int_equal(order_decode(writer.data, writer.size, &order), 0);
	assert_memory_equal(order.id, sample.id, sizeof(order.id));
	assert_memory_equal(order.stop_digest, sample.stop_digest,
			    sizeof(order.stop_digest));
	assert_int_equal(order.timeout_ms, 5000);
	assert_string_equal(order.nodes, "n[1-3]");
	assert_string_equal(order.command, "uptime");
	order_fini(&order);
}

static void decode_refuses_short_and_long_input(void **state)
{
	_auto_(writer_fini) struct writer writer = { 0 };
	struct exec_order order;

	order_encode(&sample, &writer);
	for (size_t size = 0; size < writer.size; size++)
		assert_int_equal(order_decode(writer.data, size, &order),
				 -EBADMSG);
	write_u8(&writer, 0);
	assert_int_equal(order_decode(writer.data, writer.size, &order),
			 -EBADMSG);
}

static int decode(struct exec_order changed)
{
	_auto_(writer_fini) struct writer writer = { 0 };
	struct exec_order order;
	int result;

	order_encode(&changed, &writer);
	result = order_decode(writer.data, writer.size, &order);
	if (result == 0)
		order_fini(&order);
	return result;
}

static void decode_refuses_what_cannot_be_done(void **state)
{
	_auto_(freep) char *longest = malloc(EXEC_COMMAND_MAX + 2);
	struct exec_order order = sample;

	assert_int_equal(decode(order), 0);
	order.timeout_ms = 0;
	assert_int_equal(decode(order), -EBADMSG);
	order.timeout_ms = EXEC_TIMEOUT_MS_MAX + 1;
	assert_int_equal(decode(order), -EBADMSG);
	order = sample;
	order.nodes = "";
	assert_int_equal(decode(order), -EBADMSG);
	order = sample;
	order.command = "";
	assert_int_equal(decode(order), -EBADMSG);
	memset(longest, 'x', EXEC_COMMAND_MAX + 1);
	longest[EXEC_COMMAND_MAX + 1] = 0;
	order.command = longest;
	assert_int_equal(decode(order), -EBADMSG);
	longest[EXEC_COMMAND_MAX] = 0;
	assert_int_equal(decode(order), 0);
}

static void decode_names_another_version(void **state)
{
	_auto_(writer_fini) struct writer writer = { 0 };
	struct exec_order order;

	order_encode(&sample, &writer);
	writer.data[0] = 2;
	assert_int_equal(order_decode(writer.data, writer.size, &order),
			 -EPROTONOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_read_back_as_it_was),
		cmocka_unit_test(decode_refuses_short_and_long_input),
		cmocka_unit_test(decode_refuses_what_cannot_be_done),
		cmocka_unit_test(decode_names_another_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
