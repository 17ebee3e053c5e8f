/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of words, for the files that have ElanIDs. Pure. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "lanes/driver/elan3/hosts.h"

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

/*
 * Read a file's text into a table: line_take gets each line. -EINVAL with a
 * text, "line 3: ...", also when a line has a zero or too many words; -E2BIG:
 * over ELAN_HOSTS_FILE_MAX.
 */
int elan3_lines_read(const char *text, size_t size,
		     int (*line_take)(struct elan3_lines *lines, void *arg,
				      struct elan_hosts *hosts,
				      struct fairlead_error *ret_error),
		     void *arg, struct elan_hosts **ret_hosts,
		     struct fairlead_error *ret_error);
