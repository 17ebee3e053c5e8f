/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One loop over a field list for each of encode, decode and fini. Both
 * directions make the same checks, so that nothing is sent which the other
 * side would refuse. A list's count is held against the bytes that are there
 * before memory is taken for it.
 */
#include "lanes/proto/layout.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

static const void *pointer_load(const void *at)
{
	const void *pointer;

	memcpy(&pointer, at, sizeof(pointer));
	return pointer;
}

static void pointer_store(void *at, const void *pointer)
{
	memcpy(at, &pointer, sizeof(pointer));
}

static size_t count_load(const struct layout_field *field, const uint8_t *value)
{
	return *(const size_t *)(value + field->count_offset);
}

static void count_store(const struct layout_field *field, uint8_t *value,
			size_t count)
{
	*(size_t *)(value + field->count_offset) = count;
}

static int number_encode(const struct layout_field *field, const void *at,
			 struct writer *writer)
{
	uint64_t number = 0;

	switch (field->size) {
	case sizeof(uint8_t):
		number = *(const uint8_t *)at;
		write_u8(writer, (uint8_t)number);
		break;
	case sizeof(uint16_t):
		number = *(const uint16_t *)at;
		write_u16(writer, (uint16_t)number);
		break;
	case sizeof(uint32_t):
		number = *(const uint32_t *)at;
		write_u32(writer, (uint32_t)number);
		break;
	default:
		number = *(const uint64_t *)at;
		write_u64(writer, number);
		break;
	}
	return number < field->least || number > field->most ? -EINVAL : 0;
}

static int number_decode(const struct layout_field *field,
			 struct reader *reader, void *at)
{
	uint64_t number;

	switch (field->size) {
	case sizeof(uint8_t):
		number = read_u8(reader);
		*(uint8_t *)at = (uint8_t)number;
		break;
	case sizeof(uint16_t):
		number = read_u16(reader);
		*(uint16_t *)at = (uint16_t)number;
		break;
	case sizeof(uint32_t):
		number = read_u32(reader);
		*(uint32_t *)at = (uint32_t)number;
		break;
	default:
		number = read_u64(reader);
		*(uint64_t *)at = number;
		break;
	}
	return number < field->least || number > field->most ? -EBADMSG : 0;
}

static int result_encode(const void *at, struct writer *writer)
{
	int result = *(const int *)at;

	if (result > 0 || result < -LAYOUT_ERRNO_MAX)
		return -EINVAL;
	write_u32(writer, (uint32_t)result);
	return 0;
}

static int result_decode(struct reader *reader, void *at)
{
	uint32_t magnitude = 0u - read_u32(reader);

	if (magnitude > LAYOUT_ERRNO_MAX)
		return -EBADMSG;
	*(int *)at = -(int)magnitude;
	return 0;
}

static int text_encode(const struct layout_field *field, const char *text,
		       struct writer *writer)
{
	size_t size = text == NULL ? 0 : strnlen(text, field->most + 1);

	if (size > field->most)
		return -EMSGSIZE;
	if (field->is_valid != NULL && !field->is_valid(text))
		return -EINVAL;
	write_blob(writer, text, size);
	return 0;
}

static int text_decode(const struct layout_field *field, struct reader *reader,
		       char *text)
{
	read_text(reader, text, field->size);
	if (field->is_valid != NULL && !field->is_valid(text))
		return -EBADMSG;
	if (field->is_prose)
		text_clean(text);
	return 0;
}

/* A blob or string: a copy that ends in a zero either way. */
static int bytes_decode(const struct layout_field *field, struct reader *reader,
			uint8_t *value)
{
	size_t size;
	const uint8_t *bytes = read_blob(reader, field->most, &size);
	uint8_t *copy;

	if (bytes == NULL)
		return -EBADMSG;
	if (field->kind == LAYOUT_KIND_STRING && memchr(bytes, 0, size) != NULL)
		return -EBADMSG;
	copy = malloc(size + 1);
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, bytes, size);
	copy[size] = 0;
	pointer_store(value + field->offset, copy);
	if (field->kind == LAYOUT_KIND_BLOB)
		count_store(field, value, size);
	return 0;
}

static int block_decode(const struct layout_field *field, struct reader *reader,
			uint8_t *value)
{
	size_t size;
	const uint8_t *bytes = read_blob(reader, field->most, &size);

	if (bytes == NULL)
		return -EBADMSG;
	memcpy(value + field->offset, bytes, size);
	count_store(field, value, size);
	return 0;
}

static int ids_encode(const struct layout_field *field, const uint8_t *value,
		      struct writer *writer)
{
	const uint32_t *ids = (const uint32_t *)(value + field->offset);
	uint8_t count = value[field->count_offset];

	if (count > field->most)
		return -EINVAL;
	write_u8(writer, count);
	for (size_t i = 0; i < count; i++)
		write_u32(writer, ids[i]);
	return 0;
}

static int ids_decode(const struct layout_field *field, struct reader *reader,
		      uint8_t *value)
{
	uint32_t *ids = (uint32_t *)(value + field->offset);
	uint8_t count = read_u8(reader);

	if (count > field->most)
		return -EBADMSG;
	for (size_t i = 0; i < count; i++)
		ids[i] = read_u32(reader);
	value[field->count_offset] = count;
	return 0;
}

static int fields_encode(const struct layout *layout, const uint8_t *value,
			 struct writer *writer);
static int fields_decode(const struct layout *layout, struct reader *reader,
			 uint8_t *value);

static int list_encode(const struct layout_field *field, const uint8_t *value,
		       struct writer *writer)
{
	const uint8_t *elements = pointer_load(value + field->offset);
	size_t count = count_load(field, value);

	if (count > field->most)
		return -EMSGSIZE;
	write_u32(writer, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		int result = fields_encode(field->element,
					   elements + i * field->element->size,
					   writer);

		if (result < 0)
			return result;
	}
	return 0;
}

/* The fewest bytes that a struct of this layout has on the wire. */
static size_t encoded_size_min(const struct layout *layout)
{
	size_t size = 0;

	for (size_t i = 0; i < layout->field_count; i++) {
		const struct layout_field *field = &layout->fields[i];

		if (field->kind == LAYOUT_KIND_NUMBER ||
		    field->kind == LAYOUT_KIND_BYTES)
			size += field->size;
		else if (field->kind == LAYOUT_KIND_IDS)
			size += sizeof(uint8_t);
		else
			size += sizeof(uint32_t);
	}
	return size;
}

static int list_decode(const struct layout_field *field, struct reader *reader,
		       uint8_t *value)
{
	size_t count = read_u32(reader);
	uint8_t *elements;
	int result = 0;

	if (count > field->most ||
	    count > reader->left / encoded_size_min(field->element))
		return -EBADMSG;
	if (count == 0)
		return 0;
	elements = calloc(count, field->element->size);
	if (elements == NULL)
		return -ENOMEM;
	pointer_store(value + field->offset, elements);
	count_store(field, value, count);
	for (size_t i = 0; i < count && result == 0; i++)
		result = fields_decode(field->element, reader,
				       elements + i * field->element->size);
	return result;
}

static int field_encode(const struct layout_field *field, const uint8_t *value,
			struct writer *writer)
{
	const uint8_t *at = value + field->offset;

	switch (field->kind) {
	case LAYOUT_KIND_NUMBER:
		return number_encode(field, at, writer);
	case LAYOUT_KIND_RESULT:
		return result_encode(at, writer);
	case LAYOUT_KIND_BYTES:
		write_bytes(writer, at, field->size);
		return 0;
	case LAYOUT_KIND_TEXT:
		return text_encode(field, (const char *)at, writer);
	case LAYOUT_KIND_STRING:
		return text_encode(field, pointer_load(at), writer);
	case LAYOUT_KIND_BLOB:
		if (count_load(field, value) > field->most)
			return -EMSGSIZE;
		write_blob(writer, pointer_load(at), count_load(field, value));
		return 0;
	case LAYOUT_KIND_BLOCK:
		if (count_load(field, value) > field->most)
			return -EMSGSIZE;
		write_blob(writer, at, count_load(field, value));
		return 0;
	case LAYOUT_KIND_IDS:
		return ids_encode(field, value, writer);
	case LAYOUT_KIND_LIST:
		return list_encode(field, value, writer);
	}
	return -EINVAL;
}

static int field_decode(const struct layout_field *field, struct reader *reader,
			uint8_t *value)
{
	uint8_t *at = value + field->offset;
	const uint8_t *bytes;

	switch (field->kind) {
	case LAYOUT_KIND_NUMBER:
		return number_decode(field, reader, at);
	case LAYOUT_KIND_RESULT:
		return result_decode(reader, at);
	case LAYOUT_KIND_BYTES:
		bytes = read_bytes(reader, field->size);
		if (bytes != NULL)
			memcpy(at, bytes, field->size);
		return 0;
	case LAYOUT_KIND_TEXT:
		return text_decode(field, reader, (char *)at);
	case LAYOUT_KIND_STRING:
	case LAYOUT_KIND_BLOB:
		return bytes_decode(field, reader, value);
	case LAYOUT_KIND_BLOCK:
		return block_decode(field, reader, value);
	case LAYOUT_KIND_IDS:
		return ids_decode(field, reader, value);
	case LAYOUT_KIND_LIST:
		return list_decode(field, reader, value);
	}
	return -EBADMSG;
}

static int fields_encode(const struct layout *layout, const uint8_t *value,
			 struct writer *writer)
{
	int result = 0;

	for (size_t i = 0; i < layout->field_count && result == 0; i++)
		result = field_encode(&layout->fields[i], value, writer);
	return result;
}

static int fields_decode(const struct layout *layout, struct reader *reader,
			 uint8_t *value)
{
	int result = 0;

	for (size_t i = 0; i < layout->field_count && result == 0; i++)
		result = field_decode(&layout->fields[i], reader, value);
	return reader->failed ? -EBADMSG : result;
}

int layout_encode(const struct layout *layout, const void *value,
		  struct writer *writer)
{
	size_t start = writer->size;
	int result = fields_encode(layout, value, writer);

	if (result == 0)
		result = writer->result;
	if (result < 0)
		writer->size = start;
	return result;
}

int layout_decode(const struct layout *layout, const void *bytes, size_t size,
		  void *ret_value)
{
	struct reader reader = reader_of(bytes, size);
	_auto_(freep) uint8_t *value = calloc(1, layout->size);
	int result;

	if (value == NULL)
		return -ENOMEM;
	result = fields_decode(layout, &reader, value);
	if (result == 0 && reader.left > 0)
		result = -EBADMSG;
	if (result < 0) {
		layout_fini(layout, value);
		return result;
	}
	memcpy(ret_value, value, layout->size);
	return 0;
}

void layout_fini(const struct layout *layout, void *value)
{
	for (size_t i = 0; i < layout->field_count; i++) {
		const struct layout_field *field = &layout->fields[i];
		uint8_t *at = (uint8_t *)value + field->offset;

		if (field->kind == LAYOUT_KIND_STRING ||
		    field->kind == LAYOUT_KIND_BLOB ||
		    field->kind == LAYOUT_KIND_LIST)
			free((void *)pointer_load(at));
	}
	memset(value, 0, layout->size);
}
