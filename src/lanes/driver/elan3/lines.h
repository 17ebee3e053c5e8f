/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of words, for the files that have ElanIDs. Pure. */
#pragma once

#include <stddef.h>

#include "base/error.h"

#define LINES_WORDS_MAX 4
#define LINES_BLANKS    " \t\r\v\f"

/*
 * One line at a time. The text is not changed; a line is copied, without what
 * stands behind '#', and its words are cut out of it.
 */
struct elan3_lines {
	const char *text;
	size_t left;
	unsigned int number; /* of the line, from 1 */
	char *line;          /* the copy */
	size_t word_count;   /* none: the line is blank */
	char *words[LINES_WORDS_MAX];
};

void lines_begin(struct elan3_lines *lines, const char *text, size_t size);
void lines_end(struct elan3_lines *lines);
/*
 * The next line: 1, or 0 at the end. -EINVAL with a text that names the line:
 * it has a zero, or more than LINES_WORDS_MAX words.
 */
int lines_next(struct elan3_lines *lines, struct fairlead_error *ret_error);
