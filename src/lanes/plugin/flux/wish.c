/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/plugin/flux/wish.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "lanes/plugin/flux/names.h"

#define OWN          "fairlead"
#define VNIS_MAX     4
#define LOWER        "abcdefghijklmnopqrstuvwxyz"
#define DIGITS       "0123456789"
#define NAME_BYTES   LOWER DIGITS "_"
#define VALUE_BYTES  LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS "_.:+-"
#define INTERCONNECT "interconnect="

/* --- cray-slingshot --- */

static const char *type_name(const json_t *value)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "object", [JSON_ARRAY] = "array",
		[JSON_STRING] = "string", [JSON_INTEGER] = "integer",
		[JSON_REAL] = "real",     [JSON_TRUE] = "true",
		[JSON_FALSE] = "false",   [JSON_NULL] = "null",
	};

	return names[json_typeof(value)];
}

static int read_count(const json_t *value, struct wish *wish,
		      struct fairlead_error *ret_error)
{
	json_int_t count = json_integer_value(value);

	if (!json_is_integer(value))
		return error_set(ret_error, -EINVAL,
				 "error parsing " NAME_CRAY " shell options: "
				 "Expected integer, got %s",
				 type_name(value));
	if (count < 0 || count > VNIS_MAX)
		return error_set(ret_error, -EINVAL,
				 "VNI count must be within 1-%d", VNIS_MAX);
	wish->kind = count > 0 ? WISH_LANE : WISH_NONE;
	if (count > 0) {
		strcpy(wish->interconnect, "slingshot");
		snprintf(wish->options, sizeof(wish->options), "vnis=%d",
			 (int)count);
	}
	return 0;
}

static int read_cray(const json_t *value, struct wish *wish,
		     struct fairlead_error *ret_error)
{
	const char *text = json_string_value(value);
	const char *name;
	json_t *member;

	if (text && strcmp(text, "off") == 0) {
		wish->kind = WISH_OFF;
		return 0;
	}
	if (text)
		return error_set(ret_error, -EINVAL,
				 "-o " NAME_CRAY ": invalid option: %.200s",
				 text);
	if (!json_is_object(value) || json_object_size(value) == 0)
		return error_set(ret_error, -EINVAL,
				 "-o " NAME_CRAY ": say '" NAME_CRAY
				 "=off' or '" NAME_CRAY ".vnicount=N'");
	json_object_foreach ((json_t *)value, name, member)
		if (strcmp(name, "vnicount") != 0)
			return error_set(ret_error, -EINVAL,
					 "-o " NAME_CRAY
					 ": invalid option: %.200s",
					 name);
	return read_count(json_object_get(value, "vnicount"), wish, ret_error);
}

/* --- fairlead --- */

/* One of those that stand between commas. */
static int check_item(const char *item, size_t size,
		      struct fairlead_error *ret_error)
{
	size_t name = strspn(item, NAME_BYTES);

	if (size == 0)
		return error_set(ret_error, -EINVAL,
				 "-o " OWN ": nothing stands before or after a "
				 "comma; say 'off', or NAME=VALUE[,...]");
	if (name == 0 || name > size || (name < size && item[name] != '='))
		return error_set(ret_error, -EINVAL,
				 "-o " OWN
				 ": '%.*s' is not NAME or NAME=VALUE; "
				 "a name has a-z, 0-9 and _ only",
				 (int)size, item);
	if (name < size &&
	    name + 1 + strspn(item + name + 1, VALUE_BYTES) < size)
		return error_set(ret_error, -EINVAL,
				 "-o " OWN ": '%.*s' has another character in "
				 "its value than letters, digits and _.:+-",
				 (int)size, item);
	return 0;
}

static bool is_item(const char *item, size_t size, const char *wanted)
{
	return size == strlen(wanted) && memcmp(item, wanted, size) == 0;
}

static int take_interconnect(const char *name, size_t size, struct wish *wish,
			     struct fairlead_error *ret_error)
{
	if (wish->interconnect[0])
		return error_set(ret_error, -EINVAL,
				 "-o " OWN ": 'interconnect' stands twice");
	if (size == 0 || size >= sizeof(wish->interconnect))
		return error_set(ret_error, -EINVAL,
				 "-o " OWN ": '" INTERCONNECT "%.*s' does not "
				 "name an interconnect",
				 (int)size, name);
	memcpy(wish->interconnect, name, size);
	wish->interconnect[size] = '\0';
	return 0;
}

/* Its bytes are checked first, since they are shown. */
static int check_text(const char *text, struct fairlead_error *ret_error)
{
	size_t size = strnlen(text, FAIRLEAD_OPTIONS_MAX + 1);

	if (size == 0 || size > FAIRLEAD_OPTIONS_MAX)
		return error_set(ret_error, -EINVAL,
				 "-o " OWN ": it has %s bytes; say 'off', or "
				 "NAME=VALUE[,...]",
				 size == 0 ? "no" : "more than 511");
	for (size_t i = 0; i < size; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return error_set(ret_error, -EINVAL,
					 "-o " OWN
					 ": there is a byte 0x%02x at "
					 "offset %zu; letters, digits and "
					 "=,_.:+- are allowed",
					 (unsigned char)text[i], i);
	return 0;
}

static int take_item(const char *item, size_t size, struct wish *wish,
		     struct fairlead_error *ret_error)
{
	const size_t prefix = strlen(INTERCONNECT);
	size_t used;

	if (is_item(item, size, "vnis=0") ||
	    is_item(item, size, INTERCONNECT "none"))
		wish->kind = WISH_NONE;
	if (size >= prefix && memcmp(item, INTERCONNECT, prefix) == 0)
		return take_interconnect(item + prefix, size - prefix, wish,
					 ret_error);
	used = strlen(wish->options);
	snprintf(wish->options + used, sizeof(wish->options) - used, "%s%.*s",
		 used > 0 ? "," : "", (int)size, item);
	return 0;
}

static int read_own(const json_t *value, struct wish *wish,
		    struct fairlead_error *ret_error)
{
	const char *text = json_string_value(value);
	int result;

	if (!text)
		return error_set(ret_error, -EINVAL,
				 "-o " OWN ": it is no text but %s; say 'off', "
				 "or NAME=VALUE[,...]",
				 type_name(value));
	result = check_text(text, ret_error);
	if (result == 0 && strcmp(text, "off") == 0) {
		wish->kind = WISH_OFF;
		return 0;
	}
	wish->kind = WISH_LANE;
	while (result == 0) {
		size_t size = strcspn(text, ",");

		result = check_item(text, size, ret_error);
		if (result == 0)
			result = take_item(text, size, wish, ret_error);
		if (text[size] == '\0')
			break;
		text += size + 1;
	}
	return result;
}

int wish_parse(const json_t *options, struct wish *ret_wish,
	       struct fairlead_error *ret_error)
{
	const json_t *cray = json_object_get(options, NAME_CRAY);
	const json_t *own = json_object_get(options, OWN);
	struct wish wish = { .kind = WISH_DEFAULT };
	int result = 0;

	if (cray && own)
		return error_set(ret_error, -EINVAL,
				 "-o " NAME_CRAY " and -o " OWN
				 " are the same: "
				 "say one of them");
	if (cray)
		result = read_cray(cray, &wish, ret_error);
	else if (own)
		result = read_own(own, &wish, ret_error);
	if (result == 0)
		*ret_wish = wish;
	return result;
}
