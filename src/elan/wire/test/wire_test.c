/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and replies as bytes. */
#include "elan/wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

static struct wire_request sample(enum wire_op op)
{
	return (struct wire_request){
		.op = op,
		.id = 7,
		.index = -3,
		.value = 0x01020304,
		.uid = 54321,
		.grant = 0x1122334455667788,
		.stats = { 5, 6 },
		.cap = { .cap_version = ELAN_CAP_VERSION_NUMBER,
			 .cap_highcontext = 40,
			 .cap_highnode = 1,
			 .cap_bitmap = { 1, 2, 3 } },
		.text = "/a/path",
	};
}

static void each_request_comes_out_as_it_went_in(void **state)
{
	for (int op = WIRE_NONE + 1; op < WIRE_OP_COUNT; op++) {
		struct wire_request request = sample((enum wire_op)op);
		struct wire_request decoded;
		struct writer writer = { .limit = WIRE_REQUEST_MAX };
		struct writer again = { .limit = WIRE_REQUEST_MAX };

		wire_request_encode(&request, &writer);
		assert_int_equal(writer.result, 0);
		assert_int_equal(wire_request_decode(writer.data, writer.size,
						     &decoded),
				 0);
		assert_int_equal(decoded.op, op);
		wire_request_encode(&decoded, &again);
		assert_int_equal(again.size, writer.size);
		assert_memory_equal(again.data, writer.data, writer.size);
		writer_fini(&writer);
		writer_fini(&again);
	}
}

static void requests_of_another_length_are_refused(void **state)
{
	for (int op = WIRE_NONE + 1; op < WIRE_OP_COUNT; op++) {
		struct wire_request request = sample((enum wire_op)op);
		struct wire_request decoded;
		struct writer writer = { 0 };

		wire_request_encode(&request, &writer);
		for (size_t size = 0; size < writer.size; size++)
			assert_int_equal(wire_request_decode(writer.data, size,
							     &decoded),
					 -EPROTO);
		write_u8(&writer, 0);
		assert_int_equal(wire_request_decode(writer.data, writer.size,
						     &decoded),
				 -EPROTO);
		writer_fini(&writer);
	}
}

static void heads_that_are_wrong_are_refused(void **state)
{
	static const struct {
		uint8_t head[4];
		int result;
	} cases[] = {
		{ { 2, WIRE_NCAPS, 0, 0 }, -EPROTONOSUPPORT },
		{ { 1, WIRE_NONE, 0, 0 }, -EPROTO },
		{ { 1, WIRE_OP_COUNT, 0, 0 }, -EPROTO },
		{ { 1, 255, 0, 0 }, -EPROTO },
		{ { 1, WIRE_NCAPS, 1, 0 }, -EPROTO },
		{ { 1, WIRE_NCAPS, 0, 1 }, -EPROTO },
		{ { 1, WIRE_NCAPS, 0, 0 }, 0 },
	};
	struct wire_request request;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(wire_request_decode(cases[i].head, 4,
						     &request),
				 cases[i].result);
}

static void paths_fit_or_are_refused(void **state)
{
	struct wire_request request = { .op = WIRE_SETCOREPATH };
	struct wire_request decoded;
	struct writer writer = { 0 };

	memset(request.text, 'x', sizeof(request.text) - 1);
	wire_request_encode(&request, &writer);
	assert_int_equal(
		wire_request_decode(writer.data, writer.size, &decoded), 0);
	assert_string_equal(decoded.text, request.text);
	/* One byte more, and its length says so. */
	writer.data[4]++;
	write_u8(&writer, 'x');
	assert_int_equal(wire_request_decode(writer.data, writer.size,
					     &decoded),
			 -EPROTO);
	writer_fini(&writer);
}

static void replies_are_errors_or_zero(void **state)
{
	struct wire_reply reply;
	struct writer writer = { 0 };

	wire_reply_encode(WIRE_NCAPS, -ESRCH, &writer);
	write_u8(&writer, 9);
	assert_int_equal(wire_reply_decode(writer.data, writer.size, &reply),
			 0);
	assert_int_equal(reply.op, WIRE_NCAPS);
	assert_int_equal(reply.result, -ESRCH);
	assert_int_equal(reply.body.left, 1);
	for (size_t size = 0; size < 8; size++)
		assert_int_equal(wire_reply_decode(writer.data, size, &reply),
				 -EPROTO);
	writer.size = 0;
	wire_reply_encode(WIRE_NCAPS, 1, &writer);
	assert_int_equal(wire_reply_decode(writer.data, writer.size, &reply),
			 -EPROTO);
	writer_fini(&writer);
}

static void stats_come_out_as_they_went_in(void **state)
{
	struct rms_prgstats stats = {
		.etime = 1,
		.atime = 2,
		.utime = 3,
		.stime = 4,
		.pageflts = 5,
		.memint = 6,
		.ebytes = 7,
		.exfers = 8,
		.mem = 9,
		.ncpus = 10,
		.flags = 11,
	};
	struct rms_prgstats decoded;
	struct writer writer = { 0 };
	struct reader reader;

	wire_write_stats(&writer, &stats);
	reader = reader_of(writer.data, writer.size);
	wire_read_stats(&reader, &decoded);
	assert_true(reader_is_done(&reader));
	assert_memory_equal(&decoded, &stats, sizeof(stats));
	writer_fini(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_request_comes_out_as_it_went_in),
		cmocka_unit_test(requests_of_another_length_are_refused),
		cmocka_unit_test(heads_that_are_wrong_are_refused),
		cmocka_unit_test(paths_fit_or_are_refused),
		cmocka_unit_test(replies_are_errors_or_zero),
		cmocka_unit_test(stats_come_out_as_they_went_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
