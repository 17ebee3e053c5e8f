/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/level.h"

#include <string.h>

#define LEVEL_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789+-"
#define UNUSABLE         "unusable"

bool level_read(const struct registration_driver *told,
		struct manager_level *ret_level)
{
	const char *name = told->detail + strlen(FAIRLEAD_SUMMARY_LEVEL);
	size_t size = strlen(UNUSABLE);

	if (!told->is_usable) {
		name = UNUSABLE;
	} else {
		if (strncmp(told->detail, FAIRLEAD_SUMMARY_LEVEL,
			    strlen(FAIRLEAD_SUMMARY_LEVEL)) != 0)
			return false;
		size = strspn(name, LEVEL_CHARACTERS);
	}
	if (size == 0 || size > LEVEL_MAX)
		return false;
	*ret_level = (struct manager_level){ 0 };
	strcpy(ret_level->driver, told->name);
	memcpy(ret_level->name, name, size);
	return true;
}

void level_count(json_t *counts, const struct manager_level *level,
		 bool is_more)
{
	json_t *of_driver = json_object_get(counts, level->driver);
	json_int_t count;

	if (of_driver == NULL) {
		of_driver = json_object();
		json_object_set_new(counts, level->driver, of_driver);
	}
	count = json_integer_value(json_object_get(of_driver, level->name));
	count += is_more ? 1 : -1;
	if (count > 0)
		json_object_set_new(of_driver, level->name,
				    json_integer(count));
	else
		json_object_del(of_driver, level->name);
	if (json_object_size(of_driver) == 0)
		json_object_del(counts, level->driver);
}
