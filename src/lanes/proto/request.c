/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members are read in a fixed order and the first one that is wrong is named.
 * Lists are expanded, and written again in their shortest form, so that what
 * goes on from here (journal, APPLY, grant) has one form, and its size is
 * known to fit.
 *
 * The digest is over the expanded values: u32 counts and numbers, and texts
 * with their lengths, little-endian, in the order that request_digest has.
 */
#include "lanes/proto/request.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/runs.h"
#include "lanes/proto/client.h"
#include "lanes/proto/message.h"

#define DIGEST_DOMAIN     "fairlead request"
#define CPUS_PER_TASK_MAX RUNS_VALUE_MAX
#define ID_MAX            (UINT32_MAX - 1) /* (uid_t)-1 is nobody's */

static const char *const member_names[] = {
	"key",   "uid",           "gid",          "nodes",   "cores",
	"tasks", "cpus_per_task", "interconnect", "options", NULL,
};

static int no_memory(struct fairlead_error *error)
{
	return error_set(error, -ENOMEM, "out of memory");
}

static int key_read(const json_t *json, struct request *request,
		    struct fairlead_error *error)
{
	const char *text;
	int result = members_text(json, "key", MEMBER_REQUIRED, &text, error);

	if (result == 0)
		result = request_key_parse(text, &request->key, error);
	if (result == 0) {
		request->key.has_attempt = true;
		request_key_format(&request->key, request->key_text);
	}
	return result;
}

static int numbers_read(const json_t *json, struct request *request,
			struct fairlead_error *error)
{
	int64_t uid, gid, cpus = 1;
	int result;

	result = members_number(json, "uid", MEMBER_REQUIRED, 0, ID_MAX, &uid,
				error);
	if (result == 0)
		result = members_number(json, "gid", MEMBER_REQUIRED, 0, ID_MAX,
					&gid, error);
	if (result == 0)
		result = members_number(json, "cpus_per_task", MEMBER_OPTIONAL,
					1, CPUS_PER_TASK_MAX, &cpus, error);
	if (result < 0)
		return result;
	request->uid = (uint32_t)uid;
	request->gid = (uint32_t)gid;
	request->cpus_per_task = (uint32_t)cpus;
	return 0;
}

static int nodes_read(const json_t *json, struct request *request,
		      struct fairlead_error *error)
{
	const char *text;
	int result = members_text(json, "nodes", MEMBER_REQUIRED, &text, error);

	if (result == 0)
		result = hostlist_parse(text, &request->nodes, error);
	if (result < 0)
		return result;
	result = hostlist_duplicate(request->nodes);
	if (result >= 0)
		return error_set(error, -EINVAL,
				 "node '%s' stands twice in 'nodes'",
				 request->nodes->names[result]);
	if (result != -ENOENT)
		return no_memory(error);
	request->nodes_text =
		hostlist_format((const char *const *)request->nodes->names,
				request->nodes->count);
	if (request->nodes_text == NULL)
		return no_memory(error);
	if (strlen(request->nodes_text) > NODES_TEXT_MAX)
		return error_set(error, -E2BIG,
				 "'nodes' has more than %d bytes in its "
				 "shortest form",
				 NODES_TEXT_MAX);
	return 0;
}

/* A number, or a run-length list, of at least 1 a node. */
static int counts_read(const json_t *json, const char *name, size_t count,
		       uint32_t **ret_values, char **ret_text,
		       struct fairlead_error *error)
{
	const json_t *value = json_object_get(json, name);
	int64_t number = 1;
	const char *text = NULL;
	char digits[8];
	int result;

	if (json_is_string(value)) {
		text = json_string_value(value);
	} else {
		result = members_number(json, name, MEMBER_OPTIONAL, 1,
					RUNS_VALUE_MAX, &number, error);
		if (result < 0)
			return result;
		snprintf(digits, sizeof(digits), "%" PRId64, number);
		text = digits;
	}
	result = runs_parse(text, count, ret_values, error);
	if (result < 0 && error != NULL)
		error_prefix(error, "member '%s'", name);
	if (result < 0)
		return result;
	for (size_t i = 0; i < count; i++)
		if ((*ret_values)[i] == 0)
			return error_set(error, -EINVAL,
					 "member '%s' has a node with 0", name);
	*ret_text = runs_format(*ret_values, count);
	if (*ret_text == NULL)
		return no_memory(error);
	if (strlen(*ret_text) > RUNS_TEXT_MAX)
		return error_set(error, -E2BIG,
				 "'%s' has more than %d bytes in its shortest "
				 "form",
				 name, RUNS_TEXT_MAX);
	return 0;
}

static int driver_read(const json_t *json, const char *interconnect,
		       struct request *request, struct fairlead_error *error)
{
	const char *options = "";
	int result;

	result = members_text(json, "interconnect", MEMBER_OPTIONAL,
			      &interconnect, error);
	if (result == 0)
		result = members_text(json, "options", MEMBER_OPTIONAL,
				      &options, error);
	if (result < 0)
		return result;
	if (!name_is_driver(interconnect))
		return error_set(error, -EINVAL,
				 "'%.32s' is not the name of an interconnect",
				 interconnect);
	if (strlen(options) > FAIRLEAD_OPTIONS_MAX)
		return error_set(error, -E2BIG,
				 "'options' has more than %d bytes",
				 FAIRLEAD_OPTIONS_MAX);
	if (!name_is_options(options))
		return error_set(error, -EINVAL,
				 "'options' is not printable ASCII");
	strcpy(request->interconnect, interconnect);
	strcpy(request->options, options);
	return 0;
}

int request_parse_json(const json_t *json, const char *interconnect,
		       struct request **ret_request,
		       struct fairlead_error *ret_error)
{
	_auto_(request_destroyp) struct request *request =
		calloc(1, sizeof(*request));
	int result;

	if (request == NULL)
		return no_memory(ret_error);
	result = members_check(json, member_names, ret_error);
	if (result == 0)
		result = key_read(json, request, ret_error);
	if (result == 0)
		result = numbers_read(json, request, ret_error);
	if (result == 0)
		result = nodes_read(json, request, ret_error);
	if (result == 0)
		result = counts_read(json, "cores", request->nodes->count,
				     &request->cores, &request->cores_text,
				     ret_error);
	if (result == 0)
		result = counts_read(json, "tasks", request->nodes->count,
				     &request->tasks, &request->tasks_text,
				     ret_error);
	if (result == 0)
		result = driver_read(json, interconnect, request, ret_error);
	if (result < 0)
		return result;
	*ret_request = take_ptr(request);
	return 0;
}

void request_destroy(struct request *request)
{
	if (request == NULL)
		return;
	hostlist_destroy(request->nodes);
	free(request->cores);
	free(request->tasks);
	free(request->nodes_text);
	free(request->cores_text);
	free(request->tasks_text);
	free(request);
}

static void digest_number(crypto_generichash_state *state, uint32_t number)
{
	uint8_t bytes[4];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
	crypto_generichash_update(state, bytes, sizeof(bytes));
}

static void digest_text(crypto_generichash_state *state, const char *text)
{
	size_t size = strlen(text);

	digest_number(state, (uint32_t)size);
	crypto_generichash_update(state, (const uint8_t *)text, size);
}

void request_digest(const struct request *request,
		    uint8_t ret_digest[REQUEST_DIGEST_SIZE])
{
	crypto_generichash_state state;

	crypto_generichash_init(&state, NULL, 0, REQUEST_DIGEST_SIZE);
	crypto_generichash_update(&state, (const uint8_t *)DIGEST_DOMAIN,
				  strlen(DIGEST_DOMAIN));
	digest_text(&state, request->key_text);
	digest_number(&state, request->uid);
	digest_number(&state, request->gid);
	digest_number(&state, (uint32_t)request->nodes->count);
	for (size_t i = 0; i < request->nodes->count; i++) {
		digest_text(&state, request->nodes->names[i]);
		digest_number(&state, request->cores[i]);
		digest_number(&state, request->tasks[i]);
	}
	digest_number(&state, request->cpus_per_task);
	digest_text(&state, request->interconnect);
	digest_text(&state, request->options);
	crypto_generichash_final(&state, ret_digest, REQUEST_DIGEST_SIZE);
}
