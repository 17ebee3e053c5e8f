/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options are read strictly: what a user wrote by mistake must become an error
 * of the request, not a lane that differs from what was meant. So there are no
 * empty items, no blanks, and no name twice.
 */
#include "lanes/driver/common/options.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/common/number.h"

static int check_text(const char *text, struct fairlead_error *ret_error)
{
	size_t size = strnlen(text, FAIRLEAD_OPTIONS_MAX + 1);

	if (size > FAIRLEAD_OPTIONS_MAX)
		return error_set(ret_error, -E2BIG,
				 "options are longer than %d bytes",
				 FAIRLEAD_OPTIONS_MAX);
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte <= ' ' || byte > '~')
			return error_set(ret_error, -EINVAL,
					 "options have a byte 0x%02x at "
					 "offset %zu",
					 byte, i);
	}
	return 0;
}

static int add(struct options *options, char *item,
	       struct fairlead_error *ret_error)
{
	char *equals = strchr(item, '=');
	struct option option = { .name = item };

	if (equals) {
		*equals = '\0';
		option.value = equals + 1;
	}
	if (!*item)
		return error_set(ret_error, -EINVAL,
				 "options have an empty name");
	for (size_t i = 0; i < options->count; i++) {
		if (strcmp(options->items[i].name, item) == 0)
			return error_set(ret_error, -EINVAL,
					 "option '%s' is given twice", item);
	}
	if (options->count == OPTIONS_COUNT_MAX)
		return error_set(ret_error, -E2BIG, "more than %d options",
				 OPTIONS_COUNT_MAX);
	options->items[options->count++] = option;
	return 0;
}

int options_parse(struct options *options, const char *text,
		  struct fairlead_error *ret_error)
{
	char *next = options->buffer;
	int result = check_text(text, ret_error);

	if (result < 0)
		return result;
	options->count = 0;
	strcpy(options->buffer, text);
	if (!*text)
		return 0;
	while (next) {
		result = add(options, strsep(&next, ","), ret_error);
		if (result < 0)
			return result;
	}
	return 0;
}

int option_number(const struct option *option, uint32_t min, uint32_t max,
		  uint32_t *ret_number, struct fairlead_error *ret_error)
{
	if (option->value && number_parse(option->value, min, max, ret_number))
		return 0;
	return error_set(ret_error, -EINVAL,
			 "option '%s%s%s' needs a number from %u to %u",
			 option->name, option->value ? "=" : "",
			 option->value ? option->value : "", min, max);
}

int option_flag(const struct option *option, bool *ret_flag,
		struct fairlead_error *ret_error)
{
	if (option->value)
		return error_set(ret_error, -EINVAL,
				 "option '%s' takes no value", option->name);
	*ret_flag = true;
	return 0;
}

int options_check_off(const struct options *options, bool is_off,
		      struct fairlead_error *ret_error)
{
	if (is_off && options->count > 1)
		return error_set(ret_error, -EINVAL,
				 "option 'off' leaves nothing for other "
				 "options to say");
	return 0;
}

void options_append(char text[FAIRLEAD_OPTIONS_MAX + 1], const char *format,
		    ...)
{
	size_t used = strlen(text);
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(text + used, FAIRLEAD_OPTIONS_MAX + 1 - used, format,
			 args);
	va_end(args);
	assert(size >= 0 && used + (size_t)size <= FAIRLEAD_OPTIONS_MAX);
}
