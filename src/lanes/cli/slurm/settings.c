/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/slurm/settings.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 64

/* What stands behind `name` and '=' in a line, or NULL. */
static const char *value_of(const char *line, size_t size, const char *name)
{
	size_t length = strlen(name);
	const char *end = line + size;

	if (size < length || memcmp(line, name, length) != 0)
		return NULL;
	line += length;
	while (line < end && *line == ' ')
		line++;
	if (line == end || *line != '=')
		return NULL;
	for (line++; line < end && *line == ' ';)
		line++;
	return line;
}

char *slurm_setting(const char *text, const char *name)
{
	while (*text) {
		size_t size = strcspn(text, "\n");
		const char *end = text + size;
		const char *value = value_of(text, size, name);

		while (value && end > value && end[-1] == ' ')
			end--;
		if (value &&
		    (value == end ||
		     (end - value == 6 && memcmp(value, "(null)", 6) == 0)))
			return NULL;
		if (value)
			return strndup(value, (size_t)(end - value));
		text += size + (text[size] ? 1 : 0);
	}
	return NULL;
}

char *slurm_setting_at(const char *text, const char *name, size_t index)
{
	char indexed[NAME_MAX_BYTES];
	char *value = index == 0 ? slurm_setting(text, name) : NULL;

	if (value)
		return value;
	snprintf(indexed, sizeof(indexed), "%s[%zu]", name, index);
	return slurm_setting(text, indexed);
}

bool slurm_setting_has(const char *value, const char *word)
{
	size_t length = strlen(word);

	while (value && *value) {
		size_t size = strcspn(value, ",");

		if (size == length && strncasecmp(value, word, length) == 0)
			return true;
		value += size + (value[size] ? 1 : 0);
	}
	return false;
}

bool slurm_setting_uid(const char *value, uid_t *ret_uid)
{
	const char *open = value ? strrchr(value, '(') : NULL;
	unsigned long long number;
	char *end;

	if (!open || open[1] < '0' || open[1] > '9')
		return false;
	errno = 0;
	number = strtoull(open + 1, &end, 10);
	if (errno || strcmp(end, ")") != 0 || number >= UINT32_MAX)
		return false;
	*ret_uid = (uid_t)number;
	return true;
}
