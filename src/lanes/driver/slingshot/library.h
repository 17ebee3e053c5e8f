/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vendor's libcxi, loaded at run time, so that one build of Fairlead runs
 * with and without the hardware. Its functions run with our privileges: the
 * file that is loaded is checked first.
 */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "lanes/driver/slingshot/libcxi_abi.h"

/*
 * The functions that are used, by name. The X(name) of the first list must be
 * there, those of the second are NULL in libraries that are too old.
 */
#define CXI_LIBRARY_REQUIRED(X) \
	X(get_device_list)      \
	X(free_device_list)     \
	X(open_device)          \
	X(close_device)         \
	X(get_svc_list)         \
	X(free_svc_list)        \
	X(alloc_svc)            \
	X(destroy_svc)
#define CXI_LIBRARY_OPTIONAL(X) \
	X(get_svc_rsrc_use)     \
	X(set_svc_lpr)          \
	X(get_svc_lpr)          \
	X(svc_get_vni_range)

struct cxi_library {
	void *handle;
	bool is_emulated; /* it is the software NIC's */
#define CXI_LIBRARY_MEMBER(name) __typeof__(&cxil_##name) name;
	CXI_LIBRARY_REQUIRED(CXI_LIBRARY_MEMBER)
	CXI_LIBRARY_OPTIONAL(CXI_LIBRARY_MEMBER)
#undef CXI_LIBRARY_MEMBER
};

/*
 * Load the library. The path is absolute, and nobody but root can replace the
 * file: it and every folder above it are root's and writable by nobody else.
 * With may_be_emulated that is relaxed for a build tree: any owner, and not
 * writable by everybody.
 *
 * -ENOENT: no such file; -EPERM: the path is not safe, or the library is the
 * software NIC's and may not be; -ELIBBAD: it cannot be loaded or lacks
 * functions, which the text names.
 */
int cxi_library_open(const char *path, bool may_be_emulated,
		     struct cxi_library **ret_library,
		     struct fairlead_error *ret_error);
void cxi_library_close(struct cxi_library *library); /* NULL allowed */
DEFINE_AUTO(struct cxi_library, cxi_library_close)
