/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers of many parts: each level of the tree takes and gives several. */
#include "rounds_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sodium.h>

#include "lanes/proto/collective.h"

/* How many have answered in so many parts at least. */
static size_t count_of(const struct bed *bed, unsigned int part_count)
{
	size_t count = 0;

	for (size_t i = 0; i < bed->count; i++)
		count += bed->members[i].part_count >= part_count;
	return count;
}

/*
 * One of the manager's children has 256 nodes, in as many parts as there may
 * be; it has children of 64, in two.
 */
static void an_answer_of_many_parts_comes_whole(void **state)
{
	struct bed *bed = bed_create(600);

	bed->say_count = 510;
	bed_ask(bed, 1, 10, 600, 300);
	bed_expect_all(bed, 1, 600);
	assert_int_equal(count_of(bed, PARCEL_PARTS_MAX), 1);
	assert_int_equal(count_of(bed, PARCEL_PARTS_MAX + 1), 0);
	assert_true(count_of(bed, 2) >= 1 + 3);
	assert_true(bed->calls[1].part_count > PARCEL_PARTS_MAX);
	/* Once more over the group that is there, and by bulk data. */
	bed_ask(bed, 2, 10, 600, 50000);
	bed_expect_all(bed, 2, 600);
	bed_destroy(bed);
}

/* A node left out has not failed; it answers when it is asked directly. */
static void parts_without_room_are_left_out(void **state)
{
	struct bed *bed = bed_create(600);
	size_t all, room;

	bed->say_count = 2048;
	all = 600 * bed->say_count;
	room = PARCEL_PARTS_MAX * PART_BYTES / sizeof(uint32_t);
	bed_ask(bed, 1, 10, 600, 300);
	assert_int_equal(bed->calls[1].failure_count, 0);
	assert_true(count_of(bed, PARCEL_PARTS_MAX + 1) > 0);
	assert_in_range(bed->calls[1].answer_count, room, all - 1);
	assert_int_equal(bed_begin(bed, 2, 0, 128, 300, true), 0);
	bed_run(bed);
	assert_true(bed->calls[2].is_ended);
	bed_expect_all(bed, 2, 128);
	bed_destroy(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_of_many_parts_comes_whole),
		cmocka_unit_test(parts_without_room_are_left_out),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
