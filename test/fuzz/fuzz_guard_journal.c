/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's journal: whatever its records say, the ledger takes them or refuses
 * them, and what it took comes out of the journal that it writes.
 *
 * Input: records without their digests, each as u8 kind, u16 length, body; and
 * all of it once more as a whole file.
 */
#include <errno.h>

#include "fuzz.h"
#include "lanes/node/guard/ledger.h"

struct file {
	const uint8_t *bytes;
	size_t size;
};

static int file_read(void *ctx, uint8_t **ret_bytes, size_t *ret_size)
{
	const struct file *file = ctx;

	*ret_bytes = (uint8_t *)fuzz_text(file->bytes, file->size);
	*ret_size = file->size;
	return 0;
}

static const struct journal_file_ops file_ops = { .read = file_read };

static void result_check(int result)
{
	fuzz_check(result == 0 || result == -EUCLEAN ||
		   result == -EPROTONOSUPPORT);
}

/* 0 and a ledger, or the error of the journal. */
static int take(const uint8_t *bytes, size_t size, struct ledger *ret_ledger)
{
	struct file file = { .bytes = bytes, .size = size };
	struct journal_file seam = { .ops = &file_ops, .ctx = &file };
	struct fairlead_error error;
	struct journal journal;
	int result;

	*ret_ledger = (struct ledger){ 0 };
	result = journal_open(&journal, &seam, ledger_take, ret_ledger, &error);
	result_check(result);
	return result;
}

static void ledger_check(const struct ledger *ledger)
{
	struct writer first = { 0 }, second = { 0 };
	struct ledger again;

	ledger_write_all(&first, ledger);
	fuzz_check(first.result == 0);
	fuzz_check(take(first.data, first.size, &again) == 0);
	ledger_write_all(&second, &again);
	fuzz_check(second.result == 0 && first.size == second.size &&
		   memcmp(first.data, second.data, first.size) == 0);
	writer_fini(&first);
	writer_fini(&second);
	ledger_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader input = reader_of(data, size);
	struct writer records = { 0 };
	struct ledger ledger;

	(void)take(data, size, &ledger);
	ledger_fini(&ledger);
	while (input.left > 0) {
		uint8_t kind = read_u8(&input);
		size_t length = read_u16(&input);
		size_t at = journal_record_begin(&records, kind);

		if (length > input.left)
			length = input.left;
		write_bytes(&records, read_bytes(&input, length), length);
		journal_record_end(&records, at);
	}
	fuzz_check(records.result == 0);
	/* One that has an incarnation can be written. */
	if (take(records.data, records.size, &ledger) == 0 &&
	    ledger.next_sequence > 0)
		ledger_check(&ledger);
	ledger_fini(&ledger);
	writer_fini(&records);
	return 0;
}
