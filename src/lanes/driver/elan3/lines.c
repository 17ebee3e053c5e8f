/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/elan3/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void lines_begin(struct elan3_lines *lines, const char *text, size_t size)
{
	*lines = (struct elan3_lines){ .text = text, .left = size };
}

void lines_end(struct elan3_lines *lines)
{
	free(lines->line);
	lines->line = NULL;
}

static int words_cut(struct elan3_lines *lines,
		     struct fairlead_error *ret_error)
{
	char *at = lines->line;

	lines->word_count = 0;
	at += strspn(at, LINES_BLANKS);
	while (*at != 0) {
		if (lines->word_count == LINES_WORDS_MAX)
			return error_set(ret_error, -EINVAL,
					 "line %u: has more words than such a "
					 "line can have",
					 lines->number);
		lines->words[lines->word_count++] = at;
		at += strcspn(at, LINES_BLANKS);
		if (*at != 0)
			*at++ = 0;
		at += strspn(at, LINES_BLANKS);
	}
	return 1;
}

int lines_next(struct elan3_lines *lines, struct fairlead_error *ret_error)
{
	const char *end;
	size_t size;

	lines_end(lines);
	if (lines->left == 0)
		return 0;
	lines->number++;
	end = memchr(lines->text, '\n', lines->left);
	size = end ? (size_t)(end - lines->text) : lines->left;
	lines->line = memory_have(strndup(lines->text, size));
	if (strlen(lines->line) < size)
		return error_set(ret_error, -EINVAL, "line %u: has a zero byte",
				 lines->number);
	size += end != NULL;
	lines->text += size;
	lines->left -= size;
	lines->line[strcspn(lines->line, "#")] = 0;
	return words_cut(lines, ret_error);
}
