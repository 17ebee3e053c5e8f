/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Field lists. A message is a struct and one declarative list of its fields,
 * in the order of the wire; encoding, decoding and freeing follow the list.
 *
 *	static const struct layout_field ack_fields[] = {
 *		LAYOUT_NAME(struct ack_body, node, name_is_node),
 *		LAYOUT_NUMBER(struct ack_body, sequence, 0, UINT64_MAX),
 *	};
 *	static const struct layout ack_layout =
 *		LAYOUT(struct ack_body, ack_fields);
 *
 * Encoding borrows what the struct points to. A decoded struct owns it, and
 * layout_fini frees it. Elements of a list point to nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define LAYOUT_ERRNO_MAX 4095 /* as the kernel's MAX_ERRNO */

enum layout_kind {
	LAYOUT_KIND_NUMBER, /* u8, u16, u32, u64 by the member's size */
	LAYOUT_KIND_RESULT, /* int: 0 or a negative errno, as u32 */
	LAYOUT_KIND_BYTES,  /* u8[size] */
	LAYOUT_KIND_TEXT,   /* char[most + 1] */
	LAYOUT_KIND_STRING, /* const char *, allocated */
	LAYOUT_KIND_BLOB,   /* const uint8_t *, allocated, and its size_t */
	LAYOUT_KIND_BLOCK,  /* uint8_t[most] and its size_t; as a blob */
	LAYOUT_KIND_IDS,    /* uint32_t[most] and its uint8_t count */
	LAYOUT_KIND_LIST,   /* const element *, allocated, and its size_t */
};

struct layout;

struct layout_field {
	enum layout_kind kind;
	size_t offset;       /* of the member in the struct */
	size_t size;         /* of the member, in bytes */
	size_t count_offset; /* of the member that counts it */
	uint64_t least;      /* number: the lowest that is valid */
	uint64_t most;       /* number; or bytes, or elements */
	bool is_prose;       /* for people: made clean when decoded */
	bool (*is_valid)(const char *text); /* NULL: any text */
	const struct layout *element;
};

struct layout {
	size_t size; /* of the struct */
	const struct layout_field *fields;
	size_t field_count;
};

#define LAYOUT(type, list)                                    \
	{                                                     \
		.size = sizeof(type), .fields = (list),       \
		.field_count = sizeof(list) / sizeof(*(list)) \
	}

#define LAYOUT_MEMBER(type, member) \
	.offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

#define LAYOUT_NUMBER(type, member, lowest, highest)           \
	{                                                      \
		.kind = LAYOUT_KIND_NUMBER, .least = (lowest), \
		.most = (highest), LAYOUT_MEMBER(type, member) \
	}
#define LAYOUT_RESULT(type, member)                                     \
	{                                                               \
		.kind = LAYOUT_KIND_RESULT, LAYOUT_MEMBER(type, member) \
	}
#define LAYOUT_BYTES(type, member)                                     \
	{                                                              \
		.kind = LAYOUT_KIND_BYTES, LAYOUT_MEMBER(type, member) \
	}
#define LAYOUT_NAME(type, member, check)                       \
	{                                                      \
		.kind = LAYOUT_KIND_TEXT, .is_valid = (check), \
		.most = sizeof(((type *)0)->member) - 1,       \
		LAYOUT_MEMBER(type, member)                    \
	}
#define LAYOUT_PROSE(type, member)                          \
	{                                                   \
		.kind = LAYOUT_KIND_TEXT, .is_prose = true, \
		.most = sizeof(((type *)0)->member) - 1,    \
		LAYOUT_MEMBER(type, member)                 \
	}
#define LAYOUT_STRING(type, member, size_max)                   \
	{                                                       \
		.kind = LAYOUT_KIND_STRING, .most = (size_max), \
		LAYOUT_MEMBER(type, member)                     \
	}
#define LAYOUT_BLOB(type, member, count, size_max)            \
	{                                                     \
		.kind = LAYOUT_KIND_BLOB, .most = (size_max), \
		.count_offset = offsetof(type, count),        \
		LAYOUT_MEMBER(type, member)                   \
	}
#define LAYOUT_BLOCK(type, member, count)              \
	{                                              \
		.kind = LAYOUT_KIND_BLOCK,             \
		.most = sizeof(((type *)0)->member),   \
		.count_offset = offsetof(type, count), \
		LAYOUT_MEMBER(type, member)            \
	}
#define LAYOUT_IDS(type, member, count)                                 \
	{                                                               \
		.kind = LAYOUT_KIND_IDS,                                \
		.most = sizeof(((type *)0)->member) / sizeof(uint32_t), \
		.count_offset = offsetof(type, count),                  \
		LAYOUT_MEMBER(type, member)                             \
	}
#define LAYOUT_LIST(type, member, count, list_layout, count_max) \
	{                                                        \
		.kind = LAYOUT_KIND_LIST, .most = (count_max),   \
		.element = (list_layout),                        \
		.count_offset = offsetof(type, count),           \
		LAYOUT_MEMBER(type, member)                      \
	}
/*
 * Append a struct's fields. -EINVAL when a field is not valid, -EMSGSIZE when
 * one is too long, or the writer's error; the writer is then as before.
 */
int layout_encode(const struct layout *layout, const void *value,
		  struct writer *writer);

/*
 * Read exactly the bytes. -EBADMSG; -ENOMEM. On success
 * ret_value is to be handed to layout_fini.
 */
int layout_decode(const struct layout *layout, const void *bytes, size_t size,
		  void *ret_value);

/* Free what a decoded struct owns and zero it. */
void layout_fini(const struct layout *layout, void *value);
