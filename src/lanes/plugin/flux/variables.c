/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/plugin/flux/variables.h"

enum {
	SLINGSHOT,
	ETHERNET,
	ELAN3
};

const struct variable variables[] = {
	{ "SLINGSHOT_VNIS", SLINGSHOT, true },
	{ "SLINGSHOT_DEVICES", SLINGSHOT, true },
	{ "SLINGSHOT_SVC_IDS", SLINGSHOT, true },
	{ "SLINGSHOT_TCS", SLINGSHOT, true },
	{ "FAIRLEAD_INTERFACES", ETHERNET, true },
	{ "FAIRLEAD_ADDRESSES", ETHERNET, true },
	{ "FAIRLEAD_ISOLATION", ETHERNET, true },
	{ "FI_TCP_IFACE", ETHERNET, false },
	{ "FI_NET_IFACE", ETHERNET, false },
	{ "FI_SOCKETS_IFACE", ETHERNET, false },
	{ "FI_UDP_IFACE", ETHERNET, false },
	{ "OMPI_MCA_btl_tcp_if_include", ETHERNET, false },
	{ "UCX_NET_DEVICES", ETHERNET, false },
	{ "FAIRLEAD_RMS_PROGRAM", ELAN3, true },
	{ "RMS_NNODES", ELAN3, false },
	{ "RMS_NPROCS", ELAN3, false },
	{ "RMS_NODEID", ELAN3, false },
};
const size_t variable_count = sizeof(variables) / sizeof(variables[0]);

unsigned int variables_sets(bool (*is_there)(void *arg, const char *name),
			    void *arg)
{
	unsigned int sets = 0;

	for (size_t i = 0; i < variable_count; i++)
		if (variables[i].is_own && is_there(arg, variables[i].name))
			sets |= 1u << variables[i].set;
	return sets;
}
