/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Nothing here may need memory. */
void memory_end(void)
{
	static const char text[] = ": out of memory\n";
	const char *name = program_invocation_short_name;
	struct iovec parts[] = {
		{ (char *)name, strlen(name) },
		{ (char *)text, sizeof(text) - 1 },
	};

	/* Where nobody reads it, the exit code is left. */
	ssize_t written = writev(STDERR_FILENO, parts, 2);

	(void)written;
	_exit(EXIT_FAILURE);
}

void *memory_array(size_t count, size_t size)
{
	return memory_have(
		calloc(count != 0 ? count : 1, size != 0 ? size : 1));
}

void *memory_alloc(size_t size)
{
	return memory_array(1, size);
}

void *memory_resize(void *ptr, size_t count, size_t size)
{
	return memory_have(reallocarray(ptr, count != 0 ? count : 1,
					size != 0 ? size : 1));
}

void *memory_copy(const void *data, size_t size)
{
	void *copy = memory_have(malloc(size != 0 ? size : 1));

	return size != 0 ? memcpy(copy, data, size) : copy;
}

char *memory_text(const char *text)
{
	return memory_have(strdup(text));
}

char *memory_format(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		memory_end();
	va_end(args);
	return text;
}
