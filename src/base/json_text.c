/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A value without anything to escape, which is nearly every one, is copied in
 * one go. What jansson prints of the same tree is the same text, but for
 * control characters: they are not escaped but made clean.
 */
#include "base/json_text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Printable ASCII without the quote and the backslash. */
static const bool is_plain[UINT8_MAX + 1] = {
	[' ' ... '"' - 1] = true,
	['"' + 1 ... '\\' - 1] = true,
	['\\' + 1 ... '~'] = true,
};

/* Bytes that stand in JSON as they are, from the begin of the text. */
static size_t plain_size(const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	while (is_plain[*at])
		at++;
	return (size_t)(at - (const uint8_t *)text);
}

/* A clean text; what is not ASCII in it is valid UTF-8. */
static void write_escaped(struct writer *writer, const char *text)
{
	while (*text != 0) {
		size_t plain = strcspn(text, "\"\\\n");

		write_bytes(writer, text, plain);
		text += plain;
		if (*text == 0)
			return;
		write_plain(writer, *text == '\n' ? "\\n" : "\\");
		if (*text != '\n')
			write_bytes(writer, text, 1);
		text++;
	}
}

static void write_quoted(struct writer *writer, const char *text)
{
	size_t plain = plain_size(text);

	write_plain(writer, "\"");
	write_bytes(writer, text, plain);
	if (text[plain] != 0) {
		char *clean = strdup(text + plain);

		if (clean == NULL) {
			if (writer->result == 0)
				writer->result = -ENOMEM;
			return;
		}
		text_clean(clean);
		write_escaped(writer, clean);
		free(clean);
	}
	write_plain(writer, "\"");
}

static void put_name(struct json_text *text, const char *name)
{
	write_plain(&text->writer, text->has_members ? ",\"" : "\"");
	write_plain(&text->writer, name);
	write_plain(&text->writer, "\":");
	text->has_members = true;
}

void json_text_begin(struct json_text *text)
{
	write_plain(&text->writer, "{");
	text->has_members = false;
}

void json_text_end(struct json_text *text)
{
	write_plain(&text->writer, "}");
	text->has_members = true;
}

void json_text_object(struct json_text *text, const char *name)
{
	put_name(text, name);
	json_text_begin(text);
}

void json_text_string(struct json_text *text, const char *name,
		      const char *value)
{
	put_name(text, name);
	write_quoted(&text->writer, value == NULL ? "" : value);
}

void json_text_number(struct json_text *text, const char *name, uint64_t value)
{
	put_name(text, name);
	write_decimal(&text->writer, value, 0);
}

void json_text_signed(struct json_text *text, const char *name, int64_t value)
{
	put_name(text, name);
	if (value < 0)
		write_plain(&text->writer, "-");
	write_decimal(&text->writer,
		      value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 0);
}

void json_text_bool(struct json_text *text, const char *name, bool value)
{
	json_text_raw(text, name, value ? "true" : "false");
}

void json_text_numbers(struct json_text *text, const char *name,
		       const uint32_t *values, size_t count)
{
	put_name(text, name);
	write_plain(&text->writer, "[");
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			write_plain(&text->writer, ",");
		write_decimal(&text->writer, values[i], 0);
	}
	write_plain(&text->writer, "]");
}

void json_text_raw(struct json_text *text, const char *name, const char *json)
{
	put_name(text, name);
	write_plain(&text->writer, json);
}

void json_text_raws(struct json_text *text, const char *name,
		    const char *const *values, size_t count)
{
	put_name(text, name);
	write_plain(&text->writer, "[");
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			write_plain(&text->writer, ",");
		write_plain(&text->writer, values[i]);
	}
	write_plain(&text->writer, "]");
}

void json_text_members(struct json_text *text, const char *object)
{
	size_t size = strlen(object);

	assert(size >= 2 && object[0] == '{' && object[size - 1] == '}');
	if (size == 2)
		return;
	if (text->has_members)
		write_plain(&text->writer, ",");
	write_bytes(&text->writer, object + 1, size - 2);
	text->has_members = true;
}

char *json_text_take(struct json_text *text)
{
	write_u8(&text->writer, 0);
	return (char *)writer_take(&text->writer, NULL);
}
