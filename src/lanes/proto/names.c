/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A key is taken apart at its slashes, and no part can hold another slash, be
 * empty, or be "." or "..", so that SUBMITTER/JOB/ATTEMPT is also a path that
 * stays below its directory. One key has one written form: an attempt has no
 * leading zeros and no sign.
 */
#include "lanes/proto/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DIGITS               "0123456789"
#define LOWER                "abcdefghijklmnopqrstuvwxyz"
#define LETTERS              LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

#define SUBMITTER_CHARACTERS LETTERS DIGITS "_-"
#define JOB_CHARACTERS       LETTERS DIGITS "._:+=@-"
#define DRIVER_CHARACTERS    LOWER DIGITS "_-"

/* Check one part of a key and copy it. */
static int part_take(const char *what, const char *part, size_t size,
		     const char *characters, size_t size_max, char *ret_part,
		     struct fairlead_error *error)
{
	if (size == 0)
		return error_set(error, -EINVAL, "the %s of the key is empty",
				 what);
	if (size > size_max)
		return error_set(error, -EINVAL,
				 "the %s of the key has more than %zu bytes",
				 what, size_max);
	if (strspn(part, characters) < size)
		return error_set(error, -EINVAL,
				 "bad character in the %s of the key '%.*s'",
				 what, (int)size, part);
	memcpy(ret_part, part, size);
	ret_part[size] = 0;
	return 0;
}

static int attempt_parse(const char *text, uint32_t *ret_attempt,
			 struct fairlead_error *error)
{
	size_t size = strspn(text, DIGITS);
	uint64_t number = 0;

	if (size == 0 || text[size] != 0 || size > 10 ||
	    (size > 1 && text[0] == '0'))
		return error_set(error, -EINVAL,
				 "the attempt of the key is not a number: "
				 "'%.16s'",
				 text);
	for (size_t i = 0; i < size; i++)
		number = number * 10 + (uint64_t)(text[i] - '0');
	if (number > UINT32_MAX)
		return error_set(error, -EINVAL,
				 "the attempt of the key is over %" PRIu32
				 ": '%s'",
				 UINT32_MAX, text);
	*ret_attempt = (uint32_t)number;
	return 0;
}

int request_key_parse(const char *text, struct request_key *ret_key,
		      struct fairlead_error *ret_error)
{
	const char *job = strchr(text, '/');
	struct request_key key = { 0 };
	size_t job_size;
	int result;

	if (job == NULL)
		return error_set(ret_error, -EINVAL,
				 "the key is not SUBMITTER/JOB/ATTEMPT: "
				 "'%.64s'",
				 text);
	result = part_take("submitter", text, (size_t)(job - text),
			   SUBMITTER_CHARACTERS, SUBMITTER_MAX, key.submitter,
			   ret_error);
	if (result < 0)
		return result;
	job++;
	job_size = strcspn(job, "/");
	result = part_take("job", job, job_size, JOB_CHARACTERS, JOB_NAME_MAX,
			   key.job, ret_error);
	if (result < 0)
		return result;
	if (strcmp(key.job, ".") == 0 || strcmp(key.job, "..") == 0)
		return error_set(ret_error, -EINVAL,
				 "the job of the key must not be '%s'",
				 key.job);
	if (job[job_size] == '/') {
		key.has_attempt = true;
		result = attempt_parse(job + job_size + 1, &key.attempt,
				       ret_error);
		if (result < 0)
			return result;
	}
	*ret_key = key;
	return 0;
}

void request_key_format(const struct request_key *key,
			char ret_text[REQUEST_KEY_MAX + 1])
{
	snprintf(ret_text, REQUEST_KEY_MAX + 1, "%s/%s/%" PRIu32,
		 key->submitter, key->job, key->attempt);
}

bool name_is_key(const char *text)
{
	struct request_key key;

	return request_key_parse(text, &key, NULL) == 0 && key.has_attempt;
}

bool name_is_driver(const char *text)
{
	size_t size = strspn(text, DRIVER_CHARACTERS);

	return size > 0 && size <= FAIRLEAD_DRIVER_NAME_MAX &&
	       text[size] == 0 && text[0] != '_' && text[0] != '-';
}

bool name_is_node(const char *text)
{
	/* No name holds a comma or a bracket: only one name finds itself. */
	return hostlist_find(text, text) == 0;
}

bool name_is_options(const char *text)
{
	size_t size = 0;

	while (text[size] >= ' ' && text[size] <= '~')
		size++;
	return size <= FAIRLEAD_OPTIONS_MAX && text[size] == 0;
}
