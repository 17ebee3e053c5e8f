/* SPDX-License-Identifier: BSD-3-Clause */
/* Which transport: our own, or libfabric's, which is loaded here. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "scoll/transport/tcp/tcp.h"

#define LIBRARY "libscoll-ofi.so"
#define SYMBOL  "transport_ofi_kind"

/* Never closed: libfabric cannot be unloaded. */
static int load(const struct transport_kind **ret_kind,
		struct fairlead_error *error)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL)
		return error_set(error, -ELIBACC,
				 "cannot load " LIBRARY
				 ", which providers of libfabric need: %s; "
				 "install libfabric, or use provider 'tcp'",
				 dlerror());
	*ret_kind = dlsym(library, SYMBOL);
	if (*ret_kind == NULL || (*ret_kind)->version != TRANSPORT_VERSION)
		return error_set(error, -ELIBACC,
				 LIBRARY " is of another version: install the "
					 "one that came with libscoll");
	return 0;
}

int transport_open(const struct transport_options *options,
		   struct transport *ret_transport,
		   struct fairlead_error *ret_error)
{
	const struct transport_kind *kind = &transport_tcp_kind;
	const char *name = options->provider;
	int result = 0;

	if (name != NULL && strcmp(name, "tcp") != 0)
		result = load(&kind, ret_error);
	if (result < 0)
		return result;
	ret_transport->kind = kind;
	return kind->open(options, &ret_transport->ctx, ret_error);
}

void transport_close(struct transport *transport)
{
	if (transport->ctx != NULL)
		transport->kind->close(transport->ctx);
	transport->ctx = NULL;
}
