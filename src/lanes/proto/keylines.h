/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Key files as lines of words. Errors name the line and never quote it: what
 * stands where it should not may be a secret.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "lanes/proto/sign.h"

#define KEYLINES_WORDS_MAX 4

struct keylines_word {
	const char *at;
	size_t size;
};

/* A view of a file's text; zero the line before the first read. */
struct keylines {
	const char *at;
	const char *end;
	unsigned int line; /* the number of the last line that was read */
	size_t count;      /* words in it */
	struct keylines_word words[KEYLINES_WORDS_MAX];
};

/*
 * Begin, and read the first line, which is `title` and version 1. -EINVAL with
 * a text; -E2BIG for a file that is no key file by its size.
 */
int keylines_begin(struct keylines *lines, const char *text, size_t size,
		   const char *title, struct fairlead_error *error);
/* Next line that has words: 1, 0 at the end, -EINVAL with a text. */
int keylines_next(struct keylines *lines, struct fairlead_error *error);
/* True when the line's first word is `name`. */
bool keylines_is(const struct keylines *lines, const char *name);
/* -EINVAL, "line N: what". */
int keylines_refuse(const struct keylines *lines, struct fairlead_error *error,
		    const char *what);

/* True for a key id: 1..4294967295, no leading zeros. */
bool keylines_id(const struct keylines_word *word, uint32_t *ret_id);
/* True for 64 hexadecimal digits. */
bool keylines_hex(const struct keylines_word *word,
		  uint8_t ret_bytes[KEY_SIZE]);
/* True for a text of at most capacity - 1 bytes, which is copied. */
bool keylines_text(const struct keylines_word *word, char *ret_text,
		   size_t capacity);

/* Write " " and 64 hexadecimal digits. */
void keylines_write_hex(struct writer *writer, const uint8_t bytes[KEY_SIZE]);
/* Write a text without its zero or length. */
void keylines_write(struct writer *writer, const char *text);
/* Write " " and a number. */
void keylines_write_id(struct writer *writer, uint32_t id);
