/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One line a function: its pointer in the table, and the function of that name
 * that calls it.
 */
#include "lanes/daemon/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "scoll.h"

#define LIBRARY "libscoll.so.0"

#define FUNCTIONS(F)                                                          \
	F(int, scoll_init,                                                    \
	  (const struct scoll_params *params, scoll_t **ret_scoll,            \
	   struct fairlead_error *ret_error),                                 \
	  (params, ret_scoll, ret_error))                                     \
	F(void, scoll_fini, (scoll_t * scoll), (scoll))                       \
	F(int, scoll_progress, (scoll_t * scoll), (scoll))                    \
	F(int, scoll_fd, (scoll_t * scoll), (scoll))                          \
	F(scoll_duration_t, scoll_timeout, (scoll_t * scoll), (scoll))        \
	F(int, scoll_address,                                                 \
	  (scoll_t * scoll, void *ret_address, size_t *size),                 \
	  (scoll, ret_address, size))                                         \
	F(int, scoll_peer_address,                                            \
	  (scoll_t * scoll, scoll_nid_t nid, const void *address,             \
	   size_t size),                                                      \
	  (scoll, nid, address, size))                                        \
	F(int, scoll_peer_set,                                                \
	  (scoll_t * scoll, scoll_nid_t nid, enum scoll_liveness news),       \
	  (scoll, nid, news))                                                 \
	F(int, scoll_service_register,                                        \
	  (scoll_t * scoll, scoll_service_id_t svid,                          \
	   const struct scoll_service_ops *ops, void *private_data),          \
	  (scoll, svid, ops, private_data))                                   \
	F(int, scoll_group_create,                                            \
	  (scoll_t * scoll, scoll_service_id_t svid, const char *name,        \
	   const scoll_target_t *targets, int cnt, scoll_tree_type_t tree,    \
	   bool populate_now, scoll_create_group_cb_t cb,                     \
	   const void *private_data),                                         \
	  (scoll, svid, name, targets, cnt, tree, populate_now, cb,           \
	   private_data))                                                     \
	F(void, scoll_group_destroy, (scoll_group_t * group), (group))        \
	F(scoll_request_t *, scoll_bcast_new,                                 \
	  (scoll_group_t * group, const void *buf, int len,                   \
	   const struct iovec *bulk_iovs, int niov, unsigned int flags,       \
	   scoll_duration_t service_timeout, const void *private_data),       \
	  (group, buf, len, bulk_iovs, niov, flags, service_timeout,          \
	   private_data))                                                     \
	F(scoll_request_t *, scoll_bcast_new_subset,                          \
	  (scoll_group_t * group, const scoll_nid_t *nids, int count,         \
	   const void *buf, int len, const struct iovec *bulk_iovs, int niov, \
	   unsigned int flags, scoll_duration_t service_timeout,              \
	   const void *private_data),                                         \
	  (group, nids, count, buf, len, bulk_iovs, niov, flags,              \
	   service_timeout, private_data))                                    \
	F(int, scoll_bcast_send, (scoll_request_t * request), (request))      \
	F(void, scoll_bcast_abort, (scoll_request_t * request), (request))    \
	F(void, scoll_request_free, (scoll_request_t * request), (request))   \
	F(int, scoll_reply,                                                   \
	  (scoll_request_t * request, const void *buf, size_t len),           \
	  (request, buf, len))                                                \
	F(int, scoll_reply_part,                                              \
	  (scoll_request_t * request, const void *buf, size_t len),           \
	  (request, buf, len))                                                \
	F(int, scoll_reply_buffer_post,                                       \
	  (int child, void *buf, size_t len, scoll_request_t *request,        \
	   void *private_data),                                               \
	  (child, buf, len, request, private_data))                           \
	F(int, scoll_request_nchildren, (const scoll_request_t *request),     \
	  (request))                                                          \
	F(int, scoll_request_childtree_nodes,                                 \
	  (const scoll_request_t *request, int child), (request, child))      \
	F(scoll_nid_t, scoll_request_root, (const scoll_request_t *request),  \
	  (request))                                                          \
	F(void *, scoll_request_service, (const scoll_request_t *request),    \
	  (request))                                                          \
	F(int, scoll_request_failure_next,                                    \
	  (const scoll_request_t *request, uint64_t *cursor,                  \
	   struct scoll_failure *ret_failure),                                \
	  (request, cursor, ret_failure))

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

static void variable_set(const char *name, const char *value)
{
	if (setenv(name, value, 1) < 0)
		memory_end();
}

/*
 * Whoever started the process may have set libfabric's variables, each of which
 * can change which provider there is, its buffers or where it listens, against
 * the configuration: remove them, but for those of its log. Then set the
 * provider and its layers, each by its name. rxm would touch 70 MB at once, 4096
 * buffers of 16 KiB: a broadcast fits in these, and so do most answers. psm,
 * which comes with libfabric, is not to handle SIGSEGV and the like.
 */
static void environment_prepare(const char *provider)
{
	_auto_(freep) char *names = memory_text(provider);

	for (size_t i = 0; environ[i] != NULL;) {
		_auto_(freep) char *name = NULL;

		if (is_kept(environ[i])) {
			i++;
			continue;
		}
		/* The list closes up. */
		name = memory_have(
			strndup(environ[i], strcspn(environ[i], "=")));
		unsetenv(name);
	}
	for (char *at = names; (at = strchr(at, ';')) != NULL;)
		*at = ',';
	variable_set("FI_PROVIDER", names);
	variable_set("FI_OFI_RXM_BUFFER_SIZE", "8192");
	variable_set("FI_OFI_RXM_MSG_RX_SIZE", "64");
	variable_set("HFI_NO_BACKTRACE", "1");
	variable_set("IPATH_NO_BACKTRACE", "1");
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
	void *library;
	int result = 0;

	environment_prepare(provider);
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
