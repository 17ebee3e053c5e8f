/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the data path: blocks of powers of two, kept in free lists up to
 * POOL_KEPT_MAX bytes for each core, so that a request that is like the ones
 * before it takes nothing from the system. Nothing is taken before the first
 * request.
 */
#include "scoll/core/internal.h"

#include <stdlib.h>
#include <string.h>

#define CLASS_NONE POOL_CLASSES /* too large to be kept */

static size_t class_size(unsigned int class)
{
	return (size_t)1 << (class + POOL_CLASS_MIN);
}

static unsigned int class_of(size_t size)
{
	unsigned int class = 0;

	while (class < POOL_CLASSES && class_size(class) < size)
		class ++;
	return class;
}

void *scoll_core_alloc(struct scoll_core *core, size_t size)
{
	unsigned int class = class_of(size);
	struct pool_block *block;

	if (scoll_core_fails(core))
		return NULL;
	if (class != CLASS_NONE && core->pool[class] != NULL) {
		block = core->pool[class];
		core->pool[class] = block->next;
		core->pool_kept -= class_size(class);
		return block + 1;
	}
	core->stats.allocations++;
	block = malloc(sizeof(*block) +
		       (class != CLASS_NONE ? class_size(class) : size));
	if (block == NULL)
		return NULL;
	block->class = class;
	return block + 1;
}

void *scoll_core_zalloc(struct scoll_core *core, size_t size)
{
	void *block = scoll_core_alloc(core, size);

	if (block != NULL)
		memset(block, 0, size);
	return block;
}

void scoll_core_release(struct scoll_core *core, void *memory)
{
	struct pool_block *block = memory;
	size_t size;

	if (memory == NULL)
		return;
	block--;
	if (block->class == CLASS_NONE) {
		free(block);
		return;
	}
	size = class_size((unsigned int)block->class);
	if (core->pool_kept + size > POOL_KEPT_MAX) {
		free(block);
		return;
	}
	block->next = core->pool[block->class];
	core->pool[block->class] = block;
	core->pool_kept += size;
}

void scoll_core_pool_fini(struct scoll_core *core)
{
	for (unsigned int i = 0; i < POOL_CLASSES; i++) {
		struct pool_block *next, *block = core->pool[i];

		for (; block != NULL; block = next) {
			next = block->next;
			free(block);
		}
		core->pool[i] = NULL;
	}
	core->pool_kept = 0;
}
