/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first failure sticks. A write that fails adds nothing, and a reader that
 * has failed has nothing left, so that no half field is ever seen.
 */
#include "base/bytes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN  1024 /* most of what is written fits */
#define CAPACITY_KEPT 65536
#define DIGITS_MAX    20

/* Grow where nothing is allocated yet. */
static uint8_t *grow(struct writer *writer, size_t size)
{
	size_t capacity = writer->capacity;
	size_t end;
	uint8_t *data;

	if (writer->result < 0)
		return NULL;
	if (__builtin_add_overflow(writer->size, size, &end) ||
	    end > SIZE_MAX / 2 || (writer->limit > 0 && end > writer->limit)) {
		writer->result = -EMSGSIZE;
		return NULL;
	}
	if (end > capacity || writer->data == NULL) {
		if (capacity < CAPACITY_MIN)
			capacity = CAPACITY_MIN;
		while (capacity < end)
			capacity *= 2;
		data = realloc(writer->data, capacity);
		if (data == NULL) {
			writer->result = -ENOMEM;
			return NULL;
		}
		writer->data = data;
		writer->capacity = capacity;
	}
	data = writer->data + writer->size;
	writer->size = end;
	return data;
}

/* Grow by `size` more bytes and return where they go, or NULL. */
static inline uint8_t *extend(struct writer *writer, size_t size)
{
	size_t at = writer->size;

	if (writer->result < 0 || writer->limit > 0 ||
	    size >= writer->capacity - at)
		return grow(writer, size);
	writer->size = at + size;
	return writer->data + at;
}

void writer_fini(struct writer *writer)
{
	free(writer->data);
	*writer = (struct writer){ .limit = writer->limit };
}

uint8_t *writer_take(struct writer *writer, size_t *ret_size)
{
	uint8_t *data;

	if (extend(writer, 0) == NULL) {
		int result = writer->result;

		writer_fini(writer);
		writer->result = result;
		return NULL;
	}
	data = writer->data;
	if (ret_size != NULL)
		*ret_size = writer->size;
	*writer = (struct writer){ .limit = writer->limit };
	return data;
}

struct writer writer_borrow(struct writer *kept)
{
	struct writer writer = { .data = kept->data,
				 .capacity = kept->capacity };

	*kept = (struct writer){ 0 };
	return writer;
}

void writer_return(struct writer *kept, struct writer *writer)
{
	writer_fini(kept);
	if (writer->capacity > CAPACITY_KEPT) {
		writer_fini(writer);
		return;
	}
	*kept = (struct writer){ .data = writer->data,
				 .capacity = writer->capacity };
	*writer = (struct writer){ 0 };
}

static void write_number(struct writer *writer, uint64_t value, size_t size)
{
	uint8_t *at = extend(writer, size);

	if (at == NULL)
		return;
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

void write_u8(struct writer *writer, uint8_t value)
{
	write_number(writer, value, sizeof(value));
}

void write_u16(struct writer *writer, uint16_t value)
{
	write_number(writer, value, sizeof(value));
}

void write_u32(struct writer *writer, uint32_t value)
{
	write_number(writer, value, sizeof(value));
}

void write_u64(struct writer *writer, uint64_t value)
{
	write_number(writer, value, sizeof(value));
}

void write_bytes(struct writer *writer, const void *data, size_t size)
{
	uint8_t *at = extend(writer, size);

	if (at != NULL && size > 0)
		memcpy(at, data, size);
}

void write_blob(struct writer *writer, const void *data, size_t size)
{
	uint8_t *at;

	if (size > UINT32_MAX) {
		if (writer->result == 0)
			writer->result = -EMSGSIZE;
		return;
	}
	at = extend(writer, sizeof(uint32_t) + size);
	if (at == NULL)
		return;
	writer->size -= sizeof(uint32_t) + size;
	write_u32(writer, (uint32_t)size);
	write_bytes(writer, data, size);
}

void write_text(struct writer *writer, const char *text)
{
	write_blob(writer, text, text == NULL ? 0 : strlen(text));
}

void write_plain(struct writer *writer, const char *text)
{
	write_bytes(writer, text, strlen(text));
}

void write_decimal(struct writer *writer, uint64_t value, size_t width)
{
	char digits[DIGITS_MAX];
	size_t at = DIGITS_MAX;

	assert(width <= DIGITS_MAX);
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	while (DIGITS_MAX - at < width)
		digits[--at] = '0';
	write_bytes(writer, digits + at, DIGITS_MAX - at);
}

static void fail(struct reader *reader)
{
	reader->failed = true;
	reader->left = 0;
}

const uint8_t *read_bytes(struct reader *reader, size_t size)
{
	const uint8_t *at = reader->at;

	if (reader->failed || size > reader->left) {
		fail(reader);
		return NULL;
	}
	if (size == 0)
		return at != NULL ? at : (const uint8_t *)"";
	reader->at += size;
	reader->left -= size;
	return at;
}

static uint64_t read_number(struct reader *reader, size_t size)
{
	const uint8_t *at = read_bytes(reader, size);
	uint64_t value = 0;

	if (at == NULL)
		return 0;
	for (size_t i = size; i > 0; i--)
		value = value << 8 | at[i - 1];
	return value;
}

uint8_t read_u8(struct reader *reader)
{
	return (uint8_t)read_number(reader, sizeof(uint8_t));
}

uint16_t read_u16(struct reader *reader)
{
	return (uint16_t)read_number(reader, sizeof(uint16_t));
}

uint32_t read_u32(struct reader *reader)
{
	return (uint32_t)read_number(reader, sizeof(uint32_t));
}

uint64_t read_u64(struct reader *reader)
{
	return read_number(reader, sizeof(uint64_t));
}

const uint8_t *read_blob(struct reader *reader, size_t size_max,
			 size_t *ret_size)
{
	size_t size = read_u32(reader);
	const uint8_t *at;

	if (size > size_max)
		fail(reader);
	at = read_bytes(reader, size);
	*ret_size = at != NULL ? size : 0;
	return at;
}

static const uint8_t *read_text_view(struct reader *reader, size_t size_max,
				     size_t *ret_size)
{
	const uint8_t *at = read_blob(reader, size_max, ret_size);

	if (at != NULL && memchr(at, 0, *ret_size) != NULL) {
		fail(reader);
		return NULL;
	}
	return at;
}

void read_text(struct reader *reader, char *text, size_t capacity)
{
	const uint8_t *at;
	size_t size;

	assert(capacity > 0);
	at = read_text_view(reader, capacity - 1, &size);
	if (at == NULL)
		size = 0;
	else
		memcpy(text, at, size);
	text[size] = 0;
}

char *read_text_alloc(struct reader *reader, size_t size_max)
{
	size_t size;
	const uint8_t *at = read_text_view(reader, size_max, &size);
	char *text;

	if (at == NULL)
		return NULL;
	text = malloc(size + 1);
	if (text == NULL) {
		fail(reader);
		return NULL;
	}
	memcpy(text, at, size);
	text[size] = 0;
	return text;
}

bool reader_is_done(const struct reader *reader)
{
	return !reader->failed && reader->left == 0;
}
