/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses and networks: of the site, of underlays, of lanes. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/common/options.h"
#include "lanes/driver/ethernet/address.h"

static uint8_t bits_of(uint8_t family)
{
	return family == 6 ? 128 : 32;
}

static size_t size_of(uint8_t family)
{
	return bits_of(family) / 8;
}

bool ip_address_equal(const struct ip_address *a, const struct ip_address *b)
{
	if (a->family != b->family)
		return false;
	return a->family == 0 ||
	       memcmp(a->bytes, b->bytes, size_of(a->family)) == 0;
}

void ip_address_format(const struct ip_address *address,
		       char text[IP_ADDRESS_TEXT_MAX])
{
	text[0] = '\0';
	if (address->family)
		inet_ntop(address->family == 6 ? AF_INET6 : AF_INET,
			  address->bytes, text, IP_ADDRESS_TEXT_MAX);
}

bool ip_address_parse(const char *text, struct ip_address *ret_address)
{
	struct ip_address address = { 0 };

	if (inet_pton(AF_INET, text, address.bytes) == 1)
		address.family = 4;
	else if (inet_pton(AF_INET6, text, address.bytes) == 1)
		address.family = 6;
	else
		return false;
	*ret_address = address;
	return true;
}

void ip_address_write(const struct ip_address *address, struct writer *writer)
{
	write_u8(writer, address->family);
	if (address->family)
		write_bytes(writer, address->bytes, size_of(address->family));
}

void ip_address_read(struct reader *reader, struct ip_address *ret_address)
{
	struct ip_address address = { .family = read_u8(reader) };
	const uint8_t *bytes;

	*ret_address = (struct ip_address){ 0 };
	if (address.family == 0)
		return;
	if (address.family != 4 && address.family != 6) {
		reader->left = 0;
		reader->failed = true;
		return;
	}
	bytes = read_bytes(reader, size_of(address.family));
	if (!bytes)
		return;
	memcpy(address.bytes, bytes, size_of(address.family));
	*ret_address = address;
}

/* The address with the bits behind the prefix set to zero. */
static struct ip_address masked(const struct ip_address *address,
				uint8_t prefix_size)
{
	struct ip_address result = { .family = address->family };

	for (size_t i = 0; i < size_of(address->family); i++) {
		size_t bits = i * 8 >= prefix_size ? 0 : prefix_size - i * 8;
		uint8_t mask = bits >= 8 ? 0xff : (uint8_t)(0xff00u >> bits);

		result.bytes[i] = address->bytes[i] & mask;
	}
	return result;
}

struct ip_network ip_network_of(const struct ip_address *address,
				uint8_t prefix_size)
{
	return (struct ip_network){ masked(address, prefix_size), prefix_size };
}

int ip_network_parse(const char *text, struct ip_network *ret_network,
		     struct fairlead_error *ret_error)
{
	const char *slash = strchr(text, '/');
	size_t size = slash ? (size_t)(slash - text) : 0;
	char address[IP_ADDRESS_TEXT_MAX];
	struct ip_network network;
	struct ip_network whole;
	char fitting[IP_NETWORK_TEXT_MAX];
	uint32_t prefix_size;

	if (size == 0 || size >= sizeof(address))
		return error_set(ret_error, -EINVAL,
				 "'%s' is no network ADDRESS/PREFIX", text);
	memcpy(address, text, size);
	address[size] = '\0';
	if (!ip_address_parse(address, &network.address) ||
	    !number_parse(slash + 1, 0, bits_of(network.address.family),
			  &prefix_size))
		return error_set(ret_error, -EINVAL,
				 "'%s' is no network ADDRESS/PREFIX", text);
	network.prefix_size = (uint8_t)prefix_size;
	whole = ip_network_of(&network.address, network.prefix_size);
	if (!ip_address_equal(&whole.address, &network.address)) {
		ip_network_format(&whole, fitting);
		return error_set(ret_error, -EINVAL,
				 "'%s' has bits behind its prefix, the network "
				 "is %s",
				 text, fitting);
	}
	*ret_network = network;
	return 0;
}

void ip_network_format(const struct ip_network *network,
		       char text[IP_NETWORK_TEXT_MAX])
{
	char address[IP_ADDRESS_TEXT_MAX];

	text[0] = '\0';
	if (!network->address.family)
		return;
	ip_address_format(&network->address, address);
	snprintf(text, IP_NETWORK_TEXT_MAX, "%s/%u", address,
		 network->prefix_size);
}

bool ip_network_has(const struct ip_network *network,
		    const struct ip_address *address)
{
	struct ip_address start;

	if (!address->family || network->address.family != address->family)
		return false;
	start = masked(address, network->prefix_size);
	return ip_address_equal(&start, &network->address);
}

bool ip_network_meets(const struct ip_network *a, const struct ip_network *b)
{
	/* Of two networks one contains the other, or they are apart. */
	return a->prefix_size <= b->prefix_size
		       ? ip_network_has(a, &b->address)
		       : ip_network_has(b, &a->address);
}

/* FNV-1a, since nobody makes bytes for it on purpose. */
uint64_t ethernet_digest(uint64_t before, const void *bytes, size_t size)
{
	for (const uint8_t *at = bytes; size > 0; at++, size--)
		before = (before ^ *at) * 0x100000001b3u;
	return before;
}
