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

static const uint8_t full_desc_bytes[] = {
	0x95, 4,    0x02, 0x01, 0x04, 0x03, 0x06, 0x05, 0x08, 0x07, 1, 0,
	1,    0,    1,    0x14, 0x13, 0x12, 0x11, 1,    0,    0,    0, 0x24,
	0x23, 0x22, 0x21, 2,    0,    0,    0,    1,    0,    2,    0, 3,
	0,    4,    0,    5,    0,    6,    0,    7,    0,    8,    0, 9,
	0,    10,   0,    11,   0,    12,   0,    13,   0,    14,   0, 15,
	0,    16,   0,    0x34, 0x33, 0x32, 0x31,
};

static void descriptor_has_its_golden_bytes(void **state)
{
	struct writer writer = { 0 };
	struct cxi_svc_desc desc;
	struct reader reader;

	wire_write_desc(&writer, &full_desc);
	assert_int_equal(writer.result, 0);
	assert_int_equal(writer.size, sizeof(full_desc_bytes));
	assert_memory_equal(writer.data, full_desc_bytes, writer.size);
	reader = reader_of(writer.data, writer.size);
	wire_read_desc(&reader, &desc);
	assert_true(reader_is_done(&reader));
	assert_memory_equal(&desc, &full_desc, sizeof(desc));
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
	struct wire_reply reply;

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
	struct wire_reply decoded;

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

static void other_structures_come_back(void **state)
{
	struct cxi_svc_fail_info info = {
		.rsrc_avail = { 1, 2, 3, 4, 5, 6, 7, 8 },
		.no_tle_pools = true,
	};
	struct cxi_rsrc_use use = {
		.svc_id = 9,
		.tle_pool_id = 3,
		.in_use = { 1, 2, 3, 4, 5, 6, 7, 0xffff },
	};
	struct cxi_svc_fail_info info_back;
	struct cxi_rsrc_use use_back;
	struct writer writer = { 0 };
	struct reader reader;

	wire_write_fail_info(&writer, &info);
	wire_write_use(&writer, &use);
	reader = reader_of(writer.data, writer.size);
	wire_read_fail_info(&reader, &info_back);
	wire_read_use(&reader, &use_back);
	assert_true(reader_is_done(&reader));
	assert_memory_equal(info_back.rsrc_avail, info.rsrc_avail,
			    sizeof(info.rsrc_avail));
	assert_false(info_back.no_le_pools);
	assert_true(info_back.no_tle_pools);
	assert_false(info_back.no_cntr_pools);
	assert_memory_equal(&use_back, &use, sizeof(use));
	writer_fini(&writer);
}

static void device_information_comes_back(void **state)
{
	struct cxil_devinfo info;
	struct cxil_devinfo back;
	struct writer writer = { 0 };
	struct reader reader;

	/* Nothing that is padding or a name may differ. */
	memset(&info, 0, sizeof(info));
	info.dev_id = 3;
	info.nid = 0xabcde;
	info.pid_bits = 9;
	info.pid_count = 511;
	info.pid_granule = 256;
	info.min_free_shift = 1;
	info.rdzv_get_idx = 255;
	strcpy(info.device_name, "cxi3");
	strcpy(info.driver_name, "softnic");
	info.vendor_id = 0x17db;
	info.device_id = 0x501;
	info.device_rev = 2;
	info.device_proto = 4;
	info.device_platform = 5;
	info.num_ptes = 10;
	info.num_txqs = 11;
	info.num_tgqs = 12;
	info.num_eqs = 13;
	info.num_cts = 14;
	info.num_acs = 15;
	info.num_tles = 16;
	info.num_les = 17;
	info.pci_domain = 18;
	info.pci_bus = 19;
	info.pci_device = 20;
	info.pci_function = 21;
	info.link_mtu = 2048;
	info.link_speed = 200000;
	info.link_state = 1;
	info.uc_nic = -1;
	info.pct_eq = 1;
	info.cassini_version = CASSINI_2_0;
	strcpy(info.fru_description, "a description 5");
	info.is_vf = true;
	info.system_type_identifier = CASSINI_2_ONLY;
	wire_write_devinfo(&writer, &info);
	reader = reader_of(writer.data, writer.size);
	memset(&back, 0, sizeof(back));
	wire_read_devinfo(&reader, &back);
	assert_true(reader_is_done(&reader));
	assert_memory_equal(&back, &info, sizeof(info));
	writer_fini(&writer);
}

static void names_are_ended_by_the_reader(void **state)
{
	struct cxil_devinfo info = { 0 };
	struct writer writer = { 0 };
	struct reader reader;

	memset(info.device_name, 'x', sizeof(info.device_name));
	wire_write_devinfo(&writer, &info);
	reader = reader_of(writer.data, writer.size);
	wire_read_devinfo(&reader, &info);
	assert_int_equal(strlen(info.device_name),
			 sizeof(info.device_name) - 1);
	writer_fini(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptor_has_its_golden_bytes),
		cmocka_unit_test(request_has_its_golden_bytes),
		cmocka_unit_test(reply_has_its_golden_bytes),
		cmocka_unit_test(every_request_comes_back_and_no_part_of_it),
		cmocka_unit_test(heads_are_checked),
		cmocka_unit_test(longest_text_fits_and_no_more),
		cmocka_unit_test(other_structures_come_back),
		cmocka_unit_test(device_information_comes_back),
		cmocka_unit_test(names_are_ended_by_the_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
