/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One line a function: its pointer in the table, and the function of that name
 * that calls it.
 *
 * The environment of a daemon is whoever's that started it. Of libfabric's
 * variables each may change which provider there is, its buffers or where it
 * listens, against the configuration: they go, but for those of its log. Of
 * psm, which comes with it, handling SIGSEGV and the like is turned off.
 */
#include "fairleadd/library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "scoll.h"

#define LIBRARY "libscoll.so.0"

#define FUNCTIONS(F)                                                   \
	F(int, scoll_init,                                             \
	  (const struct scoll_params *params, scoll_t **ret_scoll,     \
	   struct fairlead_error *ret_error),                          \
	  (params, ret_scoll, ret_error))                              \
	F(void, scoll_fini, (scoll_t * scoll), (scoll))                \
	F(int, scoll_progress, (scoll_t * scoll), (scoll))             \
	F(int, scoll_fd, (scoll_t * scoll), (scoll))                   \
	F(scoll_duration_t, scoll_timeout, (scoll_t * scoll), (scoll)) \
	F(int, scoll_address,                                          \
	  (scoll_t * scoll, void *ret_address, size_t *size),          \
	  (scoll, ret_address, size))

/* As the linker would keep it; filled once. */
#define POINTER(type, name, params, args) type(*name) params;
static struct {
	FUNCTIONS(POINTER)
} functions;

#define FUNCTION(type, name, params, args)  \
	type name params                    \
	{                                   \
		return functions.name args; \
	}
FUNCTIONS(FUNCTION)

static bool is_kept(const char *name)
{
	return strncmp(name, "FI_", 3) != 0 || strncmp(name, "FI_LOG_", 7) == 0;
}

static int environment_clear(void)
{
	for (size_t i = 0; environ[i] != NULL;) {
		_auto_(freep) char *name = NULL;

		if (is_kept(environ[i])) {
			i++;
			continue;
		}
		/* The list closes up. */
		name = strndup(environ[i], strcspn(environ[i], "="));
		if (name == NULL || unsetenv(name) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The provider and its layers, each by its name. */
static int environment_set(const char *provider)
{
	_auto_(freep) char *names = strdup(provider);

	if (names == NULL)
		return -ENOMEM;
	for (char *at = names; (at = strchr(at, ';')) != NULL;)
		*at = ',';
	if (setenv("FI_PROVIDER", names, 1) < 0 ||
	    setenv("HFI_NO_BACKTRACE", "1", 1) < 0 ||
	    setenv("IPATH_NO_BACKTRACE", "1", 1) < 0)
		return -ENOMEM;
	return 0;
}

static int load(void *library, const char *name, void *ret_pointer,
		struct fairlead_error *ret_error)
{
	void *pointer = dlsym(library, name);

	if (pointer == NULL)
		return error_set(ret_error, -ELIBACC,
				 LIBRARY " is of another version and has no "
					 "'%s': install the one that came with "
					 "fairleadd",
				 name);
	memcpy(ret_pointer, &pointer, sizeof(pointer));
	return 0;
}

int library_open(const char *provider, struct fairlead_error *ret_error)
{
	int result = environment_clear();
	void *library;

	if (result == 0)
		result = environment_set(provider);
	if (result < 0)
		return error_set(ret_error, result, "out of memory");
	/* Never closed: what it has brought cannot be unloaded. */
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return error_set(ret_error, -ELIBACC,
				 "cannot load libscoll, which comes with "
				 "fairleadd, or libfabric: %s",
				 dlerror());
#define LOAD(type, name, params, args) \
	if (result == 0)               \
		result = load(library, #name, &functions.name, ret_error);
	FUNCTIONS(LOAD)
	return result;
}
