/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's journal as a file of records, whatever they say:
 *
 *	u32 size of the body, u8 kind, body, u8[16] BLAKE2b-128 of all before
 *
 * Pure: the file is a seam. Records are written in batches; a batch that was
 * torn by a crash is cut at its first bad record when the journal is opened.
 * A bad record with a good one behind it was not torn: it was changed on the
 * disk, and the journal is refused.
 *
 *	journal_open
 *	-> (journal_record_begin, ..., journal_record_end, journal_write)*
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/error.h"

#define JOURNAL_BODY_MAX    65536        /* bytes of a record's body */
#define JOURNAL_SIZE_MAX    (256u << 20) /* bytes of the whole file */
#define JOURNAL_REWRITE_MIN 65536 /* bytes; a smaller one is left alone */

struct journal_file_ops {
	/* The whole content, allocated for the caller; absent is empty. */
	int (*read)(void *ctx, uint8_t **ret_bytes, size_t *ret_size);
	/* Write at an offset, the end of the valid records, and sync. */
	int (*write)(void *ctx, size_t offset, const void *bytes, size_t size);
	/* A new content, by a new file, sync and rename: old or new. */
	int (*replace)(void *ctx, const void *bytes, size_t size);
	/* Keep the file under another name; absent is no error. */
	int (*set_aside)(void *ctx);
};

struct journal_file {
	const struct journal_file_ops *ops;
	void *ctx;
	const char *path; /* for error texts, or NULL; borrowed */
};

/* Takes one record: 0, or an error that ends the reading. */
typedef int record_take_fn(void *arg, uint8_t kind, struct reader *body,
			   struct fairlead_error *ret_error);

/* The caller's memory; no clean-up. */
struct journal {
	struct journal_file file;
	size_t size_bytes;      /* valid bytes; more may follow */
	size_t rewritten_bytes; /* size after the last rewrite */
	bool is_torn;           /* a write failed: nothing but a rewrite */
};

/*
 * Read all records in order. -EUCLEAN with a text: the journal was changed on
 * the disk; the error of `take`; -EIO, ... of the file. The journal has to be
 * rewritten before it is written to.
 */
int journal_open(struct journal *journal, const struct journal_file *file,
		 record_take_fn *take, void *arg,
		 struct fairlead_error *ret_error);

/*
 * Read the good records that stand at the beginning of bytes: how many bytes
 * they are, or the error of `take`.
 */
ssize_t journal_records_take(const uint8_t *bytes, size_t size,
			     record_take_fn *take, void *arg,
			     struct fairlead_error *ret_error);

/*
 * One record into a batch: begin, write the body, end with begin's result. The
 * batch's result says what failed: -EMSGSIZE when the body is too long.
 */
size_t journal_record_begin(struct writer *batch, uint8_t kind);
void journal_record_end(struct writer *batch, size_t at);

/*
 * Append a batch: it is on disk when this returns 0. After a failure it counts
 * as not written, and -EIO comes back until the journal was rewritten.
 */
int journal_write(struct journal *journal, const void *bytes, size_t size);
/* Put these records in the place of all others. */
int journal_rewrite(struct journal *journal, const void *bytes, size_t size);
/* True when it has doubled since the last rewrite, or a write has failed. */
bool journal_wants_rewrite(const struct journal *journal);
