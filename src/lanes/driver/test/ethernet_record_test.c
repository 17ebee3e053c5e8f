/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/ethernet/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

static const struct ethernet_made one = {
	.isolation = ETHERNET_NETNS,
	.count = 2,
	.devices = {
		{ .name = "fl4242",
		  .ipv4 = { 4, { 100, 66, 72, 1 } },
		  .ipv6 = { 6, { 0xfd, 0x46, [15] = 1 } } },
		{ .name = "fl4242r1", .ipv6 = { 6, { 0xfd, 0x46, [15] = 2 } } },
	},
};

static const uint8_t golden[] = {
	1,   1,   2,   6,   0,   0,   0,    'f',  'l', '4', '2',  '4',  '2',
	4,   100, 66,  72,  1,   6,   0xfd, 0x46, 0,   0,   0,    0,    0,
	0,   0,   0,   0,   0,   0,   0,    0,    1,   8,   0,    0,    0,
	'f', 'l', '4', '2', '4', '2', 'r',  '1',  0,   6,   0xfd, 0x46, 0,
	0,   0,   0,   0,   0,   0,   0,    0,    0,   0,   0,    0,    2,
};

static void assert_refused(const struct fairlead_record *record,
			   const char *part)
{
	struct ethernet_made made = { .count = 77 };
	struct fairlead_error error = { 0 };

	assert_int_equal(ethernet_record_decode(record, &made, &error),
			 -EBADMSG);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
	assert_int_equal(made.count, 77);
}

static void bytes_are_as_documented(void **state)
{
	struct fairlead_record record = { 0 };

	ethernet_record_encode(&one, &record);
	assert_int_equal(record.size, sizeof(golden));
	assert_memory_equal(record.bytes, golden, sizeof(golden));
}

static void what_was_encoded_is_decoded(void **state)
{
	struct fairlead_record record = { 0 };
	struct ethernet_made made;

	ethernet_record_encode(&one, &record);
	assert_int_equal(ethernet_record_decode(&record, &made, NULL), 0);
	assert_memory_equal(&made, &one, sizeof(one));
}

static void the_most_devices_fit(void **state)
{
	struct ethernet_made made = { .count = ETHERNET_DEVICES_MAX };
	struct fairlead_record record = { 0 };
	struct ethernet_made again;

	for (uint32_t i = 0; i < made.count; i++) {
		strcpy(made.devices[i].name, "fl16777215r3");
		made.devices[i].ipv4.family = 4;
		made.devices[i].ipv6.family = 6;
		made.devices[i].ipv6.bytes[15] = (uint8_t)i;
	}
	ethernet_record_encode(&made, &record);
	assert_int_equal(ethernet_record_decode(&record, &again, NULL), 0);
	assert_memory_equal(&again, &made, sizeof(made));
}

static void an_empty_record_has_no_devices(void **state)
{
	struct ethernet_made made = { .count = 77 };
	struct fairlead_record record = { 0 };

	assert_int_equal(ethernet_record_decode(&record, &made, NULL), 0);
	assert_int_equal(made.count, 0);
}

static void damaged_records_are_refused(void **state)
{
	struct fairlead_record record = { .size = sizeof(golden) + 1 };

	memcpy(record.bytes, golden, sizeof(golden));
	assert_refused(&record, "more than it should");
	for (record.size = 1; record.size < sizeof(golden); record.size++)
		assert_refused(&record, "is cut");
	record.size = sizeof(golden);
	record.bytes[0] = 2;
	assert_refused(&record, "version 2, not 1");
	record.bytes[0] = 1;
	record.bytes[1] = 2;
	assert_refused(&record, "isolation 2");
	record.bytes[1] = 0;
	record.bytes[2] = ETHERNET_DEVICES_MAX + 1;
	assert_refused(&record, "17 devices");
	record.bytes[2] = 2;
	record.bytes[13] = 5;
	assert_refused(&record, "is cut");
	record.size = FAIRLEAD_RECORD_MAX + 1;
	assert_refused(&record, "2049 bytes");
}

static void what_is_not_ours_is_refused(void **state)
{
	struct ethernet_made made = one;
	struct fairlead_record record = { 0 };

	strcpy(made.devices[1].name, "eth0");
	ethernet_record_encode(&made, &record);
	assert_refused(&record, "'eth0', which is not ours");
	made = one;
	made.devices[0].ipv4 = made.devices[0].ipv6;
	ethernet_record_encode(&made, &record);
	assert_refused(&record, "another family");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_as_documented),
		cmocka_unit_test(what_was_encoded_is_decoded),
		cmocka_unit_test(the_most_devices_fit),
		cmocka_unit_test(an_empty_record_has_no_devices),
		cmocka_unit_test(damaged_records_are_refused),
		cmocka_unit_test(what_is_not_ours_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
