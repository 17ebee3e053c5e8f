/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/proto/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/heap.h"
#include "sim/rng.h"

#define SIZE_SMALL 16

static void frame_write(struct writer *writer, const void *bytes, size_t size)
{
	uint8_t length[FRAME_LENGTH_SIZE];

	frame_length(size, length);
	write_bytes(writer, length, sizeof(length));
	write_bytes(writer, bytes, size);
}

static void assert_next(struct splitter *splitter, const void *bytes,
			size_t size)
{
	const uint8_t *got;
	size_t got_size;

	assert_int_equal(splitter_next(splitter, &got, &got_size), 1);
	assert_int_equal(got_size, size);
	assert_memory_equal(got, bytes, size);
}

static int next(struct splitter *splitter)
{
	const uint8_t *bytes;
	size_t size;

	return splitter_next(splitter, &bytes, &size);
}

static void frame_is_its_type_and_payload(void **state)
{
	struct writer writer = { 0 };
	struct frame frame;

	frame_begin(&writer, FRAME_CONFIRM);
	write_text(&writer, "x");
	assert_int_equal(frame_parse(writer.data, writer.size, &frame), 0);
	assert_int_equal(frame.type, FRAME_CONFIRM);
	assert_ptr_equal(frame.payload, writer.data + 1);
	assert_int_equal(frame.size, 5);
	writer_fini(&writer);
}

static void frame_has_a_known_type(void **state)
{
	struct frame frame;

	assert_int_equal(frame_parse(NULL, 0, &frame), -EBADMSG);
	for (unsigned int type = 0; type < 256; type++) {
		uint8_t byte = (uint8_t)type;

		assert_int_equal(frame_parse(&byte, 1, &frame),
				 type >= FRAME_CHALLENGE && type <= FRAME_REFUSE
					 ? 0
					 : -EBADMSG);
	}
}

static void ping_and_pong_have_no_payload(void **state)
{
	static const uint8_t ping[] = { FRAME_PING, 0 };
	static const uint8_t pong[] = { FRAME_PONG, 0 };
	struct frame frame;

	assert_int_equal(frame_parse(ping, 1, &frame), 0);
	assert_int_equal(frame_parse(pong, 1, &frame), 0);
	assert_int_equal(frame_parse(ping, 2, &frame), -EBADMSG);
	assert_int_equal(frame_parse(pong, 2, &frame), -EBADMSG);
}

static void frame_has_a_limit(void **state)
{
	_auto_(freep) uint8_t *bytes = calloc(1, FRAME_SIZE_MAX + 1);
	struct writer writer = { 0 };
	struct frame frame;

	bytes[0] = FRAME_COMMAND;
	assert_int_equal(frame_parse(bytes, FRAME_SIZE_MAX, &frame), 0);
	assert_int_equal(frame_parse(bytes, FRAME_SIZE_MAX + 1, &frame),
			 -EMSGSIZE);
	frame_begin(&writer, FRAME_COMMAND);
	write_bytes(&writer, bytes, FRAME_SIZE_MAX - 1);
	assert_int_equal(writer.result, 0);
	write_u8(&writer, 0);
	assert_int_equal(writer.result, -EMSGSIZE);
	writer_fini(&writer);
}

static void length_is_little_endian(void **state)
{
	static const uint8_t expected[] = { 0x04, 0x03, 0x02, 0x01 };
	uint8_t length[FRAME_LENGTH_SIZE];

	frame_length(0x01020304, length);
	assert_memory_equal(length, expected, sizeof(expected));
}

/* However the stream is cut, the same frames come out of it. */
static void frames_come_whole_from_any_pieces(void **state)
{
	static const char *const frames[] = { "a", "bcd", "0123456789abcdef",
					      "x" };
	struct writer stream = { 0 };

	for (size_t i = 0; i < 4; i++)
		frame_write(&stream, frames[i], strlen(frames[i]));
	for (size_t piece = 1; piece <= stream.size; piece++) {
		struct splitter splitter;
		size_t got = 0;

		splitter_init(&splitter, SIZE_SMALL);
		for (size_t at = 0; at < stream.size; at += piece) {
			size_t size = stream.size - at;
			const uint8_t *bytes;
			size_t frame_size;

			if (size > piece)
				size = piece;
			assert_int_equal(splitter_feed(&splitter,
						       stream.data + at, size),
					 0);
			while (splitter_next(&splitter, &bytes, &frame_size) >
			       0) {
				assert_int_equal(frame_size,
						 strlen(frames[got]));
				assert_memory_equal(bytes, frames[got],
						    frame_size);
				got++;
			}
		}
		assert_int_equal(got, 4);
		assert_int_equal(splitter.begin, splitter.end);
		splitter_fini(&splitter);
	}
	writer_fini(&stream);
}

static void frames_come_whole_from_random_pieces(void **state)
{
	struct writer stream = { 0 };
	struct splitter splitter;
	struct sim_rng rng;
	size_t at = 0, got = 0;
	uint8_t bytes[20000];

	sim_rng_init(&rng, 1);
	for (size_t i = 0; i < 300; i++) {
		memset(bytes, (int)i, sizeof(bytes));
		frame_write(&stream, bytes,
			    1 + sim_rng_below(&rng, sizeof(bytes)));
	}
	splitter_init(&splitter, sizeof(bytes));
	while (at < stream.size) {
		size_t size = sim_rng_below(&rng, 9000);
		const uint8_t *frame;
		size_t frame_size;

		if (size > stream.size - at)
			size = stream.size - at;
		assert_int_equal(
			splitter_feed(&splitter, stream.data + at, size), 0);
		at += size;
		while (splitter_next(&splitter, &frame, &frame_size) > 0) {
			assert_int_equal(frame[0], got & 0xff);
			assert_int_equal(frame[frame_size - 1], got & 0xff);
			got++;
		}
	}
	assert_int_equal(got, 300);
	splitter_fini(&splitter);
	writer_fini(&stream);
}

static void long_frame_is_refused_by_its_length_alone(void **state)
{
	uint8_t length[FRAME_LENGTH_SIZE];
	struct splitter splitter;

	splitter_init(&splitter, SIZE_SMALL);
	frame_length(SIZE_SMALL + 1, length);
	assert_int_equal(splitter_feed(&splitter, length, 3), 0);
	assert_int_equal(splitter_feed(&splitter, length + 3, 1), -EMSGSIZE);
	assert_int_equal(next(&splitter), -EMSGSIZE);
	assert_int_equal(splitter_feed(&splitter, length, 0), -EMSGSIZE);
	splitter_fini(&splitter);
}

static void empty_frame_is_refused(void **state)
{
	static const uint8_t length[FRAME_LENGTH_SIZE];
	struct splitter splitter;

	splitter_init(&splitter, SIZE_SMALL);
	assert_int_equal(splitter_feed(&splitter, length, sizeof(length)),
			 -EBADMSG);
	assert_int_equal(next(&splitter), -EBADMSG);
	splitter_fini(&splitter);
}

static void frames_before_a_bad_one_are_handed_out(void **state)
{
	struct writer stream = { 0 };
	struct splitter splitter;

	splitter_init(&splitter, SIZE_SMALL);
	frame_write(&stream, "good", 4);
	write_u32(&stream, UINT32_MAX);
	assert_int_equal(splitter_feed(&splitter, stream.data, stream.size), 0);
	assert_next(&splitter, "good", 4);
	assert_int_equal(next(&splitter), -EMSGSIZE);
	splitter_fini(&splitter);
	writer_fini(&stream);
}

static void frames_that_are_not_read_stop_the_stream(void **state)
{
	struct writer stream = { 0 };
	struct splitter splitter;

	splitter_init(&splitter, SIZE_SMALL);
	frame_write(&stream, "one", 3);
	assert_int_equal(splitter_feed(&splitter, stream.data, stream.size), 0);
	assert_int_equal(splitter_feed(&splitter, stream.data, stream.size),
			 -ENOBUFS);
	assert_int_equal(next(&splitter), -ENOBUFS);
	splitter_fini(&splitter);
	writer_fini(&stream);
}

static void buffer_of_a_large_frame_is_given_back(void **state)
{
	_auto_(freep) uint8_t *bytes = calloc(1, FRAME_SIZE_MAX);
	struct writer stream = { 0 };
	struct splitter splitter;

	splitter_init(&splitter, FRAME_SIZE_MAX);
	frame_write(&stream, bytes, FRAME_SIZE_MAX);
	assert_int_equal(splitter_feed(&splitter, stream.data, stream.size), 0);
	assert_next(&splitter, bytes, FRAME_SIZE_MAX);
	assert_int_equal(next(&splitter), 0);
	assert_int_equal(splitter.capacity, 0);
	splitter_fini(&splitter);
	writer_fini(&stream);
}

static int feed_case(void *ctx)
{
	struct splitter splitter;
	int result;

	splitter_init(&splitter, SIZE_SMALL);
	result = splitter_feed(&splitter, "\1\0\0\0x", 5);
	if (result < 0)
		assert_int_equal(next(&splitter), result);
	splitter_fini(&splitter);
	return result;
}

static void splitter_says_when_memory_is_out(void **state)
{
	int result;

	assert_true(sim_heap_fails(1, &result, feed_case, NULL));
	assert_int_equal(result, -ENOMEM);
	assert_false(sim_heap_fails(2, &result, feed_case, NULL));
	assert_int_equal(result, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_is_its_type_and_payload),
		cmocka_unit_test(frame_has_a_known_type),
		cmocka_unit_test(ping_and_pong_have_no_payload),
		cmocka_unit_test(frame_has_a_limit),
		cmocka_unit_test(length_is_little_endian),
		cmocka_unit_test(frames_come_whole_from_any_pieces),
		cmocka_unit_test(frames_come_whole_from_random_pieces),
		cmocka_unit_test(long_frame_is_refused_by_its_length_alone),
		cmocka_unit_test(empty_frame_is_refused),
		cmocka_unit_test(frames_before_a_bad_one_are_handed_out),
		cmocka_unit_test(frames_that_are_not_read_stop_the_stream),
		cmocka_unit_test(buffer_of_a_large_frame_is_given_back),
		cmocka_unit_test(splitter_says_when_memory_is_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
