/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members of a lane, as a node is given them: refused, or within the limits,
 * with names for each node; and what is encoded of them is read back as the
 * same.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/members.h"
#include "fuzz.h"

static void names_check(const struct ethernet_members *members)
{
	const struct ethernet_networks *networks = &members->networks;
	struct ethernet_names names;

	ethernet_name(networks, ETHERNET_VNI_LIMIT - 1,
		      members->rail_count
			      ? members->rails[members->rail_count - 1]
			      : 0,
		      members->node_count, &names);
	fuzz_check(names.ipv6.family == 6);
	fuzz_check(names.ipv4.family == networks->ipv4.address.family);
	if (names.ipv4.family)
		fuzz_check(ip_network_has(&networks->ipv4, &names.ipv4));
}

static void same_check(const struct ethernet_members *a,
		       const struct ethernet_members *b)
{
	size_t count = (size_t)a->node_count * a->rail_count;

	fuzz_check(a->rail_count == b->rail_count);
	fuzz_check(a->lacking == b->lacking);
	fuzz_check(memcmp(a->rails, b->rails, sizeof(a->rails)) == 0);
	fuzz_check(a->node_count == b->node_count);
	fuzz_check(a->networks.port == b->networks.port);
	fuzz_check(a->networks.ipv4_lane_size == b->networks.ipv4_lane_size);
	fuzz_check(memcmp(a->mtu, b->mtu, sizeof(a->mtu)) == 0);
	fuzz_check(memcmp(a->addresses, b->addresses,
			  count * sizeof(*a->addresses)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(freep) uint8_t *bytes = NULL;
	struct ethernet_members members, again;
	struct writer writer = { 0 };
	size_t written;
	int result = ethernet_members_decode(data, size, &members);

	if (result < 0) {
		fuzz_check(result == -EBADMSG || result == -EPROTONOSUPPORT);
		return 0;
	}
	fuzz_check(members.node_count >= 1);
	fuzz_check(members.node_count <= ETHERNET_NODES_MAX);
	fuzz_check(members.rail_count <= ETHERNET_RAILS_MAX);
	fuzz_check(!members.rail_count == !ethernet_members_count(&members));
	names_check(&members);
	fuzz_check(ethernet_members_encode(&members, &writer) == 0);
	bytes = writer_take(&writer, &written);
	fuzz_check(bytes != NULL && written <= size);
	fuzz_check(ethernet_members_decode(bytes, written, &again) == 0);
	same_check(&members, &again);
	ethernet_members_fini(&again);
	ethernet_members_fini(&members);
	return 0;
}
