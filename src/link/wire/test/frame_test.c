/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/wire/frame.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define PAYLOAD 5

static const struct link_frame samples[] = {
	{ .kind = FRAME_EAGER,
	  .flags = FRAME_HAS_DATA | FRAME_URGENT,
	  .sequence = 1,
	  .sender = UINT64_C(0x1020304050607080),
	  .tag = 7,
	  .data = UINT64_MAX,
	  .size = PAYLOAD },
	{ .kind = FRAME_EAGER,
	  .flags = FRAME_UNTAGGED,
	  .sequence = UINT32_MAX,
	  .sender = 1 },
	{ .kind = FRAME_READY,
	  .flags = FRAME_HAS_DATA,
	  .sequence = 3,
	  .sender = 4,
	  .tag = UINT64_C(1) << 62,
	  .data = 5,
	  .request = 6,
	  .size = UINT64_MAX,
	  .rail_count = 2,
	  .from = { 0xfa, 1, 2 },
	  .rails = { { 1, 2 }, { 3, 4 } } },
	{ .kind = FRAME_DONE,
	  .sequence = 3,
	  .sender = 4,
	  .request = 6,
	  .error = EIO,
	  .size = 8 },
	{ .kind = FRAME_PUSH,
	  .sequence = 3,
	  .sender = 4,
	  .request = 6,
	  .reader = 7 },
	{ .kind = FRAME_PIECE,
	  .sequence = 3,
	  .sender = 4,
	  .reader = 7,
	  .size = PAYLOAD,
	  .offset = UINT64_C(1) << 40 },
	{ .kind = FRAME_ACK,
	  .flags = FRAME_MISSING,
	  .sender = 4,
	  .up_to = 17,
	  .probe = 18 },
	{ .kind = FRAME_KNOWN, .sequence = 8, .sender = 4 },
	{ .kind = FRAME_RAILS,
	  .sender = 4,
	  .probe = 5,
	  .size = 2 * FRAME_RAIL_SIZE,
	  .rail_count = 2,
	  .from = { 0xfa, 1, 2 } },
	{ .kind = FRAME_EAGER, .flags = FRAME_URGENT, .sequence = 9 },
	{ .kind = FRAME_REACH,
	  .sequence = 3,
	  .sender = 4,
	  .request = 6,
	  .size = PAYLOAD },
	{ .kind = FRAME_RESULT,
	  .sequence = 3,
	  .sender = 4,
	  .request = 6,
	  .error = EACCES,
	  .size = PAYLOAD },
	{ .kind = FRAME_TOUCHED,
	  .flags = FRAME_WRITTEN,
	  .sequence = 3,
	  .sender = 4,
	  .key = UINT64_MAX - 1 },
	{ .kind = FRAME_HELLO,
	  .sender = 4,
	  .request = 6,
	  .from = { 0xfa, 1, 2 } },
	{ .kind = FRAME_NAME,
	  .sender = 5,
	  .request = 6,
	  .from = { 0xfa, 1, 3 } },
	{ .kind = FRAME_GREET,
	  .sequence = 10,
	  .sender = 4,
	  .from = { 0xfa, 1, 3 } },
	{ .kind = FRAME_FORGET,
	  .sequence = 3,
	  .sender = 4,
	  .key = UINT64_MAX - 1 },
};
#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

static uint8_t bytes[FRAME_READY_MAX + RAILS_MAX * FRAME_RAIL_SIZE];
static struct link_frame back;

static bool has_payload(enum frame_kind kind)
{
	return kind == FRAME_EAGER || kind == FRAME_PIECE ||
	       kind == FRAME_RAILS || kind == FRAME_REACH ||
	       kind == FRAME_RESULT;
}

/* With its payload; returns the size of all. */
static size_t encode(const struct link_frame *frame)
{
	memset(bytes, 0xaa, sizeof(bytes));
	size_t size = frame_encode(frame, bytes);
	if (has_payload(frame->kind))
		size += frame->size;
	return size;
}

static void what_is_encoded_is_decoded(void **state)
{
	for (size_t i = 0; i < SAMPLES; i++) {
		size_t size = encode(&samples[i]);
		assert_int_equal(frame_decode(bytes, size, false, &back), 0);
		assert_int_equal(back.payload != NULL,
				 has_payload(samples[i].kind));
		if (back.payload != NULL)
			assert_ptr_equal(back.payload + back.size,
					 bytes + size);
		back.payload = NULL;
		assert_memory_equal(&back, &samples[i], sizeof(back));
	}
}

static void each_size_but_the_right_one_is_refused(void **state)
{
	for (size_t i = 0; i < SAMPLES; i++) {
		size_t right = encode(&samples[i]);
		for (size_t size = 0; size <= right + 8; size++) {
			assert_int_equal(frame_decode(bytes, size, false,
						      &back),
					 size == right ? 0 : -EPROTO);
			assert_int_equal(frame_decode(bytes, size, true, &back),
					 size >= right ? 0 : -EPROTO);
		}
	}
}

/* Byte `at` of sample `which` becomes `value`. */
static void is_refused(size_t which, size_t at, uint8_t value)
{
	size_t size = encode(&samples[which]);
	bytes[at] = value;
	assert_int_equal(frame_decode(bytes, size, true, &back), -EPROTO);
}

static void what_no_endpoint_says_is_refused(void **state)
{
	is_refused(0, 0, 0); /* no kind */
	is_refused(0, 0, UINT8_MAX);
	is_refused(0, 1, 16); /* unknown flags */
	is_refused(0, 1, 4);
	is_refused(2, 1, FRAME_URGENT); /* a flag of another kind */
	is_refused(3, 1, 1);
	is_refused(0, 2, 1);  /* rails in an EAGER */
	is_refused(0, 32, 1); /* and a request, which nobody answers */
	is_refused(2, 2, 0);  /* no rails in a READY, or too many */
	is_refused(2, 2, RAILS_MAX + 1);
	is_refused(0, 3, 1);
	is_refused(0, 4, 0); /* a frame without its sequence */
	is_refused(6, 4, 1); /* an ACK with one */
	is_refused(2, 36, 1);
	is_refused(3, 22, 1); /* an error that there is not */
	is_refused(6, 1, FRAME_HAS_DATA);
	is_refused(8, 4, 1);
	is_refused(8, 2, RAILS_MAX + 1);
	is_refused(8, 20, 1);
	is_refused(0, 36, PAYLOAD + 100); /* more data than came */
	is_refused(5, 20, PAYLOAD + 100);
	is_refused(10, 20, PAYLOAD + 100);
	is_refused(10, 1, FRAME_WRITTEN);
	is_refused(11, 22, 1);
	is_refused(11, 31, 0xff);
	is_refused(12, 1, FRAME_HAS_DATA);
}

static void a_piece_does_not_lie_beyond_all_offsets(void **state)
{
	struct link_frame piece = samples[5];
	piece.offset = UINT64_MAX - PAYLOAD;
	size_t size = encode(&piece);
	assert_int_equal(frame_decode(bytes, size, false, &back), 0);
	piece.offset++;
	size = encode(&piece);
	assert_int_equal(frame_decode(bytes, size, false, &back), -EPROTO);
}

static void rails_are_found_by_their_places(void **state)
{
	const struct rail_address rails[] = {
		{ .size = 1, .bytes = { 7 } },
		{ .size = RAIL_ADDRESS_MAX, .bytes = { 8, 9 } },
	};
	struct rail_address found;
	size_t size = encode(&samples[8]);
	for (unsigned int i = 0; i < 2; i++)
		frame_put_rail(&rails[i],
			       bytes + FRAME_RAILS_SIZE + i * FRAME_RAIL_SIZE);
	assert_int_equal(frame_decode(bytes, size, false, &back), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(frame_get_rail(&back, i, &found), 0);
		assert_memory_equal(&found, &rails[i], sizeof(found));
	}
	assert_int_equal(frame_get_rail(&back, 2, &found), -EPROTO);
	bytes[FRAME_RAILS_SIZE] = 0;
	assert_int_equal(frame_get_rail(&back, 0, &found), -EPROTO);
	bytes[FRAME_RAILS_SIZE] = RAIL_ADDRESS_MAX + 1;
	assert_int_equal(frame_get_rail(&back, 0, &found), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_encoded_is_decoded),
		cmocka_unit_test(each_size_but_the_right_one_is_refused),
		cmocka_unit_test(what_no_endpoint_says_is_refused),
		cmocka_unit_test(a_piece_does_not_lie_beyond_all_offsets),
		cmocka_unit_test(rails_are_found_by_their_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
