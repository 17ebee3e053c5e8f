/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/plugin/common/job_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LOWER           "abcdefghijklmnopqrstuvwxyz"
#define DIGITS          "0123456789"
#define NAME_BYTES      LOWER DIGITS "_"
#define VALUE_BYTES     LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS "_.:+-"
#define INTERCONNECT    "interconnect"

#define SUBMITTER_MAX   32
#define SUBMITTER_BYTES LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS "_-"

static const char *const lane_names[] = {
	[LANE_NONE] = "none",
	[LANE_MAY] = "may",
	[LANE_MUST] = "must",
};

int lane_expectation_parse(const char *text, enum lane_expectation *ret_lane,
			   struct fairlead_error *ret_error)
{
	for (int i = LANE_NONE; i <= LANE_MUST; i++)
		if (strcmp(text, lane_names[i]) == 0) {
			*ret_lane = i;
			return 0;
		}
	return error_set(ret_error, -EINVAL,
			 "default=%.40s is not must, may or none", text);
}

const char *lane_expectation_name(enum lane_expectation lane)
{
	return lane_names[lane];
}

int submitter_check(const char *text, struct fairlead_error *ret_error)
{
	size_t size = strnlen(text, SUBMITTER_MAX + 1);

	if (size > 0 && size <= SUBMITTER_MAX &&
	    strspn(text, SUBMITTER_BYTES) == size)
		return 0;
	return error_set(
		ret_error, -EINVAL,
		"submitter=%.40s is not 1 to %d letters, digits, _ and -", text,
		SUBMITTER_MAX);
}

static int check_bytes(const char *text, struct fairlead_error *ret_error)
{
	size_t size = strnlen(text, FAIRLEAD_OPTIONS_MAX + 1);

	if (size == 0)
		return error_set(ret_error, -EINVAL,
				 "it is empty; say 'off', or NAME=VALUE[,...]");
	if (size > FAIRLEAD_OPTIONS_MAX)
		return error_set(ret_error, -EINVAL,
				 "it is longer than %d bytes",
				 FAIRLEAD_OPTIONS_MAX);
	for (size_t i = 0; i < size; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return error_set(ret_error, -EINVAL,
					 "there is a byte 0x%02x at offset "
					 "%zu; letters, digits and =,_.:+- are "
					 "allowed",
					 (unsigned char)text[i], i);
	return 0;
}

/* The text between two commas. */
static int check_item(const char *item, size_t size,
		      struct fairlead_error *ret_error)
{
	size_t name = strspn(item, NAME_BYTES);

	if (size == 0)
		return error_set(ret_error, -EINVAL,
				 "nothing stands before or after a comma; say "
				 "'off', or NAME=VALUE[,...]");
	if (name == 0 || (name < size && item[name] != '='))
		return error_set(ret_error, -EINVAL,
				 "'%.*s' is not NAME or NAME=VALUE; a name has "
				 "a-z, 0-9 and _ only",
				 (int)size, item);
	if (name < size &&
	    name + 1 + strspn(item + name + 1, VALUE_BYTES) < size)
		return error_set(ret_error, -EINVAL,
				 "'%.*s' has another character in its value "
				 "than letters, digits and _.:+-",
				 (int)size, item);
	return 0;
}

static bool is_interconnect(const char *item, size_t size)
{
	size_t length = strlen(INTERCONNECT);

	return size >= length && memcmp(item, INTERCONNECT, length) == 0 &&
	       (size == length || item[length] == '=');
}

static int take_interconnect(const char *item, size_t size, char *interconnect,
			     struct fairlead_error *ret_error)
{
	size_t prefix = sizeof(INTERCONNECT "=") - 1;

	if (size <= prefix || size - prefix > FAIRLEAD_DRIVER_NAME_MAX)
		return error_set(ret_error, -EINVAL,
				 "'%.*s' does not name an interconnect",
				 (int)size, item);
	if (*interconnect)
		return error_set(ret_error, -EINVAL,
				 "'" INTERCONNECT "' stands twice");
	memcpy(interconnect, item + prefix, size - prefix);
	interconnect[size - prefix] = '\0';
	return 0;
}

int job_options_split(const char *text,
		      char ret_interconnect[FAIRLEAD_DRIVER_NAME_MAX + 1],
		      char ret_options[FAIRLEAD_OPTIONS_MAX + 1],
		      struct fairlead_error *ret_error)
{
	int result = check_bytes(text, ret_error);
	size_t used = 0;

	*ret_interconnect = *ret_options = '\0';
	while (result == 0) {
		size_t size = strcspn(text, ",");

		result = check_item(text, size, ret_error);
		if (result == 0 && is_interconnect(text, size))
			result = take_interconnect(text, size, ret_interconnect,
						   ret_error);
		else if (result == 0)
			used += (size_t)snprintf(
				ret_options + used,
				FAIRLEAD_OPTIONS_MAX + 1 - used, "%s%.*s",
				used > 0 ? "," : "", (int)size, text);
		if (text[size] == '\0')
			break;
		text += size + 1;
	}
	return result;
}

int job_options_check(const char *text, struct fairlead_error *ret_error)
{
	char interconnect[FAIRLEAD_DRIVER_NAME_MAX + 1];
	char options[FAIRLEAD_OPTIONS_MAX + 1];

	return job_options_split(text, interconnect, options, ret_error);
}

bool job_options_has(const char *text, const char *item)
{
	size_t length = strlen(item);

	for (;;) {
		size_t size = strcspn(text, ",");

		if (size == length && memcmp(text, item, size) == 0)
			return true;
		if (text[size] == '\0')
			return false;
		text += size + 1;
	}
}
