/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes in and out: fixed-width little-endian fields, for wire formats and
 * journals. Both ends remember their first failure, so that a decoder reads
 * all its fields and checks once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing buffer. Zero-initialised is empty. */
struct writer {
	uint8_t *data;
	size_t size;     /* bytes written */
	size_t capacity; /* bytes allocated */
	int result;      /* 0, or -ENOMEM / -EMSGSIZE once something failed */
	size_t limit;    /* at most so many bytes; 0 means no limit */
};

/* Free the buffer; the writer can be used again. */
void writer_fini(struct writer *writer);
/*
 * Hand the buffer over (the caller frees it) and leave the writer empty. NULL
 * when something failed, and only then; result still says what. An empty
 * buffer is not NULL. ret_size may be NULL.
 */
uint8_t *writer_take(struct writer *writer, size_t *ret_size);
/*
 * An empty writer without a limit, with the buffer of `kept` if it is there;
 * whoever is in between gets none. For what is written often and not kept.
 */
struct writer writer_borrow(struct writer *kept);
/* Its buffer is kept for the next one, unless it has become large. */
void writer_return(struct writer *kept, struct writer *writer);
void write_u8(struct writer *writer, uint8_t value);
void write_u16(struct writer *writer, uint16_t value);
void write_u32(struct writer *writer, uint32_t value);
void write_u64(struct writer *writer, uint64_t value);
void write_bytes(struct writer *writer, const void *data, size_t size);
/* u32 length, then the bytes. */
void write_blob(struct writer *writer, const void *data, size_t size);
/* As write_blob, of the text without its zero. NULL is written as "". */
void write_text(struct writer *writer, const char *text);

/* --- the same buffer for what people read: without lengths --- */

void write_plain(struct writer *writer, const char *text);
/* Decimal, with zeros in front up to `width` digits (at most 20). */
void write_decimal(struct writer *writer, uint64_t value, size_t width);

/* A view of somebody else's bytes; nothing is copied or owned. */
struct reader {
	const uint8_t *at;
	size_t left;
	bool failed; /* something did not fit; all later reads give 0 */
};

static inline struct reader reader_of(const void *data, size_t size)
{
	return (struct reader){ .at = data, .left = size };
}

uint8_t read_u8(struct reader *reader);
uint16_t read_u16(struct reader *reader);
uint32_t read_u32(struct reader *reader);
uint64_t read_u64(struct reader *reader);
/* A view of `size` bytes (not NULL, also when size is 0), or NULL. */
const uint8_t *read_bytes(struct reader *reader, size_t size);
/*
 * A view of a blob of at most size_max bytes. NULL and a size of 0 when the
 * reader has failed.
 */
const uint8_t *read_blob(struct reader *reader, size_t size_max,
			 size_t *ret_size);
/*
 * Copy a text of at most capacity - 1 bytes and end it with a zero. A text
 * with a zero byte inside fails the reader. On failure text is "".
 */
void read_text(struct reader *reader, char *text, size_t capacity);
/* As read_text, but allocated: the caller frees it. NULL on failure. */
char *read_text_alloc(struct reader *reader, size_t size_max);
/* True when nothing failed and every byte was read. */
bool reader_is_done(const struct reader *reader);
