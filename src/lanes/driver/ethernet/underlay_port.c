/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nothing is bound to find out: it would be in the way of a lane that comes up
 * at that moment. VXLAN's own sockets are listed like all others, so that a
 * port is another program's when it is in the list and no VXLAN device that is
 * up has it.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/links.h"
#include "lanes/driver/ethernet/underlay.h"

static bool is_listed(const char *path, uint16_t port)
{
	_auto_(fclosep) FILE *file = fopen(path, "re");
	char line[512];
	unsigned int own;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%4x ", &own) == 1 &&
		    own == port)
			return true;
	}
	return false;
}

int underlay_port_check(struct netlink *netlink, uint16_t port, bool is_inside,
			struct fairlead_error *ret_error)
{
	bool is_bound = is_listed("/proc/thread-self/net/udp", port) ||
			is_listed("/proc/thread-self/net/udp6", port);
	struct link_list list = { 0 };
	bool is_known = is_inside;
	int result;

	if (!is_bound)
		return 0;
	result = links_read(netlink, "vxlan", &list, ret_error);
	for (size_t i = 0; result == 0 && i < list.count; i++) {
		const struct ethernet_link *link = &list.links[i];

		if (link->vxlan.port != port || !(link->flags & IFF_UP))
			continue;
		is_known = true;
		if (!link->vxlan.is_alike)
			result = error_set(ret_error, -EADDRINUSE,
					   "UDP port %u is in use by VXLAN "
					   "device %s, which is not ours, with "
					   "other flags",
					   port, link->name);
	}
	links_fini(&list);
	if (result == 0 && !is_known)
		result = error_set(ret_error, -EADDRINUSE,
				   "UDP port %u is in use by another program: "
				   "end it, or set 'port'",
				   port);
	return result;
}
