/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses by node and service: fi_av_insertsvc. */
#include <string.h>

#include "link/av.h"
#include "link/locality.h"

/* The name that a node and a service tell, as an address; zeros if none. */
static int name_find(struct link_domain *domain, const char *node,
		     const char *service, uint8_t bytes[LINK_ADDRESS_SIZE])
{
	const struct link_place place = { .node = node, .service = service };
	struct fairlead_error error = { 0 };
	struct rail_address found;
	struct link_address name;
	unsigned int first = domain->cores.cores[0].way == RAIL_SHARED ? 1 : 0;
	int result = 0;

	memset(bytes, 0, LINK_ADDRESS_SIZE);
	if (first == domain->cores.count) {
		link_address_name(&name, domain->digest, NULL);
		name.number = link_address_number(locality_node(), service);
		if (!locality_is_here(node))
			result = error_set(&error, -FI_EADDRNOTAVAIL,
					   "another node");
	} else {
		result = core_place(&domain->text.rails[first], &place, &found,
				    &error);
		link_address_name(&name, domain->digest, &found);
	}
	if (result != 0) {
		link_warn(AV, "%s, %s: %s\n", node, service, error.text);
		return result;
	}
	result = link_address_encode(&name, bytes);
	return result < 0 ? result : 0;
}

int link_av_insertsvc(struct fid_av *fid, const char *node, const char *service,
		      fi_addr_t *address, uint64_t flags, void *context)
{
	struct link_av *av = (struct link_av *)fid;
	uint8_t bytes[LINK_ADDRESS_SIZE];

	if (node == NULL || service == NULL)
		return -FI_EINVAL;
	/* One that is not found is refused as it is inserted. */
	(void)name_find(av->domain, node, service, bytes);
	return av_insert_as(av, FI_FORMAT_UNSPEC, bytes, 1, address, flags,
			    context);
}
