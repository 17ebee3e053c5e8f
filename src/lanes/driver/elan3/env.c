/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment of a job's tasks: what is the same for all of a node. What is
 * a task's own is set by the task (task.c). FAIRLEAD_RMS_PROGRAM is the number
 * that the job's program description gets, by which a job in a job is known to
 * be in a lane that is still there.
 */
#include "lanes/driver/elan3/node.h"

#include <stdio.h>

#include "lanes/driver/common/number.h"
#include "lanes/driver/elan3/record.h"

#define PROGRAM "FAIRLEAD_RMS_PROGRAM"

static const char *const names[] = { PROGRAM, "RMS_NNODES", "RMS_NPROCS",
				     "RMS_NODEID" };

#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

int elan3_env(void *state, const struct fairlead_lane *lane,
	      const struct fairlead_record *record,
	      void (*emit)(void *arg, const char *name, const char *value),
	      void *arg, struct fairlead_error *ret_error)
{
	struct elan3_share share = { 0 };
	bool has_lane = lane && lane->id_count == ELAN3_ID_COUNT;
	int result =
		has_lane ? elan3_record_decode(record, &share, ret_error) : 0;

	if (result < 0)
		return result;
	has_lane = share.nodes > 0;
	for (size_t i = 0; i < NAME_COUNT; i++) {
		const uint32_t values[NAME_COUNT] = {
			has_lane ? lane->ids[ELAN3_ID_PROGRAM] : 0,
			share.nodes,
			share.processes,
			share.node,
		};
		char text[16];

		snprintf(text, sizeof(text), "%u", values[i]);
		emit(arg, names[i], has_lane ? text : NULL);
	}
	return 0;
}

int elan3_inherit(void *state, uid_t uid,
		  const char *(*get)(void *arg, const char *name), void *arg,
		  struct fairlead_error *ret_error)
{
	const struct elan3_node *node = state;
	const char *text = get(arg, PROGRAM);
	size_t count = 0;
	uint32_t program;
	int result;

	for (size_t i = 0; i < NAME_COUNT; i++)
		count += get(arg, names[i]) != NULL;
	if (count == 0)
		return 0;
	if (count < NAME_COUNT)
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
