/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/fm/daemon/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "emu/fm/daemon/options.h"
#include "sys/daemon_options.h"

static int fault_take(struct softfm_fault *fault, const char *key,
		      const char *value)
{
	uint64_t number = 0;
	int result = -ENOENT;

	if (strcmp(key, "op") == 0)
		return softfm_op_parse(value, &fault->op);
	if (strcmp(key, "nth") == 0)
		return daemon_options_number(value, 1, UINT32_MAX, &fault->nth);
	if (strcmp(key, "count") == 0)
		return daemon_options_number(value, 1, UINT32_MAX,
					     &fault->count);
	if (strcmp(key, "status") == 0) {
		result = daemon_options_number(value, 200, 599, &number);
		fault->status = (unsigned int)number;
	} else if (strcmp(key, "code") == 0) {
		result = daemon_options_number(value, 0, 99, &number);
		fault->code = (unsigned int)number;
	} else if (strcmp(key, "delay") == 0) {
		fault->delay_ms = SOFTFM_FOREVER;
		result = strcmp(value, "forever") == 0
				 ? 0
				 : daemon_options_number(value, 0, UINT32_MAX,
							 &fault->delay_ms);
	} else if (strcmp(key, "lost") == 0) {
		fault->is_lost_before = strcmp(value, "before") == 0;
		fault->is_lost_after = strcmp(value, "after") == 0;
		result = fault->is_lost_before || fault->is_lost_after
				 ? 0
				 : -EINVAL;
	} else if (strcmp(key, "cut") == 0) {
		fault->is_cut = strcmp(value, "yes") == 0;
		result = fault->is_cut ? 0 : -EINVAL;
	}
	return result;
}

static int fault_run(struct softfm *softfm, char *words,
		     struct fairlead_error *ret_error)
{
	struct softfm_fault fault = {
		.op = SOFTFM_OP_NONE,
		.nth = 1,
		.count = 1,
	};
	char *rest = NULL;

	for (char *word = strtok_r(words, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest)) {
		char *value = strchr(word, '=');
		int result;

		if (value == NULL)
			return error_set(ret_error, -EINVAL,
					 "'%s' is not of the form key=value",
					 word);
		*value++ = '\0';
		result = fault_take(&fault, word, value);
		if (result == -ENOENT)
			return error_set(ret_error, -EINVAL, "unknown key '%s'",
					 word);
		if (result < 0)
			return error_set(ret_error, -EINVAL,
					 "'%s' is no value for '%s'", value,
					 word);
	}
	if (fault.op == SOFTFM_OP_NONE)
		return error_set(ret_error, -EINVAL,
				 "fault needs op=any or an operation");
	if (softfm_fault_add(softfm, &fault) < 0)
		return error_set(ret_error, -ENOSPC,
				 "there are %d faults; use clear",
				 SOFTFM_FAULTS_MAX);
	return 0;
}

static int vanish_run(struct softfm *softfm, const char *words,
		      struct fairlead_error *ret_error)
{
	if (strncmp(words, "job=", strlen("job=")) != 0)
		return error_set(ret_error, -EINVAL, "vanish needs job=ID");
	words += strlen("job=");
	if (softfm_vanish(softfm, words) < 0)
		return error_set(ret_error, -ENOENT, "no job '%s'", words);
	return 0;
}

static void dump_run(const struct softfm *softfm, struct writer *output)
{
	json_t *state = softfm_save(softfm);
	_auto_(freep) char *text =
		memory_have(json_dumps(state, JSON_INDENT(2) | JSON_SORT_KEYS));

	json_decref(state);
	write_bytes(output, text, strlen(text));
	write_u8(output, '\n');
}

int softfm_control_run(struct softfm *softfm, const char *command,
		       struct writer *output, struct fairlead_error *ret_error)
{
	_auto_(freep) char *copy = memory_text(command);
	char *words = copy + strcspn(copy, " ");

	if (*words != '\0')
		*words++ = '\0';
	if (strcmp(copy, "fault") == 0)
		return fault_run(softfm, words, ret_error);
	if (strcmp(copy, "vanish") == 0)
		return vanish_run(softfm, words, ret_error);
	if (*words != '\0')
		return error_set(ret_error, -EINVAL,
				 "unknown command '%s', or it takes no "
				 "arguments",
				 copy);
	if (strcmp(copy, "clear") == 0)
		softfm_fault_clear(softfm);
	else if (strcmp(copy, "expire") == 0)
		softfm_expire(softfm);
	else if (strcmp(copy, "dump") == 0)
		dump_run(softfm, output);
	else
		return error_set(ret_error, -EINVAL, "unknown command '%s'",
				 copy);
	return 0;
}
