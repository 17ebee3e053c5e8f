/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and replies as bytes. */
#include "elan/wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

static struct rms_request sample(enum rms_op op)
{
	return (struct rms_request){
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
	for (int op = RMS_NONE + 1; op < RMS_OP_COUNT; op++) {
		struct rms_request request = sample((enum rms_op)op);
		struct rms_request decoded;
		struct writer writer = { .limit = RMS_REQUEST_MAX };
		struct writer again = { .limit = RMS_REQUEST_MAX };

		rms_request_encode(&request, &writer);
		assert_int_equal(writer.result, 0);
		assert_int_equal(rms_request_decode(writer.data, writer.size,
						    &decoded),
				 0);
		assert_int_equal(decoded.op, op);
		rms_request_encode(&decoded, &again);
		assert_int_equal(again.size, writer.size);
		assert_memory_equal(again.data, writer.data, writer.size);
		writer_fini(&writer);
		writer_fini(&again);
	}
}

static void requests_of_another_length_are_refused(void **state)
{
	for (int op = RMS_NONE + 1; op < RMS_OP_COUNT; op++) {
		struct rms_request request = sample((enum rms_op)op);
		struct rms_request decoded;
		struct writer writer = { 0 };

		rms_request_encode(&request, &writer);
		for (size_t size = 0; size < writer.size; size++)
			assert_int_equal(rms_request_decode(writer.data, size,
							    &decoded),
					 -EPROTO);
		write_u8(&writer, 0);
		assert_int_equal(rms_request_decode(writer.data, writer.size,
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
		{ { 2, RMS_NCAPS, 0, 0 }, -EPROTONOSUPPORT },
		{ { 1, RMS_NONE, 0, 0 }, -EPROTO },
		{ { 1, RMS_OP_COUNT, 0, 0 }, -EPROTO },
		{ { 1, 255, 0, 0 }, -EPROTO },
		{ { 1, RMS_NCAPS, 1, 0 }, -EPROTO },
		{ { 1, RMS_NCAPS, 0, 1 }, -EPROTO },
		{ { 1, RMS_NCAPS, 0, 0 }, 0 },
	};
	struct rms_request request;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(rms_request_decode(cases[i].head, 4, &request),
				 cases[i].result);
}

static void paths_fit_or_are_refused(void **state)
{
	struct rms_request request = { .op = RMS_SETCOREPATH };
	struct rms_request decoded;
	struct writer writer = { 0 };

	memset(request.text, 'x', sizeof(request.text) - 1);
	rms_request_encode(&request, &writer);
	assert_int_equal(rms_request_decode(writer.data, writer.size, &decoded),
			 0);
	assert_string_equal(decoded.text, request.text);
	/* One byte more, and its length says so. */
	writer.data[4]++;
	write_u8(&writer, 'x');
	assert_int_equal(rms_request_decode(writer.data, writer.size, &decoded),
			 -EPROTO);
	writer_fini(&writer);
}

static void replies_are_errors_or_zero(void **state)
{
	struct rms_reply reply;
	struct writer writer = { 0 };

	rms_reply_encode(RMS_NCAPS, -ESRCH, &writer);
	write_u8(&writer, 9);
	assert_int_equal(rms_reply_decode(writer.data, writer.size, &reply), 0);
	assert_int_equal(reply.op, RMS_NCAPS);
	assert_int_equal(reply.result, -ESRCH);
	assert_int_equal(reply.body.left, 1);
	for (size_t size = 0; size < 8; size++)
		assert_int_equal(rms_reply_decode(writer.data, size, &reply),
				 -EPROTO);
	writer.size = 0;
	rms_reply_encode(RMS_NCAPS, 1, &writer);
	assert_int_equal(rms_reply_decode(writer.data, writer.size, &reply),
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

	rms_write_stats(&writer, &stats);
	reader = reader_of(writer.data, writer.size);
	rms_read_stats(&reader, &decoded);
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
