/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets: golden bytes, there and back, and what is refused. */
#include "emu/cxi/wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

/* Every field has a value of its own. */
static const struct cxi_svc_desc full_desc = {
	.restricted_members = true,
	.restricted_tcs = true,
	.enable = true,
	.cntr_pool_id = 2,
	.num_vld_vnis = 4,
	.vnis = { 0x0102, 0x0304, 0x0506, 0x0708 },
	.tcs = { true, false, true, false, true },
	.members = { { .svc_member.uid = 0x11121314,
		       .type = CXI_SVC_MEMBER_UID },
		     { .svc_member.gid = 0x21222324,
		       .type = CXI_SVC_MEMBER_GID } },
	.limits = { .type = { { 1, 2 },
			      { 3, 4 },
			      { 5, 6 },
			      { 7, 8 },
			      { 9, 10 },
			      { 11, 12 },
			      { 13, 14 },
			      { 15, 16 } } },
	.svc_id = 0x31323334,
};

static void a_class_that_is_no_bool_is_refused(void **state)
{
	struct wire_request request = { .op = WIRE_ALLOC_SVC,
					.desc = full_desc };
	struct writer writer = { 0 };

	wire_request_encode(&request, &writer);
	assert_int_equal(
		wire_request_decode(writer.data, writer.size, &request), 0);
	assert_memory_equal(request.desc.vnis, full_desc.vnis,
			    sizeof(full_desc.vnis));
	writer.data[4 + offsetof(struct cxi_svc_desc, tcs)] = 2;
	assert_int_equal(wire_request_decode(writer.data, writer.size,
					     &request),
			 -EPROTO);
	writer_fini(&writer);
}

static void request_has_its_golden_bytes(void **state)
{
	static const uint8_t expected[] = { 1,    15, 0, 0, 0x04, 0x03, 2, 1,
					    0x40, 0,  0, 0, 0x7f, 0,    0, 0 };
	struct wire_request request = {
		.op = WIRE_SVC_SET_VNI_RANGE,
		.id = 0x01020304,
		.value = 64,
		.last = 127,
	};
	struct writer writer = { 0 };

	wire_request_encode(&request, &writer);
	assert_int_equal(writer.size, sizeof(expected));
	assert_memory_equal(writer.data, expected, sizeof(expected));
	writer_fini(&writer);
}

static void reply_has_its_golden_bytes(void **state)
{
	static const uint8_t expected[] = {
		1, 21, 0, 0, 0xf0, 0xff, 0xff, 0xff
	};
	struct writer writer = { 0 };
	struct softnic_wire_reply reply;

	wire_reply_encode(WIRE_CONTROL, -EBUSY, &writer);
	assert_int_equal(writer.size, sizeof(expected));
	assert_memory_equal(writer.data, expected, sizeof(expected));
	assert_int_equal(wire_reply_decode(expected, sizeof(expected), &reply),
			 0);
	assert_int_equal(reply.op, WIRE_CONTROL);
	assert_int_equal(reply.result, -EBUSY);
	assert_int_equal(reply.body.left, 0);
	writer_fini(&writer);
}

static void every_request_comes_back_and_no_part_of_it(void **state)
{
	for (unsigned int op = WIRE_GET_DEVICE_LIST; op < WIRE_OP_COUNT; op++) {
		struct wire_request request = {
			.op = op,
			.id = 3,
			.value = 1,
			.last = 2,
			.desc = full_desc,
			.text = "dump",
		};
		struct wire_request decoded;
		struct writer writer = { 0 };
		struct writer again = { 0 };

		wire_request_encode(&request, &writer);
		assert_int_equal(wire_request_decode(writer.data, writer.size,
						     &decoded),
				 0);
		assert_int_equal(decoded.op, op);
		wire_request_encode(&decoded, &again);
		assert_int_equal(again.size, writer.size);
		assert_memory_equal(again.data, writer.data, again.size);
		assert_true(writer.size <= WIRE_REQUEST_MAX);
		for (size_t size = 0; size < writer.size; size++)
			assert_int_equal(wire_request_decode(writer.data, size,
							     &decoded),
					 -EPROTO);
		write_u8(&writer, 0);
		assert_int_equal(wire_request_decode(writer.data, writer.size,
						     &decoded),
				 -EPROTO);
		writer_fini(&writer);
		writer_fini(&again);
	}
}

static void heads_are_checked(void **state)
{
	static const uint8_t version[] = { 2, WIRE_GET_DEVICE_LIST, 0, 0 };
	static const uint8_t none[] = { 1, WIRE_NONE, 0, 0 };
	static const uint8_t unknown[] = { 1, WIRE_OP_COUNT, 0, 0 };
	static const uint8_t flags[] = { 1, WIRE_GET_DEVICE_LIST, 1, 0 };
	static const uint8_t reply[] = { 2, WIRE_GET_SVC, 0, 0, 0, 0, 0, 0 };
	struct wire_request request;
	struct softnic_wire_reply decoded;

	assert_int_equal(wire_request_decode(version, 4, &request),
			 -EPROTONOSUPPORT);
	assert_int_equal(wire_request_decode(none, 4, &request), -EPROTO);
	assert_int_equal(wire_request_decode(unknown, 4, &request), -EPROTO);
	assert_int_equal(wire_request_decode(flags, 4, &request), -EPROTO);
	assert_int_equal(wire_reply_decode(reply, 8, &decoded),
			 -EPROTONOSUPPORT);
	assert_int_equal(wire_reply_decode(reply, 7, &decoded),
			 -EPROTONOSUPPORT);
	assert_int_equal(wire_reply_decode(none, 4, &decoded), -EPROTO);
	assert_int_equal(wire_reply_decode(none, 0, &decoded), -EPROTO);
}

static void longest_text_fits_and_no_more(void **state)
{
	struct wire_request request = { .op = WIRE_CONTROL };
	struct writer writer = { 0 };
	uint8_t longer[WIRE_TEXT_MAX + 16] = { 1, WIRE_CONTROL, 0, 0 };

	memset(request.text, 'a', WIRE_TEXT_MAX);
	wire_request_encode(&request, &writer);
	assert_int_equal(
		wire_request_decode(writer.data, writer.size, &request), 0);
	assert_int_equal(strlen(request.text), WIRE_TEXT_MAX);
	memset(longer + 8, 'a', sizeof(longer) - 8);
	longer[4] = (WIRE_TEXT_MAX + 1) & 0xff;
	longer[5] = (WIRE_TEXT_MAX + 1) >> 8;
	assert_int_equal(wire_request_decode(longer, 8 + WIRE_TEXT_MAX + 1,
					     &request),
			 -EPROTO);
	writer_fini(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_class_that_is_no_bool_is_refused),
		cmocka_unit_test(request_has_its_golden_bytes),
		cmocka_unit_test(reply_has_its_golden_bytes),
		cmocka_unit_test(every_request_comes_back_and_no_part_of_it),
		cmocka_unit_test(heads_are_checked),
		cmocka_unit_test(longest_text_fits_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
