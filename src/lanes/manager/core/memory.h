/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocation in the core. An event is decided whole or not at all, and the
 * journal has all that counts: when memory is out the process ends and starts
 * again, rather than to go on with half a decision.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline void *memory_check(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

/* count elements of size bytes, all zero; never NULL. */
/* After each HASH_ADD: uthash asks for memory of its own. */
#define memory_added(handle, element) memory_check((element)->handle.tbl)

static inline void *memory_zero(size_t count, size_t size)
{
	return memory_check(calloc(count > 0 ? count : 1, size));
}

static inline void *memory_resize(void *memory, size_t count, size_t size)
{
	return memory_check(reallocarray(memory, count > 0 ? count : 1, size));
}

/* NULL is copied as NULL. */
static inline char *memory_text(const char *text)
{
	return text == NULL ? NULL : memory_check(strdup(text));
}

/* The capacity to grow to when `count` elements are full. */
static inline size_t memory_more(size_t count)
{
	return count < 4 ? 4 : count + count / 2;
}
