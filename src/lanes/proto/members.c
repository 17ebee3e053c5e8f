/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names come from outside and are quoted in errors: cut to a length that a
 * person can read. error_set cleans what it quotes.
 */
#include "lanes/proto/members.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static bool is_among(const char *name, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

int members_check(const json_t *object, const char *const *names,
		  struct fairlead_error *ret_error)
{
	const char *name;
	json_t *value;

	if (!json_is_object(object))
		return error_set(ret_error, -EINVAL, "not a JSON object");
	json_object_foreach ((json_t *)object, name, value)
		if (!is_among(name, names))
			return error_set(ret_error, -EINVAL,
					 "unknown member '%.64s'", name);
	return 0;
}

/* The member, or NULL with 0 when it may be absent. */
static int find(const json_t *object, const char *name, enum members_need need,
		const json_t **ret_value, struct fairlead_error *error)
{
	const json_t *value = json_object_get(object, name);

	if (value == NULL && need == MEMBER_REQUIRED)
		return error_set(error, -EINVAL, "member '%s' is missing",
				 name);
	*ret_value = value;
	return 0;
}

int members_text(const json_t *object, const char *name, enum members_need need,
		 const char **ret_text, struct fairlead_error *ret_error)
{
	const json_t *value = NULL;
	int result = find(object, name, need, &value, ret_error);

	if (result < 0 || value == NULL)
		return result;
	if (!json_is_string(value))
		return error_set(ret_error, -EINVAL,
				 "member '%s' is not a text", name);
	*ret_text = json_string_value(value);
	return 0;
}

int members_number(const json_t *object, const char *name,
		   enum members_need need, int64_t least, int64_t most,
		   int64_t *ret_number, struct fairlead_error *ret_error)
{
	const json_t *value = NULL;
	int result = find(object, name, need, &value, ret_error);
	json_int_t number;

	if (result < 0 || value == NULL)
		return result;
	number = json_integer_value(value);
	if (!json_is_integer(value) || number < least || number > most)
		return error_set(ret_error, -EINVAL,
				 "member '%s' is not a number from %" PRId64
				 " to %" PRId64,
				 name, least, most);
	*ret_number = number;
	return 0;
}

int members_bool(const json_t *object, const char *name, enum members_need need,
		 bool *ret_value, struct fairlead_error *ret_error)
{
	const json_t *value = NULL;
	int result = find(object, name, need, &value, ret_error);

	if (result < 0 || value == NULL)
		return result;
	if (!json_is_boolean(value))
		return error_set(ret_error, -EINVAL,
				 "member '%s' is neither true nor false", name);
	*ret_value = json_is_true(value);
	return 0;
}

static int emit(const char *text, size_t size, void *writer)
{
	write_bytes(writer, text, size);
	return ((struct writer *)writer)->result;
}

int members_encode(const json_t *object, size_t size_max, struct writer *writer)
{
	size_t start = writer->size;
	int result = writer->result;

	if (result == 0 &&
	    json_dump_callback(object, emit, writer, JSON_COMPACT) < 0)
		result = writer->result < 0 ? writer->result : -ENOMEM;
	if (result == 0 && writer->size - start > size_max)
		result = -EMSGSIZE;
	if (result < 0)
		writer->size = start;
	return result;
}
