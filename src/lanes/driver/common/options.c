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

#include "base/text.h"

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

/* --- numbers: stricter than strtoul, which takes blanks, signs and wraps --- */

bool number_parse(const char *text, uint32_t min, uint32_t max,
		  uint32_t *ret_number)
{
	uint32_t number;

	if ((text[0] == '0' && text[1]) ||
	    !text_number(text, strlen(text), &number) || number < min ||
	    number > max)
		return false;
	*ret_number = number;
	return true;
}

/* --- words --- */

const struct words words_traffic_classes = {
	.what = "traffic class",
	.prefix = "TC_",
	.count = 4,
	.names = { "DEDICATED_ACCESS", "LOW_LATENCY", "BULK_DATA",
		   "BEST_EFFORT" },
	.all = "DEDICATED_ACCESS, LOW_LATENCY, BULK_DATA and BEST_EFFORT",
};

static int word_parse(const struct words *words, const char *name, size_t size,
		      struct fairlead_error *ret_error)
{
	size_t prefix = words->prefix ? strlen(words->prefix) : 0;

	if (prefix > 0 && size > prefix &&
	    memcmp(name, words->prefix, prefix) == 0) {
		name += prefix;
		size -= prefix;
	}
	for (size_t i = 0; i < words->count; i++) {
		if (strlen(words->names[i]) == size &&
		    memcmp(words->names[i], name, size) == 0)
			return (int)i;
	}
	return error_set(ret_error, -EINVAL, "there is no %s '%.*s', only %s",
			 words->what, (int)size, name, words->all);
}

int words_parse(const struct words *words, const char *text, char separator,
		uint32_t *ret_bits, uint32_t *ret_first,
		struct fairlead_error *ret_error)
{
	uint32_t bits = 0, first = 0;

	for (;;) {
		size_t size = (size_t)(strchrnul(text, separator) - text);
		int number = word_parse(words, text, size, ret_error);

		if (number < 0)
			return number;
		if (bits == 0)
			first = (uint32_t)number;
		bits |= 1u << number;
		if (!text[size])
			break;
		text += size + 1;
	}
	*ret_bits = bits;
	*ret_first = first;
	return 0;
}

int words_option(const struct words *words, const struct option *option,
		 uint32_t ceiling, uint32_t *ret_bits, uint32_t *ret_first,
		 struct fairlead_error *ret_error)
{
	uint32_t bits, first;
	int result = words_parse(words, option->value ? option->value : "", ':',
				 &bits, &first, ret_error);

	if (result < 0)
		return result;
	for (size_t i = 0; i < words->count; i++) {
		if (bits & ~ceiling & 1u << i)
			return error_set(ret_error, -EINVAL,
					 "%s '%s' is not one that jobs can "
					 "have here",
					 words->what, words->names[i]);
	}
	*ret_bits = bits;
	*ret_first = first;
	return 0;
}
