/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For LD_PRELOAD: counts how often a process asks for memory, whoever in it
 * does. The process finds the counter by name.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

EXPORT uint64_t bench_allocations;

static void count(void)
{
	__atomic_add_fetch(&bench_allocations, 1, __ATOMIC_RELAXED);
}

EXPORT void *malloc(size_t size)
{
	count();
	return __libc_malloc(size);
}

EXPORT void *calloc(size_t number, size_t size)
{
	count();
	return __libc_calloc(number, size);
}

EXPORT void *realloc(void *memory, size_t size)
{
	count();
	return __libc_realloc(memory, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	count();
	return __libc_memalign(alignment, size);
}

EXPORT int posix_memalign(void **ret_memory, size_t alignment, size_t size)
{
	void *memory;

	count();
	memory = __libc_memalign(alignment, size);
	if (memory == NULL)
		return ENOMEM;
	*ret_memory = memory;
	return 0;
}
