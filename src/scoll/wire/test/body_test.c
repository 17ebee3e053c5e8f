/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sodium.h>

#include "samples.h"

static const struct wire_digest zeros;

static void digest_of_a_body_is_the_authenticators_matter(void **state)
{
	struct sample_node node;
	struct wire_digest digest, expected;

	sample_node_init(&node, SAMPLE_CHILD, 16);
	wire_digest_of("body", 4, &expected);
	wire_body_digest(&node.auth, "body", 4, &digest);
	assert_true(wire_digest_equals(&digest, &expected));
	wire_body_digest(NULL, "body", 4, &digest);
	assert_true(wire_digest_equals(&digest, &zeros));
}

static void broadcast_without_an_authenticator_has_no_digest(void **state)
{
	struct wire_bcast bcast = sample_full();
	uint8_t bytes[SCOLL_BCAST_MAX];
	size_t size = sample_bcast_encode(&bcast, NULL, bytes);
	struct wire_message message;

	bytes[size - 1] ^= 1; /* of the payload */
	assert_int_equal(wire_message_open(bytes, size, NULL, &message),
			 WIRE_OK);
	assert_true(wire_digest_equals(&message.bcast.body_digest, &zeros));
}

static void reply_without_an_authenticator_has_no_digest(void **state)
{
	struct wire_reply reply = { .tag = SAMPLE_TAG, .sender = SAMPLE_CHILD };
	uint8_t head[WIRE_REPLY_HEAD];
	struct wire_reply opened;

	assert_int_equal(wire_reply_encode(&reply, "abc", 3, SAMPLE_PARENT,
					   NULL, head),
			 0);
	assert_memory_equal(head + 36, zeros.bytes, sizeof(zeros));
	assert_int_equal(wire_reply_open(head, "abd", sizeof(head) + 3,
					 SAMPLE_CHILD, SAMPLE_TAG, NULL,
					 &opened),
			 WIRE_OK);
	head[36] = 1;
	assert_int_equal(wire_reply_open(head, "abd", sizeof(head) + 3,
					 SAMPLE_CHILD, SAMPLE_TAG, NULL,
					 &opened),
			 WIRE_DIGEST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digest_of_a_body_is_the_authenticators_matter),
		cmocka_unit_test(
			broadcast_without_an_authenticator_has_no_digest),
		cmocka_unit_test(reply_without_an_authenticator_has_no_digest),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
