/* SPDX-License-Identifier: BSD-3-Clause */
/* Values go into a job's environment: a damaged record is refused whole. */
#include "lanes/driver/common/variables.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void variables_add(struct fairlead_record *record, const char *name,
		   const char *value)
{
	size_t left = sizeof(record->bytes) - record->size;
	int size = snprintf((char *)record->bytes + record->size, left, "%s=%s",
			    name, value);

	assert(size > 0 && (size_t)size < left);
	record->size += (size_t)size + 1;
}

static bool is_value(const char *text)
{
	bool is_any = *text;

	for (; *text; text++) {
		if (*text <= ' ' || *text > '~')
			return false;
	}
	return is_any;
}

/* The value of a variable that begins there, or NULL. */
static const char *value_of(const char *text, const char *name)
{
	size_t size = strlen(name);

	return strncmp(text, name, size) == 0 && text[size] == '='
		       ? text + size + 1
		       : NULL;
}

static bool is_whole(const struct fairlead_record *record,
		     const char *const *names)
{
	const char *at = (const char *)record->bytes;
	const char *end;

	if (record->size == 0)
		return true;
	if (record->size > sizeof(record->bytes) ||
	    at[record->size - 1] != '\0')
		return false;
	end = at + record->size;
	for (; *names && at < end; names++, at += strlen(at) + 1) {
		const char *value = value_of(at, *names);

		if (!value || !is_value(value))
			return false;
	}
	return !*names && at == end;
}

int variables_check(const struct fairlead_record *record,
		    const char *const *names, struct fairlead_error *ret_error)
{
	return is_whole(record, names)
		       ? 0
		       : error_set(ret_error, -EBADMSG,
				   "the record of the lane is damaged, or of "
				   "another version");
}

const char *variables_get(const struct fairlead_record *record,
			  const char *name)
{
	const char *at = (const char *)record->bytes;
	const char *end = at + record->size;

	for (; at < end; at += strlen(at) + 1) {
		const char *value = value_of(at, name);

		if (value)
			return value;
	}
	return NULL;
}

int variables_env(const char *const *names, const struct fairlead_lane *lane,
		  const struct fairlead_record *record,
		  void (*emit)(void *arg, const char *name, const char *value),
		  void *arg, struct fairlead_error *ret_error)
{
	bool has_lane = lane && lane->id_count > 0;
	int result = has_lane ? variables_check(record, names, ret_error) : 0;

	for (; result == 0 && *names; names++)
		emit(arg, *names,
		     has_lane ? variables_get(record, *names) : NULL);
	return result;
}

void variables_append(char *list, size_t capacity, const char *format, ...)
{
	size_t used = strlen(list);
	va_list args;
	int size;

	if (used > 0)
		list[used++] = ',';
	va_start(args, format);
	size = vsnprintf(list + used, capacity - used, format, args);
	va_end(args);
	assert(size > 0 && (size_t)size < capacity - used);
}

bool variables_next(const char **list, char *item, size_t capacity)
{
	size_t size;

	if (!*list)
		return false;
	size = strcspn(*list, ",");
	if (size >= capacity) {
		*list = NULL;
		return false;
	}
	memcpy(item, *list, size);
	item[size] = '\0';
	*list = (*list)[size] ? *list + size + 1 : NULL;
	return true;
}
