/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/plugin/flux/request.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "lanes/plugin/common/job_options.h"
#include "lanes/plugin/flux/names.h"

#define OWN      "fairlead"
#define VNIS_MAX 4

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

static int read_count(const json_t *value, struct lane_request *request,
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
	request->kind = count > 0 ? LANE_REQUEST_LANE : LANE_REQUEST_NONE;
	if (count > 0) {
		strcpy(request->interconnect, "slingshot");
		snprintf(request->options, sizeof(request->options), "vnis=%d",
			 (int)count);
	}
	return 0;
}

static int read_cray(const json_t *value, struct lane_request *request,
		     struct fairlead_error *ret_error)
{
	const char *text = json_string_value(value);
	const char *name;
	json_t *member;

	if (text && strcmp(text, "off") == 0) {
		request->kind = LANE_REQUEST_OFF;
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
	return read_count(json_object_get(value, "vnicount"), request,
			  ret_error);
}

/* --- fairlead --- */

static int read_own(const json_t *value, struct lane_request *request,
		    struct fairlead_error *ret_error)
{
	const char *text = json_string_value(value);
	int result;

	if (!text)
		return error_set(ret_error, -EINVAL,
				 "-o " OWN ": it is no text but %s; say 'off', "
				 "or NAME=VALUE[,...]",
				 type_name(value));
	if (strcmp(text, "off") == 0) {
		request->kind = LANE_REQUEST_OFF;
		return 0;
	}
	result = job_options_split(text, request->interconnect,
				   request->options, ret_error);
	if (result < 0 && ret_error)
		return error_prefix(ret_error, "-o " OWN);
	request->kind =
		job_options_has(text, "vnis=0") ||
				job_options_has(text, "interconnect=none")
			? LANE_REQUEST_NONE
			: LANE_REQUEST_LANE;
	return result;
}

int lane_request_parse(const json_t *options, struct lane_request *ret_request,
		       struct fairlead_error *ret_error)
{
	const json_t *cray = json_object_get(options, NAME_CRAY);
	const json_t *own = json_object_get(options, OWN);
	struct lane_request request = { .kind = LANE_REQUEST_UNSET };
	int result = 0;

	if (cray && own)
		return error_set(ret_error, -EINVAL,
				 "-o " NAME_CRAY " and -o " OWN
				 " are the same: say one of them");
	if (cray)
		result = read_cray(cray, &request, ret_error);
	else if (own)
		result = read_own(own, &request, ret_error);
	if (result == 0)
		*ret_request = request;
	return result;
}
