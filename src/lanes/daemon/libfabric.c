/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/daemon/libfabric.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"

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
void libfabric_prepare(const char *provider)
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
