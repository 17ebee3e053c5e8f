/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment of a job's tasks: what is the same for all of a node. What is
 * a task's own is set by the task (task.c). FAIRLEAD_RMS_PROGRAM is the number
 * that the job's program description gets, by which a job in a job is known to
 * be in a lane that is still there.
 */
#include "lanes/driver/elan3/node.h"

#include "lanes/driver/common/options.h"
#include "lanes/driver/common/variables.h"
#include "lanes/driver/elan3/record.h"

#define PROGRAM "FAIRLEAD_RMS_PROGRAM"

int elan3_env(void *state, const struct fairlead_lane *lane,
	      const struct fairlead_record *record,
	      void (*emit)(void *arg, const char *name, const char *value),
	      void *arg, struct fairlead_error *ret_error)
{
	return variables_env(elan3_variables, lane, record, emit, arg,
			     ret_error);
}

int elan3_inherit(void *state, uid_t uid,
		  const char *(*get)(void *arg, const char *name), void *arg,
		  struct fairlead_error *ret_error)
{
	const struct elan3_node *node = state;
	const char *text = get(arg, PROGRAM);
	size_t count = 0, all = 0;
	uint32_t program;
	int result;

	for (; elan3_variables[all]; all++)
		count += get(arg, elan3_variables[all]) != NULL;
	if (count == 0)
		return 0;
	if (count < all)
		return error_set(ret_error, -ENODEV,
				 "only some of " PROGRAM ", RMS_NNODES, "
				 "RMS_NPROCS and RMS_NODEID are inherited");
	if (!number_parse(text, 1, ELAN3_PROGRAM_LIMIT - 1, &program))
		return error_set(ret_error, -ENODEV,
				 "inherited " PROGRAM "='%.100s' is no program",
				 text);
	result = rms_client_deposit_is(node->dir, program, uid);
	if (result == -ENOENT)
		return error_set(ret_error, -ENODEV,
				 "inherited program %u has no capability for "
				 "uid %u on this node",
				 program, uid);
	if (result < 0)
		elan3_fail(node, result, ret_error, "inherited program %u",
			   program);
	return result < 0 ? error_set(ret_error, -ENODEV, "%s", ret_error->text)
			  : 0;
}
