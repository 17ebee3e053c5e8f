/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/slingshot/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static const struct slingshot_services two = {
	.count = 2,
	.list = { { .device = 0, .id = 11, .tcs = 0x0a },
		  { .device = 0x01020304, .id = 0x11121314, .tcs = 0x0f } },
};

static const uint8_t golden[] = {
	1,    2, 0, 0, 0, 0,    11,   0,    0,    0,
	0x0a, 4, 3, 2, 1, 0x14, 0x13, 0x12, 0x11, 0x0f,
};

static void assert_refused(const struct fairlead_record *record,
			   const char *part)
{
	struct slingshot_services services = { .count = 77 };
	struct fairlead_error error = { 0 };

	assert_int_equal(slingshot_record_decode(record, &services, &error),
			 -EBADMSG);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
	assert_int_equal(services.count, 77);
}

static void bytes_are_as_documented(void **state)
{
	struct fairlead_record record = { 0 };

	slingshot_record_encode(&two, &record);
	assert_int_equal(record.size, sizeof(golden));
	assert_memory_equal(record.bytes, golden, sizeof(golden));
}

static void what_was_encoded_is_decoded(void **state)
{
	struct slingshot_services services;
	struct fairlead_record record = { 0 };

	slingshot_record_encode(&two, &record);
	assert_int_equal(slingshot_record_decode(&record, &services, NULL), 0);
	assert_memory_equal(&services, &two, sizeof(two));
}

static void the_most_devices_fit(void **state)
{
	struct slingshot_services services = { .count = SLINGSHOT_DEVICES_MAX };
	struct slingshot_services again;
	struct fairlead_record record = { 0 };

	for (uint32_t i = 0; i < services.count; i++)
		services.list[i].device = services.list[i].id = UINT32_MAX - i;
	slingshot_record_encode(&services, &record);
	assert_int_equal(slingshot_record_decode(&record, &again, NULL), 0);
	assert_memory_equal(&services, &again, sizeof(again));
}

static void an_empty_record_has_no_services(void **state)
{
	struct slingshot_services services = { .count = 77 };
	struct fairlead_record record = { 0 };

	assert_int_equal(slingshot_record_decode(&record, &services, NULL), 0);
	assert_int_equal(services.count, 0);
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
	record.bytes[1] = SLINGSHOT_DEVICES_MAX + 1;
	assert_refused(&record, "65 devices, at most 64");
	record.size = FAIRLEAD_RECORD_MAX + 1;
	assert_refused(&record, "2049 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_as_documented),
		cmocka_unit_test(what_was_encoded_is_decoded),
		cmocka_unit_test(the_most_devices_fit),
		cmocka_unit_test(an_empty_record_has_no_services),
		cmocka_unit_test(damaged_records_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
