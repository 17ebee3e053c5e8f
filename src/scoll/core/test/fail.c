/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/core/test/fail.h"

#include <assert.h>
#include <stddef.h>

#include "scoll/core/internal.h"

#define CORES_MAX 1024

static struct {
	const struct scoll_core *core;
	uint64_t left;
} entries[CORES_MAX];
static size_t entry_count;

static uint64_t *left_of(const struct scoll_core *core)
{
	for (size_t i = 0; i < entry_count; i++)
		if (entries[i].core == core)
			return &entries[i].left;
	return NULL;
}

void scoll_core_fail_at(const struct scoll_core *core, uint64_t k)
{
	uint64_t *left = left_of(core);

	if (left == NULL && k > 0) {
		assert(entry_count < CORES_MAX);
		entries[entry_count].core = core;
		left = &entries[entry_count++].left;
	}
	if (left != NULL)
		*left = k;
	while (entry_count > 0 && entries[entry_count - 1].left == 0)
		entry_count--;
}

uint64_t scoll_core_fail_left(const struct scoll_core *core)
{
	const uint64_t *left = left_of(core);

	return left != NULL ? *left : 0;
}

bool scoll_core_fails(const struct scoll_core *core)
{
	uint64_t *left = entry_count > 0 ? left_of(core) : NULL;

	return left != NULL && *left > 0 && --*left == 0;
}
