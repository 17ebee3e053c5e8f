/* SPDX-License-Identifier: BSD-3-Clause */
/* Head and tail of every record; for record_*.c only. */
#pragma once

#include "base/bytes.h"
#include "base/error.h"

#define RECORD_DIGEST_SIZE 16

enum record_kind {
	RECORD_JOB = 1,
	RECORD_PART,
	RECORD_NODE,
	RECORD_NAMES,
	RECORD_TOMBSTONE,
};

void record_begin(struct writer *writer, enum record_kind kind);
/* Append the digest. Aborts when memory was out. */
void record_end(struct writer *writer, uint64_t id, const char *key);
/* Check all but the fields; the reader is at the first of them. */
int record_open(enum record_kind kind, uint64_t id, const char *key,
		const void *body, size_t size, struct reader *ret_reader,
		struct fairlead_error *ret_error);
/* 0 when the reader is done and the fields are good. */
int record_check(const struct reader *reader, bool is_good,
		 struct fairlead_error *ret_error);
