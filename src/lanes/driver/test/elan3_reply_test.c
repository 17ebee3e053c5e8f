/* SPDX-License-Identifier: BSD-3-Clause */
/* The opaque reply: there and back, and every byte that can be wrong. */
#include "lanes/driver/elan3/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "elan/capability.h"

#define CAPS 2

struct fixture {
	struct elan_capability caps[ELAN3_CAPS_MAX];
	struct elan3_reply reply;
	struct writer writer;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	for (uint32_t i = 0; i < ELAN3_CAPS_MAX; i++) {
		struct elan_capability *cap = &fixture->caps[i];

		capability_init(cap);
		memset(&cap->cap_userkey, 0x10 + (int)i,
		       sizeof(cap->cap_userkey));
		cap->cap_type = ELAN_CAP_TYPE_BLOCK | ELAN_CAP_TYPE_MULTI_RAIL;
		cap->cap_lowcontext = 0x400;
		cap->cap_highcontext = 0x402;
		cap->cap_lownode = 3;
		cap->cap_highnode = 5;
		cap->cap_railmask = 1u << i;
		cap->cap_bitmap[0] = 0x1ff;
	}
	fixture->reply = (struct elan3_reply){ .program = 77,
					       .cap_count = CAPS,
					       .caps = fixture->caps };
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	writer_fini(&fixture->writer);
	free(fixture);
	return 0;
}

static void encode(struct fixture *fixture)
{
	fixture->writer.size = 0;
	assert_int_equal(elan3_reply_encode(&fixture->reply, &fixture->writer),
			 0);
}

static void refuse(struct fixture *fixture, size_t size, const char *part)
{
	struct elan3_reply reply = { .program = 99 };
	struct fairlead_error error = { 0 };

	assert_int_equal(elan3_reply_decode(fixture->writer.data, size, &reply,
					    &error),
			 -EBADMSG);
	assert_int_equal(error.code, -EBADMSG);
	assert_int_equal(reply.program, 99);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
}

static void a_reply_comes_back_as_it_was(void **state)
{
	struct fixture *fixture = *state;
	struct elan3_reply reply;

	encode(fixture);
	assert_int_equal(fixture->writer.size, 12 + CAPS * (4 + 48 + 4));
	assert_memory_equal(fixture->writer.data, "\x0e\xf0\x0f\xf0\x4d\0\0\0",
			    8);
	assert_int_equal(elan3_reply_decode(fixture->writer.data,
					    fixture->writer.size, &reply, NULL),
			 0);
	assert_int_equal(reply.program, 77);
	assert_int_equal(reply.cap_count, CAPS);
	assert_memory_equal(reply.caps, fixture->caps,
			    CAPS * sizeof(*reply.caps));
	elan3_reply_fini(&reply);
	assert_null(reply.caps);
}

static void what_is_cut_or_too_long_is_refused(void **state)
{
	struct fixture *fixture = *state;

	encode(fixture);
	for (size_t size = 0; size < fixture->writer.size; size++)
		refuse(fixture, size, "cut");
	write_u8(&fixture->writer, 0);
	refuse(fixture, fixture->writer.size, "too long");
}

static void fields_that_cannot_be_are_refused(void **state)
{
	struct fixture *fixture = *state;
	uint8_t *data;

	encode(fixture);
	data = fixture->writer.data;
	data[0] ^= 1;
	refuse(fixture, fixture->writer.size, "begins with");
	data[0] ^= 1;
	memset(data + 4, 0, 4);
	refuse(fixture, fixture->writer.size, "program 0");
	data[7] = 0x80;
	refuse(fixture, fixture->writer.size, "program 2147483648");
	data[7] = 1;
	data[8] = 0;
	refuse(fixture, fixture->writer.size, "0 capabilities");
	data[8] = ELAN3_CAPS_MAX + 1;
	refuse(fixture, fixture->writer.size, "17 capabilities");
}

static void capabilities_that_cannot_be_are_refused(void **state)
{
	struct fixture *fixture = *state;

	fixture->caps[1].cap_version++;
	encode(fixture);
	refuse(fixture, fixture->writer.size, "capability 1 of the reply is");
	fixture->caps[1].cap_version--;
	fixture->caps[1].cap_mycontext = 0x400;
	encode(fixture);
	refuse(fixture, fixture->writer.size, "capability 1 of the reply is");
	fixture->caps[1].cap_mycontext = -1;
	fixture->caps[0].cap_bitmap[0] |= 1u << 9;
	encode(fixture);
	refuse(fixture, fixture->writer.size, "capability 0 of the reply is");
	fixture->caps[0].cap_bitmap[0] &= ~(1u << 9);
	fixture->caps[1].cap_railmask = 1;
	encode(fixture);
	refuse(fixture, fixture->writer.size, "overlaps");
}

static void replies_that_cannot_be_are_not_encoded(void **state)
{
	struct fixture *fixture = *state;
	struct elan3_reply *reply = &fixture->reply;

	reply->program = 0;
	assert_int_equal(elan3_reply_encode(reply, &fixture->writer), -EINVAL);
	reply->program = 1;
	reply->cap_count = 0;
	assert_int_equal(elan3_reply_encode(reply, &fixture->writer), -EINVAL);
	reply->cap_count = ELAN3_CAPS_MAX + 1;
	assert_int_equal(elan3_reply_encode(reply, &fixture->writer), -EINVAL);
	reply->cap_count = ELAN3_CAPS_MAX;
	for (uint32_t i = 0; i < ELAN3_CAPS_MAX; i++)
		fixture->caps[i].cap_highnode = 3 + 5460;
	assert_int_equal(elan3_reply_encode(reply, &fixture->writer), -E2BIG);
	assert_int_equal(fixture->writer.size, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_reply_comes_back_as_it_was),
		T(what_is_cut_or_too_long_is_refused),
		T(fields_that_cannot_be_are_refused),
		T(capabilities_that_cannot_be_are_refused),
		T(replies_that_cannot_be_are_not_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
