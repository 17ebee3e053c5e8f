/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver's two halves under its name. */
#include "lanes/driver/ethernet/ethernet.h"

#include <linux/capability.h>
#include <string.h>

#include "lanes/driver/common/options.h"

static const char *launch_needs(const char *options)
{
	struct options list;

	if (options_parse(&list, options, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < list.count; i++)
		if (strcmp(list.items[i].name, "isolation") == 0 &&
		    list.items[i].value &&
		    strcmp(list.items[i].value, "netns") == 0)
			return "a network namespace ('isolation=host' needs "
			       "none)";
	return NULL;
}

#include "lanes/driver/ethernet/settings.h"

const char *const ethernet_variables[] = {
	"FAIRLEAD_INTERFACES", "FAIRLEAD_ADDRESSES",
	"FAIRLEAD_ISOLATION",  "FI_TCP_IFACE",
	"FI_NET_IFACE",        "FI_SOCKETS_IFACE",
	"FI_UDP_IFACE",        "OMPI_MCA_btl_tcp_if_include",
	"UCX_NET_DEVICES",     NULL,
};

const struct fairlead_driver ethernet_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = "ethernet",
	.description = "Ethernet: VXLAN networks, with rules of the kernel",
	.settings = &ethernet_settings,
	.variables = ethernet_variables,
	.manager = &ethernet_manager_ops,
#ifndef DRIVER_WITHOUT_NODE
	.node = &ethernet_node_ops,
#endif
	/* Devices, rules and classes; namespaces of jobs. */
	.capabilities = 1ull << CAP_NET_ADMIN | 1ull << CAP_SYS_ADMIN,
	.launch_needs = launch_needs,
};
