/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has to be done to a text so that libconfuse 3.3 reads it right: its
 * line numbers count comments twice, a string that is not closed spoils its
 * scanner for the next file, and it puts environment variables into texts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lanes/config/report.h"

/*
 * A copy with the same lines, in which comments are blank and every string is
 * closed on its line; the caller frees it. What had to be mended is reported.
 * NULL: memory is out.
 */
char *scan_prepare(const char *text, size_t size, struct report *report);

/*
 * Blank out the statement in a prepared text that begins with `name` on the
 * line: NAME = VALUE, NAME { ... } or NAME TITLE { ... }. False when it is not
 * there.
 */
bool scan_blank_statement(char *text, unsigned int line, const char *name);

/* The line of `name "title"` in a prepared text; 0 when it is not there. */
unsigned int scan_section_line(const char *text, const char *name,
			       const char *title);
