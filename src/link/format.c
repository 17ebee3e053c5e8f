/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/format.h"

#include <netinet/in.h>
#include <string.h>

bool format_is_socket(uint32_t format)
{
	return format == FI_SOCKADDR || format == FI_SOCKADDR_IN ||
	       format == FI_SOCKADDR_IN6;
}

size_t format_size(uint32_t format)
{
	switch (format) {
	case FI_SOCKADDR_IN:
		return sizeof(struct sockaddr_in);
	case FI_SOCKADDR_IN6:
		return sizeof(struct sockaddr_in6);
	default:
		return LINK_ADDRESS_SIZE;
	}
}

static uint32_t format_of_family(sa_family_t family)
{
	if (family == AF_INET)
		return FI_SOCKADDR_IN;
	return family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_FORMAT_UNSPEC;
}

uint32_t format_of(const uint8_t ours[LINK_ADDRESS_SIZE])
{
	struct link_address address;
	sa_family_t family;
	uint32_t format;

	if (link_address_decode(ours, &address, NULL) != 0 ||
	    address.known_count == 0)
		return FI_FORMAT_UNSPEC;
	memcpy(&family, address.rails[0].bytes, sizeof(family));
	format = format_of_family(family);
	return address.rails[0].size == format_size(format) ? format
							    : FI_FORMAT_UNSPEC;
}

int format_read(uint32_t format, uint32_t digest, const void *bytes,
		size_t size, uint8_t ret_ours[LINK_ADDRESS_SIZE])
{
	struct rail_address place = { 0 };
	struct link_address name;
	sa_family_t family;

	if (!format_is_socket(format)) {
		if (size < LINK_ADDRESS_SIZE)
			return -FI_EINVAL;
		memcpy(ret_ours, bytes, LINK_ADDRESS_SIZE);
		return 0;
	}
	if (size < sizeof(family))
		return -FI_EINVAL;
	memcpy(&family, bytes, sizeof(family));
	if (format == FI_SOCKADDR)
		format = format_of_family(family);
	if (format == FI_FORMAT_UNSPEC || format != format_of_family(family) ||
	    size < format_size(format))
		return -FI_EINVAL;
	place.size = (uint8_t)format_size(format);
	memcpy(place.bytes, bytes, place.size);
	link_address_name(&name, digest, &place);
	return link_address_encode(&name, ret_ours) < 0 ? -FI_EINVAL : 0;
}

void format_write(uint32_t format, const uint8_t ours[LINK_ADDRESS_SIZE],
		  void *ret_bytes)
{
	struct link_address address;

	if (!format_is_socket(format)) {
		memcpy(ret_bytes, ours, LINK_ADDRESS_SIZE);
		return;
	}
	memset(ret_bytes, 0, format_size(format));
	if (link_address_decode(ours, &address, NULL) == 0 &&
	    address.known_count > 0 &&
	    address.rails[0].size == format_size(format))
		memcpy(ret_bytes, address.rails[0].bytes, format_size(format));
}
