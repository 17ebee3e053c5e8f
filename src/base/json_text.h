/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A JSON object written as text, member by member, where a tree of it would
 * only be made to be printed. Names are the program's own and stand as they
 * are; values are made clean (base/text.h) and escaped. Compact: no spaces.
 *
 *	struct json_text text = { 0 };
 *
 *	json_text_begin(&text);
 *	json_text_number(&text, "grant_id", 7);
 *	json_text_string(&text, "nodes", "n[0-3]");
 *	json_text_end(&text);
 *	result = json_text_take(&text);
 *
 * What fails is remembered in the writer, as with all that is written to one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct json_text {
	struct writer writer;
	bool has_members; /* the object that is open, so far */
};

void json_text_begin(struct json_text *text);
void json_text_end(struct json_text *text);
/* A member that is an object; json_text_end() ends it. */
void json_text_object(struct json_text *text, const char *name);
/* NULL is written as "". */
void json_text_string(struct json_text *text, const char *name,
		      const char *value);
void json_text_number(struct json_text *text, const char *name, uint64_t value);
void json_text_signed(struct json_text *text, const char *name, int64_t value);
void json_text_bool(struct json_text *text, const char *name, bool value);
void json_text_numbers(struct json_text *text, const char *name,
		       const uint32_t *values, size_t count);
/* The value is JSON already. */
void json_text_raw(struct json_text *text, const char *name, const char *json);
/* An array of such values. */
void json_text_raws(struct json_text *text, const char *name,
		    const char *const *values, size_t count);
/* All members of an object, which is compact JSON already. */
void json_text_members(struct json_text *text, const char *object);

/* The text with its zero; the caller frees it. NULL: memory is out. */
char *json_text_take(struct json_text *text);
