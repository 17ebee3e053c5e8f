/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for daemons and commands. There is always some: without it the
 * process ends at once, with a line on stderr and exit code 1. That is one
 * more way to be killed, and any process may be killed at any instruction.
 *
 * Libraries that live in other programs (libfairlead, libscoll, the link
 * provider, librms, libcxi) must not use this; they return -ENOMEM.
 */
#pragma once

#include <errno.h>
#include <stddef.h>

/* Print "<program>: out of memory" and end the process. */
__attribute__((noreturn, cold)) void memory_end(void);

/* Zeroed. The caller frees it with free(). Never NULL, also for size 0. */
__attribute__((malloc, returns_nonnull, warn_unused_result)) void *memory_alloc(
	size_t size);
/* As memory_alloc, for `count` items; ends the process on overflow. */
__attribute__((malloc, returns_nonnull, warn_unused_result)) void *memory_array(
	size_t count, size_t size);
/* As reallocarray(); what is new is not zeroed. */
__attribute__((returns_nonnull, warn_unused_result)) void *memory_resize(
	void *ptr, size_t count, size_t size);
/* As malloc() and memcpy(). */
__attribute__((malloc, returns_nonnull, warn_unused_result)) void *memory_copy(
	const void *data, size_t size);
/* As strdup(). */
__attribute__((malloc, returns_nonnull, warn_unused_result)) char *memory_text(
	const char *text);
/* As asprintf(). */
__attribute__((malloc, returns_nonnull, warn_unused_result,
	       format(printf, 1, 2))) char *
memory_format(const char *format, ...);

/*
 * For functions that a library also uses, and that say when there is none:
 * a pointer that must be there, a result that must not be -ENOMEM.
 */
#define memory_have(ptr)                \
	({                              \
		__auto_type _m = (ptr); \
		if (_m == NULL)         \
			memory_end();   \
		_m;                     \
	})

static inline int memory_check(int result)
{
	if (result == -ENOMEM)
		memory_end();
	return result;
}

static inline char *memory_text_or_null(const char *text)
{
	return text == NULL ? NULL : memory_text(text);
}

/* After each HASH_ADD (base/hash.h): uthash asks for memory of its own. */
#define memory_added(handle, element) memory_have((element)->handle.tbl)

/* The capacity to grow to when `count` elements are full. */
static inline size_t memory_more(size_t count)
{
	return count < 4 ? 4 : count + count / 2;
}
