/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses by node and service, one or many: fi_av_insertsvc, fi_av_insertsym. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "link/av.h"
#include "link/locality.h"

#define NODE_MAX 256

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

/* The i-th after it: an address plus i, or the number that a name ends with. */
static int node_after(const char *node, size_t i, char text[NODE_MAX])
{
	size_t length = strlen(node), digits = length;
	struct in_addr in;

	if (length >= NODE_MAX)
		return -FI_EINVAL;
	if (inet_pton(AF_INET, node, &in) == 1) {
		in.s_addr = htonl(ntohl(in.s_addr) + (uint32_t)i);
		return inet_ntop(AF_INET, &in, text, NODE_MAX) == NULL
			       ? -FI_EINVAL
			       : 0;
	}
	while (digits > 0 && isdigit((unsigned char)node[digits - 1]))
		digits--;
	if (digits == length && i > 0)
		return -FI_EINVAL;
	snprintf(text, NODE_MAX, "%s", node);
	if (i > 0)
		snprintf(text + digits, NODE_MAX - digits, "%0*llu",
			 (int)(length - digits),
			 strtoull(node + digits, NULL, 10) + i);
	return 0;
}

static int service_after(const char *service, size_t i, char text[NODE_MAX])
{
	char *end;
	unsigned long long number = strtoull(service, &end, 10);

	if (strlen(service) >= NODE_MAX || (i > 0 && *end != '\0'))
		return -FI_EINVAL;
	if (i == 0)
		snprintf(text, NODE_MAX, "%s", service);
	else
		snprintf(text, NODE_MAX, "%llu", number + i);
	return 0;
}

int link_av_insertsym(struct fid_av *fid, const char *node, size_t nodes,
		      const char *service, size_t services,
		      fi_addr_t *addresses, uint64_t flags, void *context)
{
	struct link_av *av = (struct link_av *)fid;
	char at[NODE_MAX], which[NODE_MAX];
	uint8_t *all;
	int result = 0;

	if (node == NULL || service == NULL || nodes == 0 || services == 0 ||
	    nodes > (size_t)AV_CHUNK * AV_CHUNKS / services)
		return -FI_EINVAL;
	all = calloc(nodes * services, LINK_ADDRESS_SIZE);
	if (all == NULL)
		return -FI_ENOMEM;
	for (size_t i = 0; i < nodes * services && result == 0; i++) {
		result = node_after(node, i / services, at);
		if (result == 0)
			result = service_after(service, i % services, which);
		/* One that cannot be found is refused as it is inserted. */
		if (result == 0)
			(void)name_find(av->domain, at, which,
					all + i * LINK_ADDRESS_SIZE);
	}
	if (result == 0)
		result = av_insert_as(av, FI_FORMAT_UNSPEC, all,
				      nodes * services, addresses, flags,
				      context);
	free(all);
	return result;
}

int link_av_insertsvc(struct fid_av *fid, const char *node, const char *service,
		      fi_addr_t *address, uint64_t flags, void *context)
{
	return link_av_insertsym(fid, node, 1, service, 1, address, flags,
				 context);
}
