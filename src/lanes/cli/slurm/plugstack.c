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

bool plugstack_is(const struct plugstack_line *line, const char *file)
{
	const char *slash = strrchr(line->path, '/');

	return strcmp(slash ? slash + 1 : line->path, file) == 0;
}
