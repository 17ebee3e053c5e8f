/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library that another user could replace would give that user our
 * privileges.
 *
 * The software NIC's library says what it is by a symbol that the vendor's
 * does not have, not by its name or place, which anybody can choose.
 */
#include "lanes/driver/slingshot/library.h"

#include <dlfcn.h>

#include "base/memory.h"
#include "lanes/driver/common/trusted_path.h"

static void find_functions(struct cxi_library *library, const char **missing)
{
#define FIND_OPTIONAL(name) \
	library->name = dlsym(library->handle, "cxil_" #name);
#define FIND_REQUIRED(name)                     \
	FIND_OPTIONAL(name)                     \
	if (!library->name && *missing == NULL) \
		*missing = "cxil_" #name;

	CXI_LIBRARY_REQUIRED(FIND_REQUIRED)
	CXI_LIBRARY_OPTIONAL(FIND_OPTIONAL)
#undef FIND_REQUIRED
#undef FIND_OPTIONAL
}

int cxi_library_open(const char *path, bool may_be_emulated,
		     struct cxi_library **ret_library,
		     struct fairlead_error *ret_error)
{
	_auto_(cxi_library_closep) struct cxi_library *library = NULL;
	_auto_(freep) char *resolved = NULL;
	const char *missing = NULL;
	int result;

	result = trusted_path_resolve("library", path, may_be_emulated,
				      &resolved, ret_error);
	if (result < 0)
		return result;
	library = memory_alloc(sizeof(*library));
	library->handle = dlopen(resolved, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		return error_set(ret_error, -ELIBBAD, "library: %s", dlerror());
	find_functions(library, &missing);
	if (missing)
		return error_set(ret_error, -ELIBBAD,
				 "library: '%s' has no function '%s'", path,
				 missing);
	library->is_emulated = dlsym(library->handle, CXI_SOFTNIC_MARKER);
	if (library->is_emulated && !may_be_emulated)
		return error_set(ret_error, -EPERM,
				 "library: '%s' is the software NIC's; lanes "
				 "on it protect nothing, set emulation to "
				 "true if that is meant",
				 path);
	*ret_library = take_ptr(library);
	return 0;
}

void cxi_library_close(struct cxi_library *library)
{
	if (!library)
		return;
	if (library->handle)
		dlclose(library->handle);
	free(library);
}
