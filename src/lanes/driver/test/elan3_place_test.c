/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a node says that it is in the Elan. */
#include "lanes/driver/elan3/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "lanes/driver/elan3/hosts.h"

static const struct elan3_place sample = {
	.rail_count = 3,
	.rails = { { ELAN3_PORT_UP, 7 },
		   { ELAN3_PORT_DOWN, 7 },
		   { ELAN3_PORT_ABSENT, 0 } },
};

static void a_place_comes_back_as_it_was(void **state)
{
	struct fairlead_place bytes;
	struct elan3_place place;

	elan3_place_encode(&sample, &bytes);
	assert_int_equal(bytes.size, 2 + 3 * 3 + ROUTE_SIZE);
	assert_memory_equal(bytes.bytes, "\1\3\1\7\0\2\7\0\0\0\0", 11);
	assert_int_equal(elan3_place_decode(&bytes, &place), 0);
	assert_memory_equal(&place, &sample, sizeof(place));
}

static void an_adapter_comes_with_it(void **state)
{
	struct elan3_place place = sample, again;
	struct fairlead_place bytes;

	place.adapter = (struct route){
		.family = 4,
		.address = { 10, 0, 0, 9 },
		.port = 0x1234,
	};
	elan3_place_encode(&place, &bytes);
	assert_int_equal(bytes.size, 2 + 3 * 3 + ROUTE_SIZE);
	assert_int_equal(elan3_place_decode(&bytes, &again), 0);
	assert_memory_equal(&again, &place, sizeof(place));
	for (bytes.size = 0; bytes.size < 2 + 3 * 3 + ROUTE_SIZE; bytes.size++)
		assert_int_equal(elan3_place_decode(&bytes, &again), -EBADMSG);
	/* No port; a family that is none; more of an address than it has. */
	bytes.bytes[30] = bytes.bytes[31] = 0;
	bytes.size = 32;
	assert_int_equal(elan3_place_decode(&bytes, &again), -EBADMSG);
	bytes.bytes[31] = 1;
	bytes.bytes[13] = 5;
	assert_int_equal(elan3_place_decode(&bytes, &again), -EBADMSG);
	bytes.bytes[13] = 4;
	bytes.bytes[22] = 1;
	assert_int_equal(elan3_place_decode(&bytes, &again), -EBADMSG);
	bytes.bytes[13] = 6;
	assert_int_equal(elan3_place_decode(&bytes, &again), 0);
}

static void what_is_no_place_is_refused(void **state)
{
	static const struct {
		size_t size;
		const char *bytes;
	} bad[] = {
		{ 0, "" },           { 1, "\1" },           { 2, "\2\0" },
		{ 3, "\1\0\0" },     { 4, "\1\1\1\7" },     { 5, "\1\1\3\7\0" },
		{ 5, "\1\1\0\7\0" }, { 5, "\1\1\1\0\x40" }, { 2, "\1\x20" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fairlead_place bytes = { .size = bad[i].size };
		struct elan3_place place = { .rail_count = 77 };

		memcpy(bytes.bytes, bad[i].bytes, bad[i].size);
		assert_int_equal(elan3_place_decode(&bytes, &place), -EBADMSG);
		assert_int_equal(place.rail_count, 77);
	}
}

static void refuse(uint32_t rails, uint32_t id, const char *text)
{
	struct fairlead_error error = { 0 };

	assert_int_equal(elan3_place_check(&sample, rails, id, &error),
			 -EINVAL);
	assert_string_equal(error.text, text);
}

static void only_the_rails_of_the_job_count(void **state)
{
	assert_int_equal(elan3_place_check(&sample, 1, 7, NULL), 0);
	refuse(1, 8, "is ElanID 7 on rail 0, and 8 by the file");
	refuse(3, 7, "reports its port on rail 1 down");
	refuse(5, 7, "has no rail 2");
	refuse(9, 7, "has no rail 3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_comes_back_as_it_was),
		cmocka_unit_test(an_adapter_comes_with_it),
		cmocka_unit_test(what_is_no_place_is_refused),
		cmocka_unit_test(only_the_rails_of_the_job_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
