/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/fm/core/model.h"

#include <string.h>

static const char *const names[] = {
	[SOFTFM_OP_TOKEN] = "token",   [SOFTFM_OP_LIST] = "list",
	[SOFTFM_OP_CREATE] = "create", [SOFTFM_OP_GET] = "get",
	[SOFTFM_OP_PATCH] = "patch",   [SOFTFM_OP_DELETE] = "delete",
	[SOFTFM_OP_TREE] = "tree",     [SOFTFM_OP_UNTREE] = "untree",
	[SOFTFM_OP_NONE] = "none",     [SOFTFM_OP_ANY] = "any",
};

const char *softfm_op_format(enum softfm_op op)
{
	return names[op];
}

int softfm_op_parse(const char *text, enum softfm_op *ret_op)
{
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret_op = i;
			return 0;
		}
	}
	return -EINVAL;
}

int softfm_fault_add(struct softfm *softfm, const struct softfm_fault *fault)
{
	if (softfm->fault_count == SOFTFM_FAULTS_MAX)
		return -ENOSPC;
	softfm->fault_calls[softfm->fault_count] = 0;
	softfm->faults[softfm->fault_count++] = *fault;
	return 0;
}

void softfm_fault_clear(struct softfm *softfm)
{
	softfm->fault_count = 0;
}

const struct softfm_fault *softfm_fault_take(struct softfm *softfm,
					     enum softfm_op op)
{
	const struct softfm_fault *due = NULL;

	for (size_t i = 0; i < softfm->fault_count; i++) {
		const struct softfm_fault *fault = &softfm->faults[i];
		uint64_t call;

		if (fault->op != SOFTFM_OP_ANY && fault->op != op)
			continue;
		call = ++softfm->fault_calls[i];
		if (due == NULL && call >= fault->nth &&
		    call - fault->nth < fault->count)
			due = fault;
	}
	return due;
}
