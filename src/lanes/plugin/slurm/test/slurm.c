/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lanes/plugin/slurm/test/slurm.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct spank_handle *fake;

void fake_begin(spank_context_t context)
{
	if (!fake)
		fake = mmap(NULL, sizeof(*fake), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert(fake != MAP_FAILED);
	*fake = (struct spank_handle){ .context = context };
}

const struct fake_variable *fake_variable(const char *name)
{
	for (int i = fake->variable_count - 1; i >= 0; i--)
		if (strcmp(fake->variables[i].name, name) == 0)
			return &fake->variables[i];
	return NULL;
}

static void change(const char *name, const char *value)
{
	struct fake_variable *variable = &fake->variables[fake->variable_count];

	assert(fake->variable_count < FAKE_VARIABLES_MAX);
	fake->variable_count++;
	snprintf(variable->name, sizeof(variable->name), "%s", name);
	snprintf(variable->value, sizeof(variable->value), "%s",
		 value ? value : "");
	variable->is_set = value != NULL;
}

static void say(const char *prefix, const char *format, va_list args)
{
	size_t used = strlen(fake->said);

	used += (size_t)snprintf(fake->said + used, FAKE_TEXT_MAX - used, "%s",
				 prefix);
	used += (size_t)vsnprintf(fake->said + used, FAKE_TEXT_MAX - used,
				  format, args);
	snprintf(fake->said + used, FAKE_TEXT_MAX - used, "\n");
}

#pragma GCC visibility push(default)

spank_context_t spank_context(void)
{
	return fake->context;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
	assert(spank == fake);
	fake->call_count++;
	fake->option = *option;
	return fake->fail_register;
}

spank_err_t spank_job_control_setenv(spank_t spank, const char *name,
				     const char *value, int overwrite)
{
	assert(spank == fake && overwrite && strcmp(name, "FAIRLEAD") == 0);
	fake->call_count++;
	if (fake->fail_control == ESPANK_SUCCESS)
		snprintf(fake->control, sizeof(fake->control), "%s", value);
	return fake->fail_control;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
	va_list args;

	assert(spank == fake);
	fake->call_count++;
	if (fake->fail_item != ESPANK_SUCCESS)
		return fake->fail_item;
	va_start(args, item);
	switch (item) {
	case S_JOB_ID:
		*va_arg(args, uint32_t *) = fake->job_id;
		break;
	case S_JOB_UID:
		*va_arg(args, uid_t *) = fake->uid;
		break;
	case S_JOB_STEPID:
		if (fake->fail_step != ESPANK_SUCCESS) {
			va_end(args);
			return fake->fail_step;
		}
		*va_arg(args, uint32_t *) = fake->step_id;
		break;
	case S_JOB_NODEID:
		*va_arg(args, uint32_t *) = fake->node;
		break;
	case S_TASK_ID:
		*va_arg(args, int *) = fake->task;
		break;
	default:
		assert(!"an item that the plugin has no use for");
	}
	va_end(args);
	return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buffer,
			 int size)
{
	const struct fake_variable *variable = fake_variable(name);
	const char *text =
		variable && variable->is_set ? variable->value : NULL;

	assert(spank == fake);
	fake->call_count++;
	if (strcmp(name, "SLURM_JOB_ID") == 0)
		text = fake->job_id_text;
	if (!text)
		return ESPANK_ENV_NOEXIST;
	return snprintf(buffer, (size_t)size, "%s", text) < size
		       ? ESPANK_SUCCESS
		       : ESPANK_NOSPACE;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value,
			 int overwrite)
{
	assert(spank == fake && overwrite);
	fake->call_count++;
	if (fake->fail_setenv == ESPANK_SUCCESS)
		change(name, value);
	return fake->fail_setenv;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
	assert(spank == fake);
	fake->call_count++;
	change(name, NULL);
	return ESPANK_SUCCESS;
}

const char *spank_strerror(spank_err_t code)
{
	return code == ESPANK_SUCCESS ? "Success" : "Some error of Slurm's";
}

void slurm_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("error: ", format, args);
	va_end(args);
}

void slurm_spank_log(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("", format, args);
	va_end(args);
}

#pragma GCC visibility pop
