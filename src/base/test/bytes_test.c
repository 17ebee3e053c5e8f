/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/heap.h"
#include "sim/rng.h"

static void numbers_are_little_endian(void **state)
{
	static const uint8_t expected[] = { 0x01, 0x03, 0x02, 0x07, 0x06,
					    0x05, 0x04, 0x0f, 0x0e, 0x0d,
					    0x0c, 0x0b, 0x0a, 0x09, 0x08 };
	struct writer writer = { 0 };
	struct reader reader;

	write_u8(&writer, 0x01);
	write_u16(&writer, 0x0203);
	write_u32(&writer, 0x04050607);
	write_u64(&writer, UINT64_C(0x08090a0b0c0d0e0f));
	assert_int_equal(writer.result, 0);
	assert_int_equal(writer.size, sizeof(expected));
	assert_memory_equal(writer.data, expected, sizeof(expected));
	reader = reader_of(writer.data, writer.size);
	assert_int_equal(read_u8(&reader), 0x01);
	assert_int_equal(read_u16(&reader), 0x0203);
	assert_int_equal(read_u32(&reader), 0x04050607);
	assert_false(reader_is_done(&reader));
	assert_int_equal(read_u64(&reader), UINT64_C(0x08090a0b0c0d0e0f));
	assert_true(reader_is_done(&reader));
	writer_fini(&writer);
}

static void blob_and_text_have_their_length_before_them(void **state)
{
	static const uint8_t expected[] = { 2,   0, 0, 0, 0xff, 0x00,
					    3,   0, 0, 0, 'a',  'b',
					    'c', 0, 0, 0, 0 };
	struct writer writer = { 0 };

	write_blob(&writer, "\xff", 2);
	write_text(&writer, "abc");
	write_text(&writer, NULL);
	assert_int_equal(writer.size, sizeof(expected));
	assert_memory_equal(writer.data, expected, sizeof(expected));
	writer_fini(&writer);
}

static void writer_stops_at_its_limit(void **state)
{
	struct writer writer = { .limit = 6 };

	write_u32(&writer, 1);
	write_u16(&writer, 2);
	assert_int_equal(writer.result, 0);
	write_u8(&writer, 3);
	assert_int_equal(writer.result, -EMSGSIZE);
	assert_int_equal(writer.size, 6);
	write_bytes(&writer, NULL, 0);
	assert_int_equal(writer.result, -EMSGSIZE);
	writer_fini(&writer);
	assert_int_equal(writer.result, 0);
	assert_int_equal(writer.limit, 6);
}

static void blob_over_the_limit_writes_nothing(void **state)
{
	struct writer writer = { .limit = 6 };

	write_blob(&writer, "abc", 3);
	assert_int_equal(writer.result, -EMSGSIZE);
	assert_int_equal(writer.size, 0);
	/* What would fit is not written after a failure either. */
	write_u8(&writer, 1);
	assert_int_equal(writer.size, 0);
	writer_fini(&writer);
}

static void blob_over_32_bits_is_refused(void **state)
{
	struct writer writer = { 0 };

	write_blob(&writer, "", (size_t)UINT32_MAX + 1);
	assert_int_equal(writer.result, -EMSGSIZE);
	writer_fini(&writer);
}

static void absurd_size_does_not_overflow(void **state)
{
	struct writer writer = { 0 };

	write_u8(&writer, 1);
	write_bytes(&writer, "", SIZE_MAX);
	assert_int_equal(writer.result, -EMSGSIZE);
	assert_int_equal(writer.size, 1);
	writer_fini(&writer);
	write_bytes(&writer, "", SIZE_MAX / 2 + 1);
	assert_int_equal(writer.result, -EMSGSIZE);
	writer_fini(&writer);
}

static void taken_buffer_is_the_callers(void **state)
{
	struct writer writer = { .limit = 100 };
	uint8_t *data;
	size_t size;

	write_u8(&writer, 7);
	data = writer_take(&writer, &size);
	assert_int_equal(size, 1);
	assert_int_equal(data[0], 7);
	free(data);
	assert_null(writer.data);
	assert_int_equal(writer.size, 0);
	assert_int_equal(writer.limit, 100);
}

static void taken_empty_buffer_is_not_null(void **state)
{
	struct writer writer = { 0 };
	size_t size = 9;
	uint8_t *data = writer_take(&writer, &size);

	assert_non_null(data);
	assert_int_equal(size, 0);
	free(data);
}

static void take_after_a_failure_gives_null_and_keeps_the_reason(void **state)
{
	struct writer writer = { .limit = 1 };
	size_t size = 9;

	write_u8(&writer, 1);
	write_u8(&writer, 2);
	assert_null(writer_take(&writer, &size));
	assert_int_equal(size, 9);
	assert_null(writer.data);
	assert_int_equal(writer.result, -EMSGSIZE);
}

static void borrowed_buffer_is_used_again(void **state)
{
	struct writer kept = { 0 };
	struct writer first = writer_borrow(&kept);
	struct writer second;
	const uint8_t *data;

	write_text(&first, "first");
	data = first.data;
	writer_return(&kept, &first);
	assert_null(first.data);
	second = writer_borrow(&kept);
	assert_int_equal(second.size, 0);
	write_u8(&second, 2);
	assert_ptr_equal(second.data, data);
	assert_int_equal(second.size, 1);
	writer_return(&kept, &second);
	writer_fini(&kept);
}

static void two_borrowers_have_buffers_of_their_own(void **state)
{
	struct writer kept = { 0 };
	struct writer outer = writer_borrow(&kept);
	struct writer inner;

	write_u8(&outer, 1);
	writer_return(&kept, &outer);
	outer = writer_borrow(&kept);
	inner = writer_borrow(&kept);
	write_u8(&outer, 2);
	write_u8(&inner, 3);
	writer_return(&kept, &inner);
	assert_int_equal(outer.data[0], 2);
	assert_int_equal(outer.size, 1);
	writer_return(&kept, &outer);
	assert_int_equal(kept.size, 0);
	writer_fini(&kept);
}

static void failure_of_a_borrower_is_not_the_next_ones(void **state)
{
	struct writer kept = { 0 };
	struct writer writer = writer_borrow(&kept);

	writer.limit = 1;
	write_u16(&writer, 1);
	assert_int_equal(writer.result, -EMSGSIZE);
	writer_return(&kept, &writer);
	writer = writer_borrow(&kept);
	write_u16(&writer, 1);
	assert_int_equal(writer.result, 0);
	writer_return(&kept, &writer);
	writer_fini(&kept);
}

static void large_buffer_is_not_kept(void **state)
{
	static const uint8_t bytes[1 << 20];
	struct writer kept = { 0 };
	struct writer writer = writer_borrow(&kept);

	write_bytes(&writer, bytes, sizeof(bytes));
	assert_int_equal(writer.result, 0);
	writer_return(&kept, &writer);
	assert_null(writer.data);
	assert_null(kept.data);
}

static int write_much(void *ctx)
{
	struct writer writer = { 0 };
	uint8_t *data;

	for (unsigned int i = 0; i < 1000; i++)
		write_u32(&writer, i);
	data = writer_take(&writer, NULL);
	if (data == NULL)
		return writer.result;
	free(data);
	return 0;
}

static void writer_remembers_that_memory_was_out(void **state)
{
	unsigned int n = 1;
	int result;

	for (; sim_heap_fails(n, &result, write_much, NULL); n++)
		assert_int_equal(result, -ENOMEM);
	assert_int_equal(result, 0);
	assert_in_range(n, 3, 10);
}

static void reader_fails_once_and_for_all(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct reader reader = reader_of(bytes, sizeof(bytes));

	assert_int_equal(read_u32(&reader), 0);
	assert_true(reader.failed);
	assert_int_equal(read_u8(&reader), 0);
	assert_int_equal(read_u16(&reader), 0);
	assert_int_equal(read_u64(&reader), 0);
	assert_null(read_bytes(&reader, 0));
	assert_false(reader_is_done(&reader));
}

static void reader_gives_views(void **state)
{
	static const uint8_t bytes[] = { 9, 2, 0, 0, 0, 5, 6 };
	struct reader reader = reader_of(bytes, sizeof(bytes));
	size_t size = 0;

	assert_ptr_equal(read_bytes(&reader, 1), bytes);
	assert_ptr_equal(read_blob(&reader, 2, &size), bytes + 5);
	assert_int_equal(size, 2);
	assert_true(reader_is_done(&reader));
	assert_non_null(read_bytes(&reader, 0));
	assert_true(reader_is_done(&reader));
}

static void reader_of_nothing_is_done(void **state)
{
	struct reader reader = reader_of(NULL, 0);

	assert_true(reader_is_done(&reader));
	assert_non_null(read_bytes(&reader, 0));
	assert_int_equal(read_u8(&reader), 0);
	assert_false(reader_is_done(&reader));
}

static void blob_over_its_maximum_fails(void **state)
{
	static const uint8_t bytes[] = { 2, 0, 0, 0, 5, 6 };
	struct reader reader = reader_of(bytes, sizeof(bytes));
	size_t size = 9;

	assert_null(read_blob(&reader, 1, &size));
	assert_int_equal(size, 0);
	assert_true(reader.failed);
}

static void blob_longer_than_the_bytes_fails(void **state)
{
	static const uint8_t bytes[] = { 0xff, 0xff, 0xff, 0xff, 5, 6 };
	struct reader reader = reader_of(bytes, sizeof(bytes));
	size_t size = 9;

	assert_null(read_blob(&reader, SIZE_MAX, &size));
	assert_int_equal(size, 0);
	assert_true(reader.failed);
}

static void text_fits_with_its_zero_or_fails(void **state)
{
	static const uint8_t bytes[] = { 3, 0, 0, 0, 'a', 'b', 'c' };
	struct reader reader = reader_of(bytes, sizeof(bytes));
	char text[4] = "xxx";

	read_text(&reader, text, 4);
	assert_string_equal(text, "abc");
	assert_true(reader_is_done(&reader));
	reader = reader_of(bytes, sizeof(bytes));
	read_text(&reader, text, 3);
	assert_string_equal(text, "");
	assert_true(reader.failed);
}

static void text_with_a_zero_inside_fails(void **state)
{
	static const uint8_t bytes[] = { 3, 0, 0, 0, 'a', 0, 'c' };
	struct reader reader = reader_of(bytes, sizeof(bytes));
	char text[8] = "xxx";

	read_text(&reader, text, sizeof(text));
	assert_string_equal(text, "");
	assert_true(reader.failed);
	reader = reader_of(bytes, sizeof(bytes));
	assert_null(read_text_alloc(&reader, 8));
	assert_true(reader.failed);
}

static void allocated_text_is_copied(void **state)
{
	uint8_t bytes[] = { 2, 0, 0, 0, 'a', 'b', 0, 0, 0, 0 };
	struct reader reader = reader_of(bytes, sizeof(bytes));
	char *text = read_text_alloc(&reader, 2);
	char *empty = read_text_alloc(&reader, 0);

	bytes[4] = 'x';
	assert_string_equal(text, "ab");
	assert_string_equal(empty, "");
	assert_true(reader_is_done(&reader));
	free(text);
	free(empty);
	reader = reader_of(bytes, sizeof(bytes));
	assert_null(read_text_alloc(&reader, 1));
	assert_true(reader.failed);
}

static int read_allocated(void *ctx)
{
	static const uint8_t bytes[] = { 1, 0, 0, 0, 'a', 1 };
	struct reader reader = reader_of(bytes, sizeof(bytes));
	char *text = read_text_alloc(&reader, 8);

	free(text);
	return text == NULL && reader.failed && reader.left == 0;
}

static void allocated_text_fails_the_reader_without_memory(void **state)
{
	int failed;

	assert_true(sim_heap_fails(1, &failed, read_allocated, NULL));
	assert_true(failed);
	assert_false(sim_heap_fails(2, &failed, read_allocated, NULL));
	assert_false(failed);
}

/* Every message, cut anywhere, fails; whole, it reads back. */
static void message_reads_back_whole_and_fails_cut(void **state)
{
	struct sim_rng rng;

	sim_rng_init(&rng, 5);
	for (int round = 0; round < 200; round++) {
		uint64_t number = sim_rng_u64(&rng);
		size_t length = sim_rng_below(&rng, 20);
		struct writer writer = { 0 };
		char text[21], copy[21];

		memset(text, 'a' + round % 26, length);
		text[length] = 0;
		write_text(&writer, text);
		write_u64(&writer, number);
		for (size_t size = 0; size <= writer.size; size++) {
			struct reader reader = reader_of(writer.data, size);
			uint64_t value;

			read_text(&reader, copy, sizeof(copy));
			value = read_u64(&reader);
			assert_int_equal(reader_is_done(&reader),
					 size == writer.size);
			assert_true(value == (reader.failed ? 0 : number));
		}
		assert_string_equal(copy, text);
		writer_fini(&writer);
	}
}

static void decimals_are_filled_with_zeros(void **state)
{
	struct writer writer = { 0 };

	write_decimal(&writer, 42, 6);
	write_plain(&writer, " ");
	write_decimal(&writer, 1234567, 6);
	write_u8(&writer, 0);
	assert_string_equal((const char *)writer.data, "000042 1234567");
	writer_fini(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decimals_are_filled_with_zeros),
		cmocka_unit_test(numbers_are_little_endian),
		cmocka_unit_test(blob_and_text_have_their_length_before_them),
		cmocka_unit_test(writer_stops_at_its_limit),
		cmocka_unit_test(blob_over_the_limit_writes_nothing),
		cmocka_unit_test(blob_over_32_bits_is_refused),
		cmocka_unit_test(absurd_size_does_not_overflow),
		cmocka_unit_test(taken_buffer_is_the_callers),
		cmocka_unit_test(taken_empty_buffer_is_not_null),
		cmocka_unit_test(borrowed_buffer_is_used_again),
		cmocka_unit_test(two_borrowers_have_buffers_of_their_own),
		cmocka_unit_test(failure_of_a_borrower_is_not_the_next_ones),
		cmocka_unit_test(large_buffer_is_not_kept),
		cmocka_unit_test(
			take_after_a_failure_gives_null_and_keeps_the_reason),
		cmocka_unit_test(writer_remembers_that_memory_was_out),
		cmocka_unit_test(reader_fails_once_and_for_all),
		cmocka_unit_test(reader_gives_views),
		cmocka_unit_test(reader_of_nothing_is_done),
		cmocka_unit_test(blob_over_its_maximum_fails),
		cmocka_unit_test(blob_longer_than_the_bytes_fails),
		cmocka_unit_test(text_fits_with_its_zero_or_fails),
		cmocka_unit_test(text_with_a_zero_inside_fails),
		cmocka_unit_test(allocated_text_is_copied),
		cmocka_unit_test(
			allocated_text_fails_the_reader_without_memory),
		cmocka_unit_test(message_reads_back_whole_and_fails_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
