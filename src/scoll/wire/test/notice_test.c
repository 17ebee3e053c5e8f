/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "checks.h"
#include "golden.h"

static void notice_is_its_golden_bytes(void **state)
{
	struct wire_notice notice = {
		.root = SAMPLE_ROOT,
		.root_nonce = 0x1112131415161718,
		.number = 42,
		.sender = SAMPLE_PARENT,
		.status = -EIO,
		.amount = 2000,
		.start = 0x3132333435363738,
	};
	uint8_t bytes[WIRE_NOTICE_MAX];

	assert_golden(golden_ready, bytes,
		      (size_t)wire_notice_encode(WIRE_BULK_READY, &notice,
						 SAMPLE_CHILD, NULL, bytes));
}

static const struct wire_notice notice_sample = {
	.root = SAMPLE_ROOT,
	.root_nonce = 11,
	.number = 12,
	.sender = SAMPLE_PARENT,
	.status = -ECANCELED,
	.start = 13,
};

/* Field by field: between them there are bytes that nobody sets. */
static void assert_notice(const struct wire_notice *got,
			  const struct wire_notice *want)
{
	assert_int_equal(got->root, want->root);
	assert_int_equal(got->root_nonce, want->root_nonce);
	assert_int_equal(got->number, want->number);
	assert_int_equal(got->sender, want->sender);
	assert_int_equal(got->status, want->status);
	assert_int_equal(got->amount, want->amount);
	assert_int_equal(got->start, want->start);
}

static void notice_comes_back_as_it_was(void **state)
{
	struct sample_node parent, child;
	uint8_t bytes[WIRE_NOTICE_MAX];
	struct wire_message message;
	struct wire_notice notice = notice_sample;
	int size;

	sample_node_init(&parent, SAMPLE_PARENT, SCOLL_SEAL_MAX);
	sample_node_init(&child, SAMPLE_CHILD, SCOLL_SEAL_MAX);
	size = wire_notice_encode(WIRE_ABORT, &notice, SAMPLE_CHILD,
				  &parent.auth, bytes);
	assert_int_equal(size, WIRE_NOTICE_MAX);
	assert_int_equal(open_at(bytes, (size_t)size, &child, &message),
			 WIRE_OK);
	assert_int_equal(message.kind, WIRE_ABORT);
	assert_notice(&message.notice, &notice);
	for (int cut = 0; cut < size; cut++)
		assert_int_equal(open_at(bytes, (size_t)cut, &child, &message),
				 WIRE_SHORT);
	for (int bit = 64; bit < 8 * size; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(open_at(bytes, (size_t)size, &child, &message),
				 WIRE_SEAL);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	notice.status = 0;
	notice.amount = 77;
	size = wire_notice_encode(WIRE_BULK_READY, &notice, SAMPLE_CHILD, NULL,
				  bytes);
	assert_int_equal(size, 128);
	assert_int_equal(open_at(bytes, (size_t)size, NULL, &message), WIRE_OK);
	assert_int_equal(message.kind, WIRE_BULK_READY);
	assert_notice(&message.notice, &notice);
	size = wire_notice_encode(WIRE_REPORTS_WANTED, &notice, SAMPLE_CHILD,
				  NULL, bytes);
	assert_int_equal(size, 128);
	assert_int_equal(open_at(bytes, (size_t)size, NULL, &message), WIRE_OK);
	assert_int_equal(message.kind, WIRE_REPORTS_WANTED);
	assert_notice(&message.notice, &notice);
}

static void assert_refused(enum wire_kind kind,
			   const struct wire_notice *notice)
{
	uint8_t bytes[WIRE_NOTICE_MAX];

	assert_int_equal(wire_notice_encode(kind, notice, SAMPLE_CHILD, NULL,
					    bytes),
			 -EINVAL);
}

static enum wire_result open_unsealed(const uint8_t *bytes, size_t size)
{
	struct wire_message message;

	return open_at(bytes, size, NULL, &message);
}

static void notice_has_fields_in_range(void **state)
{
	static const struct change changes[] = {
		{ 4, 2, 1, WIRE_FIELD },
		{ 6, 2, 129, WIRE_LENGTH },
		{ 8, 4, 1, WIRE_FIELD },
		{ 16, 8, UINT64_MAX, WIRE_FIELD },
		{ 40, 8, 1, WIRE_FIELD },
		{ 63, 1, 1, WIRE_FIELD },
		{ 64, 8, UINT64_MAX, WIRE_FIELD },
		{ 80, 1, 1, WIRE_FIELD },
		{ 91, 1, 1, WIRE_FIELD },
		{ 92, 4, 4096, WIRE_FIELD },
		{ 92, 4, 0, WIRE_FIELD },
		{ 92, 4, UINT32_MAX, WIRE_FIELD },
		{ 96, 1, 1, WIRE_FIELD },
		{ 100, 8, 1, WIRE_FIELD },
		{ 108, 1, 1, WIRE_FIELD },
		{ 127, 1, 1, WIRE_FIELD },
	};
	struct wire_notice notice = notice_sample;
	uint8_t bytes[WIRE_NOTICE_MAX + 1] = { 0 };
	struct wire_message message;

	assert_int_equal(wire_notice_encode(WIRE_ABORT, &notice, SAMPLE_CHILD,
					    NULL, bytes),
			 128);
	assert_changes(bytes, 128, changes,
		       sizeof(changes) / sizeof(changes[0]), open_unsealed);
	assert_int_equal(open_at(bytes, 129, NULL, &message), WIRE_LENGTH);
	assert_refused(WIRE_BCAST, &notice);
	notice.status = 0;
	assert_refused(WIRE_ABORT, &notice);
	notice.amount = 0;
	assert_refused(WIRE_REPORTS_WANTED, &notice);
	notice.amount = WIRE_REPORTS_MAX + 1;
	assert_refused(WIRE_REPORTS_WANTED, &notice);
	notice.status = 5;
	assert_refused(WIRE_BULK_READY, &notice);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(notice_is_its_golden_bytes),
		cmocka_unit_test(notice_comes_back_as_it_was),
		cmocka_unit_test(notice_has_fields_in_range),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name("scoll_wire_notice", tests, NULL,
					   NULL);
}
