/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/slurm/plugstack.h"

#include <stddef.h>
#include <string.h>

#define SPACE " \t\r\n"

/* The next word, ended by a zero; "" at the end. */
static char *take_word(char **rest)
{
	char *word = *rest + strspn(*rest, SPACE);

	*rest = word + strcspn(word, SPACE);
	if (**rest)
		*(*rest)++ = 0;
	return word;
}

enum plugstack_kind plugstack_parse(char *line, struct plugstack_line *ret_line)
{
	char *rest = line;
	const char *word;

	line[strcspn(line, "#")] = 0;
	word = take_word(&rest);
	*ret_line = (struct plugstack_line){
		.is_required = strcasecmp(word, "required") == 0,
		.path = take_word(&rest),
	};
	ret_line->arguments = rest + strspn(rest, SPACE);
	if (!*word)
		return PLUGSTACK_NOTHING;
	if (!*ret_line->path)
		return PLUGSTACK_UNKNOWN;
	if (strcasecmp(word, "include") == 0)
		return PLUGSTACK_INCLUDE;
	if (ret_line->is_required || strcasecmp(word, "optional") == 0)
		return PLUGSTACK_PLUGIN;
	return PLUGSTACK_UNKNOWN;
}

char *plugstack_argument(const char *arguments, const char *name)
{
	size_t length = strlen(name);
	const char *found = NULL;
	size_t found_size = 0;

	while (*arguments) {
		size_t size = strcspn(arguments, SPACE);

		if (size > length && arguments[length] == '=' &&
		    strncmp(arguments, name, length) == 0) {
			found = arguments + length + 1;
			found_size = size - length - 1;
		}
		arguments += size;
		arguments += strspn(arguments, SPACE);
	}
	return found ? strndup(found, found_size) : NULL;
}

/* Is the word, of that size, NAME=VALUE with one of the names? */
static bool is_known(const char *word, size_t size, const char *const *names)
{
	for (; *names; names++) {
		size_t length = strlen(*names);

		if (size > length && word[length] == '=' &&
		    strncmp(word, *names, length) == 0)
			return true;
	}
	return false;
}

char *plugstack_unknown(const char *arguments, const char *const *names)
{
	arguments += strspn(arguments, SPACE);
	while (*arguments) {
		size_t size = strcspn(arguments, SPACE);

		if (!is_known(arguments, size, names))
			return strndup(arguments, size);
		arguments += size;
		arguments += strspn(arguments, SPACE);
	}
	return NULL;
}

bool plugstack_is(const struct plugstack_line *line, const char *file)
{
	const char *slash = strrchr(line->path, '/');

	return strcmp(slash ? slash + 1 : line->path, file) == 0;
}
