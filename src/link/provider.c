/* SPDX-License-Identifier: BSD-3-Clause */
/* The one symbol that libfabric looks for; and what users have set. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "link/provider.h"
#include "link/progress.h"
#include "link/setting.h"

#define VERSION FI_VERSION(0, 1)

/* libfabric is about to unload us. */
static void cleanup(void)
{
	progress_stop_all();
}

struct fi_provider link_provider = {
	.version = VERSION,
	.fi_version = BUILD_VERSION,
	.name = PROVIDER_NAME,
	.getinfo = link_getinfo,
	.fabric = link_fabric,
	.cleanup = cleanup,
};

/* For fi_info -e, which lists all settings. */
static void variables_tell(void)
{
	static const struct {
		const char *name; /* behind FI_FAIRLEAD_ */
		enum fi_param_type type;
		const char *what;
	} all[] = {
		{ "links", FI_PARAM_STRING,
		  "Providers that are joined, as in shm+tcp;ofi_rxm:eth0,eth1; "
		  "several links with | between them: see fi_fairlead(7)" },
		{ "node", FI_PARAM_STRING,
		  "Any text: processes with different ones share no memory" },
		{ "offload", FI_PARAM_STRING,
		  "Whether a provider that is joined matches tags itself: "
		  "auto, "
		  "always or never" },
		{ "name_wait", FI_PARAM_SIZE_T,
		  "For how many milliseconds who is known by node and service "
		  "only may be silent (30000)" },
		{ "unexpected_max", FI_PARAM_SIZE_T,
		  "How many bytes of messages that nobody has asked for an "
		  "endpoint keeps (17179869184)" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		fi_param_define(&link_provider, all[i].name, all[i].type, "%s",
				all[i].what);
}

/*
 * Of another libfabric the structures may be of another layout, though it can
 * load this one.
 */
__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void);

struct fi_provider *fi_prov_ini(void)
{
	uint32_t version = fi_version();

	if (FI_MAJOR(version) != FI_MAJOR_VERSION ||
	    FI_MINOR(version) != FI_MINOR_VERSION)
		return NULL;
	variables_tell();
	return &link_provider;
}

const char *link_strerror(int prov_errno, char *buf, size_t size)
{
	const char *text =
		fi_strerror(prov_errno < 0 ? -prov_errno : prov_errno);

	if (buf != NULL && size > 0)
		snprintf(buf, size, "%s", text);
	return text;
}

/* --- setting.h --- */

uint64_t setting_number(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);
	unsigned long long number;
	char *end;

	if (text == NULL || text[0] == '\0')
		return otherwise;
	errno = 0;
	number = strtoull(text, &end, 0); /* as libfabric reads its own */
	if (errno == 0 && *end == '\0' && text[0] >= '0' && text[0] <= '9')
		return number;
	link_warn(CORE, "%s: \"%s\" is no number: left out\n", variable, text);
	return otherwise;
}
