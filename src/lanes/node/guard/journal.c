/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bytes of the file count. A crash can leave the last batch incomplete,
 * and nothing else: what stands behind the last good record is dropped, unless
 * a good record stands there too. A write that failed may have left anything;
 * only a rewrite makes the file good again.
 */
#include "lanes/node/guard/journal.h"

#include <sodium.h>
#include <string.h>

#include "base/cleanup.h"

#define HEAD_SIZE          5 /* size and kind */
#define RECORD_DIGEST_SIZE 16

static void digest_make(const uint8_t *bytes, size_t size,
			uint8_t ret_digest[RECORD_DIGEST_SIZE])
{
	crypto_generichash(ret_digest, RECORD_DIGEST_SIZE, bytes, size, NULL,
			   0);
}

/* Bytes of the good record that begins here, or 0. */
static size_t record_measure(const uint8_t *bytes, size_t left)
{
	struct reader reader = reader_of(bytes, left);
	size_t size = read_u32(&reader);
	uint8_t digest[RECORD_DIGEST_SIZE];

	if (reader.failed || size > JOURNAL_BODY_MAX ||
	    left < HEAD_SIZE + size + RECORD_DIGEST_SIZE)
		return 0;
	digest_make(bytes, HEAD_SIZE + size, digest);
	if (memcmp(digest, bytes + HEAD_SIZE + size, RECORD_DIGEST_SIZE) != 0)
		return 0;
	return HEAD_SIZE + size + RECORD_DIGEST_SIZE;
}

static bool has_record(const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		if (record_measure(bytes + at, size - at) > 0)
			return true;
	}
	return false;
}

ssize_t journal_records_take(const uint8_t *bytes, size_t size,
			     record_take_fn *take, void *arg,
			     struct fairlead_error *ret_error)
{
	size_t at = 0, length;

	while (at < size &&
	       (length = record_measure(bytes + at, size - at)) > 0) {
		struct reader body =
			reader_of(bytes + at + HEAD_SIZE,
				  length - HEAD_SIZE - RECORD_DIGEST_SIZE);
		int result = take(arg, bytes[at + 4], &body, ret_error);

		if (result < 0)
			return result;
		at += length;
	}
	return (ssize_t)at;
}

int journal_open(struct journal *journal, const struct journal_file *file,
		 record_take_fn *take, void *arg,
		 struct fairlead_error *ret_error)
{
	_auto_(freep) uint8_t *bytes = NULL;
	size_t size, at;
	ssize_t taken;
	int result = file->ops->read(file->ctx, &bytes, &size);

	if (result < 0)
		return error_set(ret_error, result,
				 "cannot read the journal: %s",
				 strerror(-result));
	taken = journal_records_take(bytes, size, take, arg, ret_error);
	if (taken < 0)
		return (int)taken;
	at = (size_t)taken;
	/* The first record came with the file: it cannot be torn. */
	if (at < size && (at == 0 || has_record(bytes + at + 1, size - at - 1)))
		return error_set(
			ret_error, -EUCLEAN,
			"the journal was damaged at byte %zu; move it away, "
			"start again, and release what the node held",
			at);
	*journal = (struct journal){
		.file = *file,
		.size_bytes = at,
		.is_torn = true,
	};
	return 0;
}

size_t journal_record_begin(struct writer *batch, uint8_t kind)
{
	size_t at = batch->size;

	write_u32(batch, 0);
	write_u8(batch, kind);
	return at;
}

void journal_record_end(struct writer *batch, size_t at)
{
	uint8_t digest[RECORD_DIGEST_SIZE];
	size_t size;

	if (batch->result < 0)
		return;
	size = batch->size - at - HEAD_SIZE;
	if (size > JOURNAL_BODY_MAX) {
		batch->result = -EMSGSIZE;
		return;
	}
	for (size_t i = 0; i < 4; i++)
		batch->data[at + i] = (uint8_t)(size >> 8 * i);
	digest_make(batch->data + at, HEAD_SIZE + size, digest);
	write_bytes(batch, digest, sizeof(digest));
}

int journal_write(struct journal *journal, const void *bytes, size_t size)
{
	int result;

	if (journal->is_torn)
		return -EIO;
	if (size > JOURNAL_SIZE_MAX - journal->size_bytes)
		return -EFBIG;
	result = journal->file.ops->write(journal->file.ctx,
					  journal->size_bytes, bytes, size);
	if (result < 0)
		journal->is_torn = true;
	else
		journal->size_bytes += size;
	return result;
}

int journal_rewrite(struct journal *journal, const void *bytes, size_t size)
{
	int result = journal->file.ops->replace(journal->file.ctx, bytes, size);

	journal->is_torn = result < 0;
	if (result < 0)
		return result;
	journal->size_bytes = size;
	journal->rewritten_bytes = size;
	return 0;
}

bool journal_wants_rewrite(const struct journal *journal)
{
	return journal->is_torn ||
	       (journal->size_bytes > JOURNAL_REWRITE_MIN &&
		journal->size_bytes / 2 > journal->rewritten_bytes);
}
