/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/plugin/flux/blame.h"

#include <errno.h>

static json_int_t code_of(const json_t *failure)
{
	return json_integer_value(json_object_get(failure, "errno"));
}

json_t *blame_create(const json_t *failures)
{
	json_t *blamed = json_array();
	json_t *failure;
	size_t i;

	json_array_foreach ((json_t *)failures, i, failure) {
		if (code_of(failure) == -ENOSPC || code_of(failure) == -ESTALE)
			continue;
		if (json_array_append(blamed, failure) < 0) {
			json_decref(blamed);
			return NULL;
		}
	}
	return blamed;
}

static size_t count_unreached(const json_t *blamed)
{
	const json_t *failure;
	size_t count = 0;
	size_t i;

	json_array_foreach ((json_t *)blamed, i, failure)
		count += code_of(failure) == -EHOSTUNREACH;
	return count;
}

bool blame_has_unreached(const json_t *blamed)
{
	return count_unreached(blamed) > 0;
}

bool blame_is_unreached(const json_t *blamed)
{
	size_t count = count_unreached(blamed);

	return count > 0 && count == json_array_size(blamed);
}

void blame_remove_unreached(json_t *blamed)
{
	for (size_t i = json_array_size(blamed); i-- > 0;)
		if (code_of(json_array_get(blamed, i)) == -EHOSTUNREACH)
			json_array_remove(blamed, i);
}
