/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line is words between blanks; '#' begins a comment that ends with the line.
 * Printable ASCII and tabs only, so that nothing is read that an editor does
 * not show. A file without a line end on its last line is fine.
 */
#include "lanes/proto/keylines.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "lanes/proto/keyfile.h"

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static bool is_readable(char byte)
{
	return is_blank(byte) || (byte > ' ' && byte <= '~');
}

int keylines_refuse(const struct keylines *lines, struct fairlead_error *error,
		    const char *what)
{
	return error_set(error, -EINVAL, "line %u: %s", lines->line, what);
}

/* Take the words of [at, end), which has no line end. */
static int words_take(struct keylines *lines, const char *at, const char *end,
		      struct fairlead_error *error)
{
	lines->count = 0;
	while (at < end) {
		const char *start = at;

		while (at < end && !is_blank(*at))
			at++;
		if (at > start) {
			if (lines->count == KEYLINES_WORDS_MAX)
				return keylines_refuse(lines, error,
						       "too many words");
			lines->words[lines->count++] = (struct keylines_word){
				.at = start,
				.size = (size_t)(at - start),
			};
		}
		while (at < end && is_blank(*at))
			at++;
	}
	return 0;
}

int keylines_next(struct keylines *lines, struct fairlead_error *error)
{
	lines->count = 0;
	while (lines->at < lines->end && lines->count == 0) {
		const char *start = lines->at, *at = start, *words_end;
		int result;

		lines->line++;
		while (at < lines->end && *at != '\n' && *at != '#' &&
		       is_readable(*at))
			at++;
		words_end = at;
		if (at < lines->end && *at == '#')
			while (at < lines->end && *at != '\n' && *at != 0)
				at++;
		if (at < lines->end && *at != '\n')
			return keylines_refuse(lines, error,
					       "a byte that is not text");
		lines->at = at < lines->end ? at + 1 : at;
		result = words_take(lines, start, words_end, error);
		if (result < 0)
			return result;
	}
	return lines->count > 0;
}

bool keylines_is(const struct keylines *lines, const char *name)
{
	return lines->count > 0 && lines->words[0].size == strlen(name) &&
	       memcmp(lines->words[0].at, name, strlen(name)) == 0;
}

int keylines_begin(struct keylines *lines, const char *text, size_t size,
		   const char *title, struct fairlead_error *error)
{
	int result;

	if (size > KEYFILE_SIZE_MAX)
		return error_set(error, -E2BIG,
				 "a key file has at most %d bytes",
				 KEYFILE_SIZE_MAX);
	*lines = (struct keylines){ .at = text, .end = text + size };
	result = keylines_next(lines, error);
	if (result < 0)
		return result;
	if (result == 0 || !keylines_is(lines, title) || lines->count != 2)
		return error_set(error, -EINVAL,
				 "line %u: the first item is not '%s 1'",
				 lines->line, title);
	if (lines->words[1].size != 1 || *lines->words[1].at != '1')
		return keylines_refuse(lines, error,
				       "another version than 1 is not known");
	return 0;
}

bool keylines_id(const struct keylines_word *word, uint32_t *ret_id)
{
	uint64_t number = 0;

	if (word->size > 10 || *word->at == '0')
		return false;
	for (size_t i = 0; i < word->size; i++) {
		if (word->at[i] < '0' || word->at[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(word->at[i] - '0');
	}
	if (number > UINT32_MAX)
		return false;
	*ret_id = (uint32_t)number;
	return true;
}

bool keylines_hex(const struct keylines_word *word, uint8_t ret_bytes[KEY_SIZE])
{
	size_t size;

	return word->size == 2 * KEY_SIZE &&
	       sodium_hex2bin(ret_bytes, KEY_SIZE, word->at, word->size, NULL,
			      &size, NULL) == 0 &&
	       size == KEY_SIZE;
}

bool keylines_text(const struct keylines_word *word, char *ret_text,
		   size_t capacity)
{
	if (word->size >= capacity)
		return false;
	memcpy(ret_text, word->at, word->size);
	ret_text[word->size] = 0;
	return true;
}

void keylines_write(struct writer *writer, const char *text)
{
	write_bytes(writer, text, strlen(text));
}

void keylines_write_hex(struct writer *writer, const uint8_t bytes[KEY_SIZE])
{
	char hex[1 + 2 * KEY_SIZE + 1] = " ";

	sodium_bin2hex(hex + 1, sizeof(hex) - 1, bytes, KEY_SIZE);
	write_bytes(writer, hex, sizeof(hex) - 1);
	sodium_memzero(hex, sizeof(hex));
}

void keylines_write_id(struct writer *writer, uint32_t id)
{
	char text[16];

	snprintf(text, sizeof(text), " %" PRIu32, id);
	keylines_write(writer, text);
}
