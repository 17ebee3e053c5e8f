/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/node/guard/journal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A file in memory. */
struct memory {
	uint8_t bytes[8192];
	size_t size;
	int error;          /* of write and replace */
	size_t spoil_bytes; /* that a failed write leaves all the same */
};

static int memory_read(void *ctx, uint8_t **ret_bytes, size_t *ret_size)
{
	struct memory *memory = ctx;
	uint8_t *bytes = malloc(memory->size + 1);

	assert_non_null(bytes);
	memcpy(bytes, memory->bytes, memory->size);
	*ret_bytes = bytes;
	*ret_size = memory->size;
	return 0;
}

static int memory_write(void *ctx, size_t offset, const void *bytes,
			size_t size)
{
	struct memory *memory = ctx;

	assert_true(offset + size <= sizeof(memory->bytes));
	if (memory->error < 0)
		size = memory->spoil_bytes;
	memcpy(memory->bytes + offset, bytes, size);
	if (memory->size < offset + size)
		memory->size = offset + size;
	return memory->error;
}

static int memory_replace(void *ctx, const void *bytes, size_t size)
{
	struct memory *memory = ctx;

	if (memory->error < 0)
		return memory->error;
	assert_true(size <= sizeof(memory->bytes));
	memcpy(memory->bytes, bytes, size);
	memory->size = size;
	return 0;
}

static const struct journal_file_ops memory_ops = {
	.read = memory_read,
	.write = memory_write,
	.replace = memory_replace,
};

/* What was read: kinds, and the bodies one after the other. */
struct taken {
	uint8_t kinds[16];
	size_t count;
	char bodies[64];
	int refuse_kind;
};

static int take(void *arg, uint8_t kind, struct reader *body,
		struct fairlead_error *ret_error)
{
	struct taken *taken = arg;

	if (kind == taken->refuse_kind)
		return error_set(ret_error, -EPROTONOSUPPORT, "not known");
	taken->kinds[taken->count++] = kind;
	strncat(taken->bodies, (const char *)body->at, body->left);
	return 0;
}

static int open_memory(struct memory *memory, struct journal *journal,
		       struct taken *taken, struct fairlead_error *error)
{
	struct journal_file file = { .ops = &memory_ops, .ctx = memory };

	*taken = (struct taken){ .refuse_kind = taken->refuse_kind };
	return journal_open(journal, &file, take, taken, error);
}

static void add(struct writer *batch, uint8_t kind, const char *body)
{
	size_t at = journal_record_begin(batch, kind);

	write_bytes(batch, body, strlen(body));
	journal_record_end(batch, at);
	assert_int_equal(batch->result, 0);
}

/* A new journal whose first batch is one record "a". */
static void begin(struct memory *memory, struct journal *journal)
{
	struct writer batch = { 0 };
	struct taken taken = { 0 };

	assert_int_equal(open_memory(memory, journal, &taken, NULL), 0);
	assert_true(journal_wants_rewrite(journal));
	add(&batch, 1, "a");
	assert_int_equal(journal_rewrite(journal, batch.data, batch.size), 0);
	assert_false(journal_wants_rewrite(journal));
	writer_fini(&batch);
}

static int append(struct journal *journal, uint8_t kind, const char *body)
{
	struct writer batch = { 0 };
	int result;

	add(&batch, kind, body);
	result = journal_write(journal, batch.data, batch.size);
	writer_fini(&batch);
	return result;
}

static void records_come_back_in_order(void **state)
{
	struct memory memory = { 0 };
	struct journal journal;
	struct taken taken = { 0 };

	begin(&memory, &journal);
	assert_int_equal(append(&journal, 2, "bc"), 0);
	assert_int_equal(append(&journal, 3, ""), 0);
	assert_int_equal(open_memory(&memory, &journal, &taken, NULL), 0);
	assert_int_equal(taken.count, 3);
	assert_memory_equal(taken.kinds, "\1\2\3", 3);
	assert_string_equal(taken.bodies, "abc");
}

static void record_has_its_documented_bytes(void **state)
{
	struct writer batch = { 0 };

	add(&batch, 7, "xyz");
	assert_int_equal(batch.size, 4 + 1 + 3 + 16);
	assert_memory_equal(batch.data, "\3\0\0\0\7xyz", 8);
	writer_fini(&batch);
}

static void torn_last_record_is_cut_at_each_byte(void **state)
{
	struct memory whole = { 0 };
	struct journal journal;
	size_t before;

	begin(&whole, &journal);
	before = whole.size;
	assert_int_equal(append(&journal, 2, "second"), 0);
	for (size_t size = before; size < whole.size; size++) {
		struct memory memory = whole;
		struct taken taken = { 0 };

		memory.size = size;
		assert_int_equal(open_memory(&memory, &journal, &taken, NULL),
				 0);
		assert_int_equal(taken.count, 1);
		assert_int_equal(journal.size_bytes, before);
	}
}

static void changed_byte_in_the_last_record_cuts_it(void **state)
{
	struct memory whole = { 0 };
	struct journal journal;
	size_t before;

	begin(&whole, &journal);
	before = whole.size;
	assert_int_equal(append(&journal, 2, "second"), 0);
	for (size_t at = before; at < whole.size; at++) {
		struct memory memory = whole;
		struct taken taken = { 0 };

		memory.bytes[at] ^= 0x10;
		assert_int_equal(open_memory(&memory, &journal, &taken, NULL),
				 0);
		assert_int_equal(taken.count, 1);
	}
}

static void changed_byte_before_a_good_record_is_refused(void **state)
{
	struct memory whole = { 0 };
	struct journal journal;

	begin(&whole, &journal);
	assert_int_equal(append(&journal, 2, "second"), 0);
	for (size_t at = 0; at < 4 + 1 + 1 + 16; at++) {
		struct memory memory = whole;
		struct taken taken = { 0 };
		struct fairlead_error error = { 0 };

		memory.bytes[at] ^= 0x10;
		assert_int_equal(open_memory(&memory, &journal, &taken, &error),
				 -EUCLEAN);
		assert_non_null(strstr(error.text, "byte 0"));
	}
}

static void file_without_a_good_beginning_is_refused(void **state)
{
	struct memory whole = { 0 };
	struct journal journal;

	begin(&whole, &journal);
	for (size_t size = 1; size < whole.size; size++) {
		struct memory memory = whole;
		struct taken taken = { 0 };

		memory.size = size;
		assert_int_equal(open_memory(&memory, &journal, &taken, NULL),
				 -EUCLEAN);
	}
}

static void takers_error_ends_the_reading(void **state)
{
	struct memory memory = { 0 };
	struct journal journal;
	struct taken taken = { .refuse_kind = 2 };
	struct fairlead_error error = { 0 };

	begin(&memory, &journal);
	assert_int_equal(append(&journal, 2, "b"), 0);
	assert_int_equal(open_memory(&memory, &journal, &taken, &error),
			 -EPROTONOSUPPORT);
	assert_string_equal(error.text, "not known");
}

static void failed_write_asks_for_a_rewrite(void **state)
{
	struct memory memory = { .spoil_bytes = 9 };
	struct journal journal;
	struct writer all = { 0 };
	struct taken taken = { 0 };

	begin(&memory, &journal);
	memory.error = -ENOSPC;
	assert_int_equal(append(&journal, 2, "bcd"), -ENOSPC);
	memory.error = 0;
	assert_true(journal_wants_rewrite(&journal));
	assert_int_equal(append(&journal, 2, "bcd"), -EIO);
	add(&all, 1, "a");
	assert_int_equal(journal_rewrite(&journal, all.data, all.size), 0);
	writer_fini(&all);
	assert_int_equal(append(&journal, 3, "e"), 0);
	assert_int_equal(open_memory(&memory, &journal, &taken, NULL), 0);
	assert_string_equal(taken.bodies, "ae");
}

static void failed_rewrite_leaves_nothing_but_another_one(void **state)
{
	struct memory memory = { 0 };
	struct journal journal;

	begin(&memory, &journal);
	memory.error = -ENOSPC;
	assert_int_equal(journal_rewrite(&journal, "", 0), -ENOSPC);
	memory.error = 0;
	assert_int_equal(append(&journal, 2, "b"), -EIO);
}

static void body_that_is_too_long_fails_the_batch(void **state)
{
	struct writer batch = { 0 };
	uint8_t *body = calloc(1, JOURNAL_BODY_MAX + 1);
	size_t at;

	assert_non_null(body);
	at = journal_record_begin(&batch, 1);
	write_bytes(&batch, body, JOURNAL_BODY_MAX);
	journal_record_end(&batch, at);
	assert_int_equal(batch.result, 0);
	at = journal_record_begin(&batch, 1);
	write_bytes(&batch, body, JOURNAL_BODY_MAX + 1);
	journal_record_end(&batch, at);
	assert_int_equal(batch.result, -EMSGSIZE);
	writer_fini(&batch);
	free(body);
}

static void doubled_journal_wants_a_rewrite(void **state)
{
	struct journal journal = {
		.size_bytes = 2 * JOURNAL_REWRITE_MIN + 1,
		.rewritten_bytes = JOURNAL_REWRITE_MIN,
	};

	assert_false(journal_wants_rewrite(&journal));
	journal.size_bytes++;
	assert_true(journal_wants_rewrite(&journal));
	journal.size_bytes = JOURNAL_REWRITE_MIN;
	journal.rewritten_bytes = 1;
	assert_false(journal_wants_rewrite(&journal));
}

static void journal_has_a_largest_size(void **state)
{
	struct journal journal = { .size_bytes = JOURNAL_SIZE_MAX - 1 };

	assert_int_equal(journal_write(&journal, "ab", 2), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_back_in_order),
		cmocka_unit_test(record_has_its_documented_bytes),
		cmocka_unit_test(torn_last_record_is_cut_at_each_byte),
		cmocka_unit_test(changed_byte_in_the_last_record_cuts_it),
		cmocka_unit_test(changed_byte_before_a_good_record_is_refused),
		cmocka_unit_test(file_without_a_good_beginning_is_refused),
		cmocka_unit_test(takers_error_ends_the_reading),
		cmocka_unit_test(failed_write_asks_for_a_rewrite),
		cmocka_unit_test(failed_rewrite_leaves_nothing_but_another_one),
		cmocka_unit_test(body_that_is_too_long_fails_the_batch),
		cmocka_unit_test(doubled_journal_wants_a_rewrite),
		cmocka_unit_test(journal_has_a_largest_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
