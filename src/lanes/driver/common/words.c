/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/common/words.h"

#include <string.h>

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
