/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that travel: libfabric's own bytes, of which zeros at the end were
 * cut. How long they were is told by the provider's kind of address.
 */
#include "scoll/transport/ofi/internal.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

int address_get(void *ctx, scoll_nid_t nid, void *ret_bytes, size_t *size)
{
	struct transport_ofi *t = ctx;
	const struct ofi_peer *peer;

	if (nid == SCOLL_NID_ANY)
		return transport_ofi_address(t, ret_bytes, size);
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
			 const uint8_t bytes[TRANSPORT_OFI_ADDRESS_MAX],
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
	uint8_t address[TRANSPORT_OFI_ADDRESS_MAX] = { 0 };
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
