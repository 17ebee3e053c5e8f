/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clean-up attribute: a variable marked _auto_(fn) is handed to fn when it
 * leaves its scope. take_ptr() moves a pointer out, so that nothing is freed.
 *
 *	_auto_(freep) char *text = strdup(...);
 *	...
 *	*ret_text = take_ptr(text);
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _auto_(fn) __attribute__((cleanup(fn)))

#define take_ptr(ptr)                   \
	({                              \
		__auto_type _p = (ptr); \
		(ptr) = NULL;           \
		_p;                     \
	})

/* DEFINE_AUTO(struct idset, idset_destroy) makes idset_destroyp. */
#define DEFINE_AUTO(type, destroy)                \
	static inline void destroy##p(type **ptr) \
	{                                         \
		destroy(*ptr);                    \
	}

static inline void freep(void *ptr)
{
	free(*(void **)ptr);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static inline void fclosep(FILE **file)
{
	if (*file)
		fclose(*file);
}
