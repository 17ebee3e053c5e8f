/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/endpoint/environment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

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

/*
 * The provider and its layers, each by its name. rxm would touch 70 MB at once:
 * 4096 buffers of 16 KiB. A broadcast fits in these, and so do most answers.
 */
static int environment_set(const char *provider)
{
	_auto_(freep) char *names = strdup(provider);

	if (names == NULL)
		return -ENOMEM;
	for (char *at = names; (at = strchr(at, ';')) != NULL;)
		*at = ',';
	if (setenv("FI_PROVIDER", names, 1) < 0 ||
	    setenv("FI_OFI_RXM_BUFFER_SIZE", "8192", 1) < 0 ||
	    setenv("FI_OFI_RXM_MSG_RX_SIZE", "64", 1) < 0 ||
	    setenv("HFI_NO_BACKTRACE", "1", 1) < 0 ||
	    setenv("IPATH_NO_BACKTRACE", "1", 1) < 0)
		return -ENOMEM;
	return 0;
}

int environment_prepare(const char *provider)
{
	int result = environment_clear();

	return result < 0 ? result : environment_set(provider);
}
