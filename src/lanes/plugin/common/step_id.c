/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/plugin/common/step_id.h"

#include <string.h>

static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789._-/";

/* Write c before *begin, unless there is no space, or a slash already. */
static void put(char **begin, const char *first, char c)
{
	if (*begin > first && !(c == '/' && **begin == '/'))
		*--*begin = c;
}

/* From the end, so that of too long a name the end is kept. */
static void put_all(char **begin, const char *first, const char *text)
{
	for (size_t i = strlen(text); i > 0; i--) {
		if (i > 1 && memcmp(text + i - 2, "\u0192", 2) == 0)
			put(begin, first, 'f');
		else if (strchr(allowed, text[i - 1]))
			put(begin, first, text[i - 1]);
	}
}

void step_id_make(const char *outer, const char *path,
		  char ret_text[STEP_ID_MAX])
{
	char *end = ret_text + STEP_ID_MAX - 1;
	char *begin = end;

	*end = '\0';
	put_all(&begin, ret_text, path);
	if (outer) {
		put(&begin, ret_text, '/');
		put_all(&begin, ret_text, outer);
	}
	memmove(ret_text, begin, (size_t)(end - begin) + 1);
}
