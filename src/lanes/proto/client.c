/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a client sends is believed in this order: the length, that it is one
 * JSON object without a name that stands twice, the version, the id, the op.
 * An answer can be made from the point where the id is known; before that its
 * id is 0, which no request has.
 */
#include "lanes/proto/client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_text.h"
#include "base/text.h"

#define ERRNO_MAX 4095 /* as the kernel's MAX_ERRNO */

static int no_memory(struct fairlead_error *error)
{
	return error_set(error, -ENOMEM, "out of memory");
}

int client_parse(const void *bytes, size_t size, json_t **ret_object,
		 struct fairlead_error *ret_error)
{
	json_error_t error;
	json_t *value;

	/* jansson passes over a zero byte behind a number. */
	if (size > 0 && memchr(bytes, 0, size) != NULL)
		return error_set(ret_error, -EBADMSG, "not JSON: zero byte");
	value = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
	if (value == NULL &&
	    json_error_code(&error) == json_error_out_of_memory)
		return no_memory(ret_error);
	if (value == NULL)
		return error_set(ret_error, -EBADMSG, "not JSON: %s at byte %d",
				 error.text, error.position);
	if (!json_is_object(value)) {
		json_decref(value);
		return error_set(ret_error, -EBADMSG, "not a JSON object");
	}
	*ret_object = value;
	return 0;
}

int client_encode(const json_t *object, struct writer *writer)
{
	return members_encode(object, CLIENT_FRAME_MAX, writer);
}

int client_encode_stream(const json_t *object, struct writer *writer)
{
	size_t start = writer->size;
	int result;

	write_u32(writer, 0);
	if (writer->result < 0)
		return writer->result;
	result = client_encode(object, writer);
	if (result < 0)
		writer->size = start;
	else
		frame_length(writer->size - start - FRAME_LENGTH_SIZE,
			     writer->data + start);
	return result;
}

json_t *client_request(uint64_t id, const char *op)
{
	return json_pack("{s:i, s:I, s:s}", "v", CLIENT_VERSION, "id",
			 (json_int_t)id, "op", op);
}

uint64_t client_id(const json_t *object)
{
	json_int_t id = json_integer_value(json_object_get(object, "id"));

	return id > 0 ? (uint64_t)id : 0;
}

static int version_check(const json_t *object, struct fairlead_error *error)
{
	const json_t *version = json_object_get(object, "v");

	if (version == NULL)
		return error_set(error, -EINVAL, "member 'v' is missing");
	if (!json_is_integer(version) ||
	    json_integer_value(version) != CLIENT_VERSION)
		return error_set(error, -EPROTONOSUPPORT,
				 "another version than %d is not spoken",
				 CLIENT_VERSION);
	return 0;
}

int client_open(const json_t *object, uint64_t *ret_id, const char **ret_op,
		struct fairlead_error *ret_error)
{
	const char *op;
	int64_t id;
	int result;

	result = version_check(object, ret_error);
	if (result == 0)
		result = members_number(object, "id", MEMBER_REQUIRED, 1,
					CLIENT_ID_MAX, &id, ret_error);
	if (result == 0)
		result = members_text(object, "op", MEMBER_REQUIRED, &op,
				      ret_error);
	if (result < 0)
		return result;
	*ret_id = (uint64_t)id;
	*ret_op = op;
	return 0;
}

int client_members_check(const json_t *object, const char *const *names,
			 struct fairlead_error *ret_error)
{
	static const char *const ours[] = { "v", "id", "op", NULL };
	_auto_(freep) const char **all = NULL;
	size_t count = 0;

	while (names[count] != NULL)
		count++;
	all = calloc(count + sizeof(ours) / sizeof(*ours), sizeof(*all));
	if (all == NULL)
		return no_memory(ret_error);
	memcpy(all, names, count * sizeof(*names));
	memcpy(all + count, ours, sizeof(ours));
	return members_check(object, all, ret_error);
}

json_t *client_answer(uint64_t id)
{
	return json_pack("{s:i, s:I, s:i}", "v", CLIENT_VERSION, "id",
			 (json_int_t)id, "result", 0);
}

/* Set a member to a clean copy of text. */
static int text_set(json_t *object, const char *name, const char *text)
{
	_auto_(freep) char *copy = strdup(text);

	if (copy == NULL)
		return -ENOMEM;
	text_clean(copy);
	return json_object_set_new(object, name, json_string(copy));
}

json_t *client_error(uint64_t id, int code, const char *text, const char *hint)
{
	json_t *answer = client_answer(id);

	if (json_object_set_new(answer, "result", json_integer(code)) < 0 ||
	    text_set(answer, "error", text) < 0 ||
	    (hint != NULL && text_set(answer, "hint", hint) < 0)) {
		json_decref(answer);
		return NULL;
	}
	return answer;
}

int client_answer_encode(uint64_t id, int code, const char *text,
			 const char *hint, const char *warning,
			 const char *members, struct writer *writer)
{
	struct json_text answer = { .writer = *writer };
	size_t start = writer->size;

	json_text_begin(&answer);
	json_text_number(&answer, "v", CLIENT_VERSION);
	json_text_number(&answer, "id", id);
	json_text_signed(&answer, "result", code);
	if (code < 0)
		json_text_string(&answer, "error", text);
	if (code < 0 && hint != NULL)
		json_text_string(&answer, "hint", hint);
	if (warning != NULL)
		json_text_string(&answer, "warning", warning);
	if (members != NULL)
		json_text_members(&answer, members);
	json_text_end(&answer);
	*writer = answer.writer;
	if (writer->result == 0 && writer->size - start <= CLIENT_FRAME_MAX)
		return 0;
	writer->size = start;
	return writer->result < 0 ? writer->result : -EMSGSIZE;
}

int client_answer_open(const json_t *object, struct client_answer *ret_answer,
		       struct fairlead_error *ret_error)
{
	struct client_answer answer = { 0 };
	int64_t id, code;
	int result;

	result = version_check(object, ret_error);
	if (result == 0)
		result = members_number(object, "id", MEMBER_REQUIRED, 0,
					CLIENT_ID_MAX, &id, ret_error);
	if (result == 0)
		result = members_number(object, "result", MEMBER_REQUIRED,
					-ERRNO_MAX, 0, &code, ret_error);
	if (result == 0)
		result = members_text(object, "error",
				      code < 0 ? MEMBER_REQUIRED
					       : MEMBER_OPTIONAL,
				      &answer.text, ret_error);
	if (result == 0)
		result = members_text(object, "hint", MEMBER_OPTIONAL,
				      &answer.hint, ret_error);
	if (result < 0)
		return error_set(ret_error, -EBADMSG, "bad answer");
	answer.id = (uint64_t)id;
	answer.result = (int)code;
	*ret_answer = answer;
	return 0;
}

/*
 * --- members of a JSON object ---
 *
 * Names come from outside and are quoted in errors: cut to a length that a
 * person can read. error_set cleans what it quotes.
 */

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
