/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The linker sends each allocation here (--wrap), since no program can be
 * handed another heap. The countdown is the one mutable global of the tests.
 */
#include "sim/heap.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
char *__wrap_strdup(const char *text);

static unsigned int countdown;

static bool is_out(void)
{
	if (countdown == 0 || --countdown > 0)
		return false;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return is_out() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return is_out() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
	return is_out() ? NULL : __real_realloc(ptr, size);
}

char *__wrap_strdup(const char *text)
{
	return is_out() ? NULL : __real_strdup(text);
}

bool sim_heap_fails(unsigned int n, int *ret_result, int (*run)(void *ctx),
		    void *ctx)
{
	bool failed;

	assert(n > 0 && countdown == 0);
	countdown = n;
	*ret_result = run(ctx);
	failed = countdown == 0;
	countdown = 0;
	return failed;
}
