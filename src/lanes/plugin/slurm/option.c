/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lanes/plugin/slurm/option.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "fairlead_driver.h"
#include "lanes/plugin/slurm/refuse.h"

#define LOWER        "abcdefghijklmnopqrstuvwxyz"
#define DIGITS       "0123456789"
#define NAME_BYTES   LOWER DIGITS "_"
#define VALUE_BYTES  LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS "_.:+-"
#define INTERCONNECT "interconnect"

/* One of those that stand between commas. */
static int check_item(const char *item, size_t size,
		      struct fairlead_error *ret_error)
{
	size_t name = strspn(item, NAME_BYTES);

	if (size == 0)
		return refuse(ret_error, -EINVAL,
			      "nothing stands before or after a comma; say "
			      "'off', or NAME=VALUE[,...]");
	if (name == 0 || (name < size && item[name] != '='))
		return refuse(
			ret_error, -EINVAL,
			"'%.*s' is not NAME or NAME=VALUE; a name has a-z, "
			"0-9 and _ only",
			(int)size, item);
	if (name < size &&
	    name + 1 + strspn(item + name + 1, VALUE_BYTES) < size)
		return refuse(ret_error, -EINVAL,
			      "'%.*s' has another character in its value than "
			      "letters, digits and _.:+-",
			      (int)size, item);
	if (name == strlen(INTERCONNECT) &&
	    strncmp(item, INTERCONNECT, name) == 0 &&
	    (size <= name + 1 || size - name - 1 > FAIRLEAD_DRIVER_NAME_MAX))
		return refuse(ret_error, -EINVAL,
			      "'%.*s' does not name an interconnect", (int)size,
			      item);
	return 0;
}

static int check_bytes(const char *text, struct fairlead_error *ret_error)
{
	size_t size = strnlen(text, FAIRLEAD_OPTIONS_MAX + 1);

	if (size == 0)
		return refuse(ret_error, -EINVAL,
			      "it is empty; say 'off', or NAME=VALUE[,...]");
	if (size > FAIRLEAD_OPTIONS_MAX)
		return refuse(ret_error, -EINVAL, "it is longer than %d bytes",
			      FAIRLEAD_OPTIONS_MAX);
	for (size_t i = 0; i < size; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return refuse(ret_error, -EINVAL,
				      "there is a byte 0x%02x at offset %zu; "
				      "letters, digits and =,_.:+- are allowed",
				      (unsigned char)text[i], i);
	return 0;
}

int option_check(const char *text, struct fairlead_error *ret_error)
{
	int result = check_bytes(text, ret_error);

	while (result == 0) {
		size_t size = strcspn(text, ",");

		result = check_item(text, size, ret_error);
		if (text[size] == 0)
			break;
		text += size + 1;
	}
	return result;
}

bool option_is_none(const char *text)
{
	static const char *const nones[] = { "off", "vnis=0",
					     INTERCONNECT "=none" };
	size_t size;

	for (;; text += size + 1) {
		size = strcspn(text, ",");
		for (size_t i = 0; i < sizeof(nones) / sizeof(nones[0]); i++)
			if (size == strlen(nones[i]) &&
			    strncmp(text, nones[i], size) == 0)
				return true;
		if (text[size] == 0)
			return false;
	}
}
