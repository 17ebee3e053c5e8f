/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of the driver's settings and environment variables. */
#include "lanes/driver/ethernet/ethernet.h"

#include <stddef.h>

/* Those up to port are the manager's, too, the same on all. */
#define NODE_SETTINGS                                                          \
	"isolation", "ipv6_network", "ipv4_network", "ipv4_lane_size", "port", \
		"dscp_dedicated_access", "dscp_low_latency", "dscp_bulk_data", \
		"dscp_best_effort", "devices", "require_devices", "ttl",       \
		"nft", "bpf", "bpf_pins", "cgroup", "job_cgroup",              \
		"namespaces", "shaping", "link_rate"

const char *const ethernet_settings[] = {
	/* the manager's alone */
	"vni_pool",      "default_vnis", "reserve_fatal", "traffic_classes",
	"rate_reserved", "rate_max",     NODE_SETTINGS,   NULL,
};

const char *const ethernet_node_settings[] = { NODE_SETTINGS, NULL };

const char *const ethernet_variables[] = {
	"FAIRLEAD_INTERFACES", "FAIRLEAD_ADDRESSES",
	"FAIRLEAD_ISOLATION",  "FI_TCP_IFACE",
	"FI_NET_IFACE",        "FI_SOCKETS_IFACE",
	"FI_UDP_IFACE",        "OMPI_MCA_btl_tcp_if_include",
	"UCX_NET_DEVICES",     NULL,
};
