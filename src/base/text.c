/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error texts and log lines quote what others sent. What is printed must not
 * drive a terminal (C0, DEL, C1), and what goes into JSON must be UTF-8 as
 * RFC 3629 has it: no overlong forms, no surrogates, nothing over U+10FFFF.
 */
#include "base/text.h"

#include <assert.h>
#include <string.h>

#define NUMBER_DIGITS_MAX 10 /* of UINT32_MAX */

/* Bytes of the printable character at `at`, or 0 when there is none. */
static size_t character_size(const uint8_t *at)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t code;
	size_t size;

	if (*at < 0x80)
		return *at == '\n' || (*at >= 0x20 && *at != 0x7f);
	if (*at >= 0xc0 && *at < 0xe0) {
		size = 2;
		code = *at & 0x1fu;
	} else if (*at >= 0xe0 && *at < 0xf0) {
		size = 3;
		code = *at & 0x0fu;
	} else if (*at >= 0xf0 && *at < 0xf8) {
		size = 4;
		code = *at & 0x07u;
	} else {
		return 0;
	}
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3fu);
	}
	if (code < least[size] || code > 0x10ffff || code < 0xa0 ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return size;
}

void text_clean(char *text)
{
	uint8_t *at = (uint8_t *)text;

	while (*at != 0) {
		size_t size = character_size(at);

		if (size == 0) {
			*at = '?';
			size = 1;
		}
		at += size;
	}
}

void text_cut(char *text, size_t capacity)
{
	size_t end = capacity - sizeof("...");

	assert(capacity >= sizeof("..."));
	while (end > 0 && ((uint8_t)text[end] & 0xc0) == 0x80)
		end--;
	memcpy(text + end, "...", sizeof("..."));
}

void text_fit(char *to, size_t capacity, const char *from)
{
	size_t size = strnlen(from, capacity);

	memcpy(to, from, size < capacity ? size + 1 : capacity);
	if (size == capacity)
		text_cut(to, capacity);
	text_clean(to);
}

const char *text_line(const char **rest, size_t *ret_size)
{
	const char *line = *rest + strspn(*rest, "\n");
	size_t size = strcspn(line, "\n");

	*rest = line + size;
	if (size == 0)
		return NULL;
	*ret_size = size;
	return line;
}

bool text_number(const char *text, size_t size, uint32_t *ret_number)
{
	uint64_t number = 0;

	if (size == 0 || size > NUMBER_DIGITS_MAX)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(text[i] - '0');
	}
	if (number > UINT32_MAX)
		return false;
	*ret_number = (uint32_t)number;
	return true;
}
