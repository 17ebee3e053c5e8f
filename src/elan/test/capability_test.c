/* SPDX-License-Identifier: BSD-3-Clause */
/* Capabilities: their bytes, what is valid, what is the same. */
#include "elan/capability.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#define CONTEXTS 3
#define NODES    5

static struct elan_capability sample(void)
{
	struct elan_capability cap;

	capability_init(&cap);
	for (uint32_t i = 0; i < 4; i++)
		cap.cap_userkey.key_values[i] = 0x01020304u + i;
	cap.cap_type = ELAN_CAP_TYPE_CYCLIC | ELAN_CAP_TYPE_BROADCASTABLE;
	cap.cap_lowcontext = 0x400;
	cap.cap_highcontext = 0x400 + CONTEXTS - 1;
	cap.cap_lownode = 16;
	cap.cap_highnode = 16 + NODES - 1;
	cap.cap_railmask = 1;
	cap.cap_bitmap[0] = 0x7ffd;
	return cap;
}

static void null_capability_says_nothing(void **state)
{
	struct elan_capability cap;

	capability_init(&cap);
	assert_int_equal(cap.cap_version, 0x00010002);
	assert_int_equal(cap.cap_userkey.key_values[3], UINT32_MAX);
	assert_int_equal(cap.cap_type, UINT16_MAX);
	assert_int_equal(cap.cap_spare, 0);
	assert_int_equal(cap.cap_mycontext, -1);
	assert_int_equal(cap.cap_railmask, UINT32_MAX);
	assert_int_equal(cap.cap_bitmap[0], 0);
	assert_int_equal(capability_check(&cap), -EINVAL);
}

static void bytes_are_in_the_documented_places(void **state)
{
	static const struct {
		size_t offset;
		uint8_t bytes[4];
	} places[] = {
		{ 0, { 0x04, 0x03, 0x02, 0x01 } },
		{ 12, { 0x07, 0x03, 0x02, 0x01 } },
		{ 16, { 0x02, 0x00, 0x01, 0x00 } },
		{ 20, { 0x02, 0x80, 0x00, 0x00 } },
		{ 24, { 0x00, 0x04, 0x00, 0x00 } },
		{ 28, { 0x02, 0x04, 0x00, 0x00 } },
		{ 32, { 0xff, 0xff, 0xff, 0xff } },
		{ 36, { 16, 0, 0, 0 } },
		{ 40, { 20, 0, 0, 0 } },
		{ 44, { 1, 0, 0, 0 } },
		{ 48, { 0xfd, 0x7f, 0, 0 } },
	};
	struct elan_capability cap = sample();
	struct writer writer = { 0 };

	capability_write(&cap, &writer);
	assert_int_equal(writer.result, 0);
	assert_int_equal(writer.size, 52);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		assert_memory_equal(writer.data + places[i].offset,
				    places[i].bytes, 4);
	writer_fini(&writer);
}

static void read_gives_what_was_written(void **state)
{
	struct elan_capability cap = sample();
	struct elan_capability decoded;
	struct writer writer = { 0 };
	struct reader reader;

	capability_write(&cap, &writer);
	reader = reader_of(writer.data, writer.size);
	capability_read(&reader, &decoded);
	assert_true(reader_is_done(&reader));
	assert_memory_equal(&decoded, &cap, sizeof(cap));
	writer_fini(&writer);
}

static void read_refuses_short_input(void **state)
{
	struct elan_capability cap = sample();
	struct elan_capability decoded;
	struct writer writer = { 0 };

	capability_write(&cap, &writer);
	for (size_t size = 0; size < writer.size; size++) {
		struct reader reader = reader_of(writer.data, size);

		capability_read(&reader, &decoded);
		assert_true(reader.failed);
	}
	writer_fini(&writer);
}

static void size_is_that_of_the_bits(void **state)
{
	struct elan_capability cap = sample();

	assert_int_equal(capability_size(&cap), 48 + 4);
	cap.cap_highnode = cap.cap_lownode + 10;
	assert_int_equal(capability_size(&cap), 48 + 8);
	cap.cap_lownode = INT32_MIN;
	cap.cap_highnode = INT32_MAX;
	assert_int_equal(capability_size(&cap), 2096);
	cap.cap_lownode = 1;
	cap.cap_highnode = 0;
	assert_int_equal(capability_size(&cap), 48);
}

static void processes_are_the_set_bits(void **state)
{
	struct elan_capability cap = sample();

	assert_int_equal(capability_context_count(&cap), CONTEXTS);
	assert_int_equal(capability_node_count(&cap), NODES);
	assert_int_equal(capability_process_count(&cap), 14);
	cap.cap_type |= ELAN_CAP_TYPE_NO_BITMAP;
	assert_int_equal(capability_process_count(&cap), 15);
}

static void check_takes_what_is_valid_only(void **state)
{
	const struct elan_capability good = sample();
	struct elan_capability bad[17];
	size_t n = 0;

	assert_int_equal(capability_check(&good), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		bad[i] = good;
	bad[n++].cap_version = 0x00010003;
	bad[n++].cap_type |= ELAN_CAP_TYPE_HWTEST;
	bad[n++].cap_type = ELAN_CAP_TYPE_KERNEL;
	bad[n++].cap_type = 0;
	bad[n++].cap_lowcontext = -1;
	bad[n++].cap_highcontext = -1;
	bad[n++].cap_lownode = -1;
	bad[n++].cap_highnode = -1;
	bad[n++].cap_lowcontext = 0x403;
	bad[n++].cap_lownode = 21;
	bad[n++].cap_mycontext = 0x400;
	bad[n++].cap_highnode = 16 + ELAN_MAX_VPS;
	bad[n++].cap_lowcontext = 0x3ff;
	bad[n++].cap_highcontext = 0x800;
	bad[n++].cap_railmask = 0;
	bad[n++].cap_railmask = UINT32_C(1) << ELAN_MAX_RAILS;
	bad[n].cap_highnode = bad[n].cap_lownode = 0xffff;
	n++;
	assert_int_equal(n, sizeof(bad) / sizeof(bad[0]));
	for (size_t i = 0; i < n; i++)
		assert_int_equal(capability_check(&bad[i]), -EINVAL);
}

static void key_and_geometry_are_compared_apart(void **state)
{
	struct elan_capability cap = sample();
	struct elan_capability other = cap;

	assert_true(capability_has_key_of(&cap, &other));
	assert_true(capability_is_like(&cap, &other));
	other.cap_userkey.key_values[3] ^= 1;
	other.cap_mycontext = 0x401;
	assert_false(capability_has_key_of(&cap, &other));
	assert_true(capability_is_like(&cap, &other));
	other.cap_bitmap[0] ^= 1;
	assert_false(capability_is_like(&cap, &other));
	cap.cap_type |= ELAN_CAP_TYPE_NO_BITMAP;
	other.cap_type = cap.cap_type;
	assert_true(capability_is_like(&cap, &other));
	other.cap_railmask = 2;
	assert_false(capability_is_like(&cap, &other));
}

static void overlap_needs_contexts_nodes_and_rails(void **state)
{
	struct elan_capability cap = sample();
	struct elan_capability other = cap;

	assert_true(capability_overlaps(&cap, &other));
	other.cap_lowcontext = 0x403;
	other.cap_highcontext = 0x403;
	assert_false(capability_overlaps(&cap, &other));
	other = cap;
	other.cap_lownode = other.cap_highnode = 21;
	assert_false(capability_overlaps(&cap, &other));
	other.cap_lownode = 20;
	assert_true(capability_overlaps(&cap, &other));
	other.cap_railmask = 2;
	assert_false(capability_overlaps(&cap, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_capability_says_nothing),
		cmocka_unit_test(bytes_are_in_the_documented_places),
		cmocka_unit_test(read_gives_what_was_written),
		cmocka_unit_test(read_refuses_short_input),
		cmocka_unit_test(size_is_that_of_the_bits),
		cmocka_unit_test(processes_are_the_set_bits),
		cmocka_unit_test(check_takes_what_is_valid_only),
		cmocka_unit_test(key_and_geometry_are_compared_apart),
		cmocka_unit_test(overlap_needs_contexts_nodes_and_rails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
