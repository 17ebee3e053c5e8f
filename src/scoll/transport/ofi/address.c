/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses: from text, and those that travel, which are libfabric's own bytes
 * with the zeros at the end cut. The provider's address format tells how long
 * they were.
 */
#include "scoll/transport/ofi/internal.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int address_get(void *ctx, scoll_nid_t nid, void *ret_bytes, size_t *size)
{
	struct transport_ofi *t = ctx;
	const struct ofi_peer *peer;

	if (nid == SCOLL_NID_ANY)
		return ofi_address(t, ret_bytes, size);
	peer = peer_find(t, nid);
	if (peer == NULL)
		return -ENOENT;
	if (*size < peer->address_size)
		return -ENOSPC;
	memcpy(ret_bytes, peer->address, peer->address_size);
	*size = peer->address_size;
	return 0;
}

/* Bytes of an address that begins like this; 0: there is none. */
static size_t whole_size(const struct transport_ofi *t,
			 const uint8_t bytes[TRANSPORT_ADDRESS_MAX],
			 size_t size)
{
	sa_family_t family;

	switch (t->info->addr_format) {
	case FI_SOCKADDR:
	case FI_SOCKADDR_IN:
	case FI_SOCKADDR_IN6:
		memcpy(&family, bytes, sizeof(family));
		if (family == AF_INET)
			return sizeof(struct sockaddr_in);
		return family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
	case FI_ADDR_STR:
		return size + 1;
	default:
		return t->info->src_addrlen;
	}
}

int address_learn(void *ctx, scoll_nid_t nid, const void *bytes, size_t size)
{
	uint8_t address[TRANSPORT_ADDRESS_MAX] = { 0 };
	struct transport_ofi *t = ctx;
	size_t whole;

	if (size == 0)
		return peer_learn(t, nid, NULL, 0);
	if (size >= sizeof(address))
		return -EINVAL;
	memcpy(address, bytes, size);
	while (size > 0 && address[size - 1] == 0)
		size--;
	whole = whole_size(t, address, size);
	if (whole == 0 || whole < size || whole > sizeof(address))
		return -EINVAL;
	return peer_learn(t, nid, address, whole);
}

/* -FI_ENOMEM. */
static int hints_alloc(const struct transport_ofi *t, struct fi_info **ret)
{
	struct fi_info *hints = fi_allocinfo();

	if (hints == NULL)
		return -FI_ENOMEM;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
	hints->mode = t->info->mode;
	hints->addr_format = t->info->addr_format;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = t->info->domain_attr->mr_mode;
	hints->fabric_attr->prov_name = strdup(t->info->fabric_attr->prov_name);
	if (hints->fabric_attr->prov_name == NULL) {
		fi_freeinfo(hints);
		return -FI_ENOMEM;
	}
	*ret = hints;
	return 0;
}

/* t->info stays as it is from the opening on. */
int ofi_resolve(void *ctx, const char *node, const char *service,
		void *ret_address, size_t *size,
		struct fairlead_error *ret_error)
{
	struct transport_ofi *t = ctx;
	struct fi_info *hints = NULL, *info = NULL;
	int result = hints_alloc(t, &hints);

	if (result == 0)
		result =
			fi_getinfo(API_VERSION, node, service, 0, hints, &info);
	if (result == 0 && info->dest_addr == NULL)
		result = -FI_EADDRNOTAVAIL;
	result = result != 0 ? errno_of(result) : 0;
	if (result == 0 && info->dest_addrlen > *size)
		result = -ENOSPC;
	if (result == 0) {
		memcpy(ret_address, info->dest_addr, info->dest_addrlen);
		*size = info->dest_addrlen;
	}
	fi_freeinfo(info);
	fi_freeinfo(hints);
	if (result < 0)
		error_set(ret_error, result,
			  "no address of provider '%s' for '%s', '%s'",
			  t->info->fabric_attr->prov_name,
			  node != NULL ? node : "",
			  service != NULL ? service : "");
	return result;
}
