/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control commands: "verb key=value ...", one table of verbs with the keys
 * that each must and may have, and one function a verb.
 */
#include "emu/cxi/daemon/dispatch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

#define KEY_COUNT        (1u << 0)
#define KEY_ERRNO        (1u << 1)
#define KEY_MS           (1u << 2)
#define KEY_NIC          (1u << 3)
#define KEY_NTH          (1u << 4)
#define KEY_OP           (1u << 5)
#define KEY_SVC          (1u << 6)
#define KEY_TYPE         (1u << 7)

#define ERRNO_NAME_LIMIT 256

struct softnic_arguments {
	unsigned int keys; /* those that were given */
	int64_t count;
	int error;
	uint64_t ms;
	uint32_t nic;
	uint32_t svc;
	uint64_t nth;
	enum softnic_op op;
	enum cxi_rsrc_type type;
};

static int parse_number(const char *text, int64_t min, int64_t max,
			int64_t *ret_number)
{
	int64_t number;
	char *end;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || number < min ||
	    number > max)
		return -EINVAL;
	*ret_number = number;
	return 0;
}

static int parse_errno(const char *text, int *ret_error)
{
	for (int i = 1; i < ERRNO_NAME_LIMIT; i++) {
		const char *name = strerrorname_np(i);

		if (name != NULL && strcmp(name, text) == 0) {
			*ret_error = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_ms(const char *text, uint64_t *ret_ms)
{
	int64_t ms = 0;
	int result = 0;

	if (strcmp(text, "forever") == 0)
		*ret_ms = SOFTNIC_FOREVER;
	else if (strcmp(text, "release") == 0)
		*ret_ms = 0;
	else if ((result = parse_number(text, 0, INT64_MAX, &ms)) == 0)
		*ret_ms = (uint64_t)ms;
	return result;
}

static int parse_value(struct softnic_arguments *arguments, unsigned int key,
		       const char *value)
{
	int64_t number = 0;
	int result = 0;

	switch (key) {
	case KEY_COUNT:
		return parse_number(value, -UINT16_MAX, INT32_MAX,
				    &arguments->count);
	case KEY_ERRNO:
		return parse_errno(value, &arguments->error);
	case KEY_MS:
		return parse_ms(value, &arguments->ms);
	case KEY_NIC:
		result = parse_number(value, 0, SOFTNIC_NIC_MAX - 1, &number);
		arguments->nic = (uint32_t)number;
		return result;
	case KEY_NTH:
		result = parse_number(value, 1, INT64_MAX, &number);
		arguments->nth = (uint64_t)number;
		return result;
	case KEY_OP:
		return softnic_op_parse(value, &arguments->op);
	case KEY_SVC:
		result = parse_number(value, 1, UINT32_MAX, &number);
		arguments->svc = (uint32_t)number;
		return result;
	case KEY_TYPE:
		return softnic_type_parse(value, &arguments->type);
	}
	return -EINVAL;
}

static unsigned int find_key(const char *name)
{
	static const struct {
		const char *name;
		unsigned int key;
	} keys[] = {
		{ "count", KEY_COUNT }, { "errno", KEY_ERRNO },
		{ "ms", KEY_MS },       { "nic", KEY_NIC },
		{ "nth", KEY_NTH },     { "op", KEY_OP },
		{ "svc", KEY_SVC },     { "type", KEY_TYPE },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].name, name) == 0)
			return keys[i].key;
	}
	return 0;
}

/* word: changed. */
static int parse_word(struct softnic_arguments *arguments, char *word,
		      struct fairlead_error *ret_error)
{
	char *value = strchr(word, '=');
	unsigned int key;

	if (value == NULL)
		return error_set(ret_error, -EINVAL,
				 "'%s' is not of the form key=value", word);
	*value++ = '\0';
	key = find_key(word);
	if (key == 0)
		return error_set(ret_error, -EINVAL, "unknown key '%s'", word);
	if (arguments->keys & key)
		return error_set(ret_error, -EINVAL, "'%s' is given twice",
				 word);
	arguments->keys |= key;
	if (parse_value(arguments, key, value) < 0)
		return error_set(ret_error, -EINVAL,
				 "'%s' is no value for '%s'", value, word);
	return 0;
}

static int run_fault(struct softnic_session *session,
		     const struct softnic_arguments *arguments,
		     struct writer *body)
{
	struct softnic_fault fault = {
		.op = arguments->op,
		.nic = arguments->keys & KEY_NIC ? arguments->nic
						 : SOFTNIC_ANY_NIC,
		.error = arguments->error,
		.nth = arguments->keys & KEY_NTH ? arguments->nth : 1,
		.count = 1,
	};

	if (arguments->keys & KEY_COUNT) {
		if (arguments->count < 1)
			return -EINVAL;
		fault.count = (uint64_t)arguments->count;
	}
	return softnic_fault_add(session->softnic, &fault);
}

static int run_clear(struct softnic_session *session,
		     const struct softnic_arguments *arguments,
		     struct writer *body)
{
	softnic_fault_clear(session->softnic);
	return 0;
}

static int run_busy(struct softnic_session *session,
		    const struct softnic_arguments *arguments,
		    struct writer *body)
{
	return softnic_service_busy(session->softnic, arguments->nic,
				    arguments->svc, arguments->ms);
}

static int run_use(struct softnic_session *session,
		   const struct softnic_arguments *arguments,
		   struct writer *body)
{
	if (arguments->count > UINT16_MAX)
		return -ENOSPC;
	return softnic_service_consume(session->softnic, arguments->nic,
				       arguments->svc, arguments->type,
				       (int32_t)arguments->count);
}

static int run_remove(struct softnic_session *session,
		      const struct softnic_arguments *arguments,
		      struct writer *body)
{
	int result;

	result = softnic_nic_remove(session->softnic, arguments->nic);
	if (result == 0)
		result = session->control->nic_changed(session->control_ctx,
						       arguments->nic);
	return result;
}

static int run_restore(struct softnic_session *session,
		       const struct softnic_arguments *arguments,
		       struct writer *body)
{
	int result;

	result = softnic_nic_restore(session->softnic, arguments->nic);
	if (result == 0)
		result = session->control->nic_changed(session->control_ctx,
						       arguments->nic);
	return result;
}

static int run_reboot(struct softnic_session *session,
		      const struct softnic_arguments *arguments,
		      struct writer *body)
{
	char boot_id[BOOT_ID_SIZE];
	int result;

	result = session->control->reboot(session->control_ctx, boot_id);
	if (result < 0)
		return result;
	write_bytes(body, boot_id, strlen(boot_id));
	write_u8(body, '\n');
	return 0;
}

static int run_dump(struct softnic_session *session,
		    const struct softnic_arguments *arguments,
		    struct writer *body)
{
	json_t *object = softnic_dump(session->softnic);
	_auto_(freep) char *text = NULL;

	json_object_set_new(
		object, "boot_id",
		json_string(session->control->boot_id(session->control_ctx)));
	text = memory_have(json_dumps(object, JSON_INDENT(2)));
	json_decref(object);
	write_bytes(body, text, strlen(text));
	write_u8(body, '\n');
	return 0;
}

struct softnic_command {
	const char *verb;
	unsigned int required;
	unsigned int optional;
	int (*run)(struct softnic_session *session,
		   const struct softnic_arguments *arguments,
		   struct writer *body);
};

static const struct softnic_command commands[] = {
	{ "busy", KEY_SVC | KEY_NIC | KEY_MS, 0, run_busy },
	{ "clear", 0, 0, run_clear },
	{ "dump", 0, 0, run_dump },
	{ "fault", KEY_ERRNO | KEY_OP, KEY_NTH | KEY_NIC | KEY_COUNT,
	  run_fault },
	{ "reboot", 0, 0, run_reboot },
	{ "remove", KEY_NIC, 0, run_remove },
	{ "restore", KEY_NIC, 0, run_restore },
	{ "use", KEY_SVC | KEY_NIC | KEY_TYPE | KEY_COUNT, 0, run_use },
};

static const struct softnic_command *find_command(const char *verb)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].verb, verb) == 0)
			return &commands[i];
	}
	return NULL;
}

static int check_keys(const struct softnic_command *command, unsigned int keys,
		      struct fairlead_error *ret_error)
{
	if (keys & ~(command->required | command->optional))
		return error_set(ret_error, -EINVAL,
				 "'%s' does not take all of these keys",
				 command->verb);
	if (command->required & ~keys)
		return error_set(ret_error, -EINVAL, "'%s' needs more keys",
				 command->verb);
	return 0;
}

int control_run(struct softnic_session *session, const char *text,
		struct writer *body, struct fairlead_error *ret_error)
{
	struct softnic_arguments arguments = { 0 };
	const struct softnic_command *command;
	char copy[WIRE_TEXT_MAX + 1];
	char *rest = NULL;
	const char *verb;
	int result;

	snprintf(copy, sizeof(copy), "%s", text);
	verb = strtok_r(copy, " ", &rest);
	command = verb != NULL ? find_command(verb) : NULL;
	if (command == NULL)
		return error_set(ret_error, -EINVAL, "unknown command '%s'",
				 verb != NULL ? verb : "");
	for (char *word = strtok_r(NULL, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest)) {
		result = parse_word(&arguments, word, ret_error);
		if (result < 0)
			return result;
	}
	result = check_keys(command, arguments.keys, ret_error);
	if (result < 0)
		return result;
	result = command->run(session, &arguments, body);
	if (result < 0)
		return error_set(ret_error, result, "%s: %s", command->verb,
				 strerror(-result));
	return 0;
}
