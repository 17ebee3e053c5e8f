/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/elan3/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int words_cut(struct elan3_lines *lines,
		     struct fairlead_error *ret_error)
{
	char *at = lines->line;

	lines->word_count = 0;
	at += strspn(at, LINES_BLANKS);
	while (*at != 0) {
		if (lines->word_count == LINES_WORDS_MAX)
			return error_set(ret_error, -EINVAL,
					 "has more words than such a line can "
					 "have");
		lines->words[lines->word_count++] = at;
		at += strcspn(at, LINES_BLANKS);
		if (*at != 0)
			*at++ = 0;
		at += strspn(at, LINES_BLANKS);
	}
	return 1;
}

/* The next line: 1, or 0 at the end. */
static int line_next(struct elan3_lines *lines,
		     struct fairlead_error *ret_error)
{
	const char *end;
	size_t size;

	free(lines->line);
	lines->line = NULL;
	if (lines->left == 0)
		return 0;
	lines->number++;
	end = memchr(lines->text, '\n', lines->left);
	size = end ? (size_t)(end - lines->text) : lines->left;
	lines->line = memory_have(strndup(lines->text, size));
	if (strlen(lines->line) < size)
		return error_set(ret_error, -EINVAL, "has a zero byte");
	size += end != NULL;
	lines->text += size;
	lines->left -= size;
	lines->line[strcspn(lines->line, "#")] = 0;
	return words_cut(lines, ret_error);
}

int elan3_lines_read(const char *text, size_t size,
		     int (*line_take)(struct elan3_lines *lines, void *arg,
				      struct elan_hosts *hosts,
				      struct fairlead_error *ret_error),
		     void *arg, struct elan_hosts **ret_hosts,
		     struct fairlead_error *ret_error)
{
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts =
		elan_hosts_create();
	struct elan3_lines lines = { .text = text, .left = size };
	struct fairlead_error error = { 0 };
	int result;

	if (size > ELAN_HOSTS_FILE_MAX)
		return error_set(ret_error, -E2BIG,
				 "the file has more than %d bytes",
				 ELAN_HOSTS_FILE_MAX);
	while ((result = line_next(&lines, &error)) > 0) {
		result = line_take(&lines, arg, hosts, &error);
		if (result < 0)
			break;
	}
	free(lines.line);
	if (result < 0)
		return error_set(ret_error, result, "line %u: %s", lines.number,
				 error.text);
	*ret_hosts = take_ptr(hosts);
	return 0;
}
