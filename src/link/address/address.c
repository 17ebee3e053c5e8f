/* SPDX-License-Identifier: BSD-3-Clause */
/* Socket addresses are cut down to what counts, and made whole again. */
#include "link/address/address.h"

#include <netinet/in.h>
#include <string.h>

#include "base/le.h"

#define MAGIC       0xfa
#define VERSION     1
#define RAILS_AT    26
#define FLAGS_LOCAL (LINK_HAS_LOCAL | LINK_READS | LINK_READABLE)
#define FLAGS_ALL   (FLAGS_LOCAL | LINK_WANTS_EVENTS | LINK_NAMED | LINK_ANY_NODE)

enum address_kind {
	KIND_IPV4,
	KIND_IPV6,
	KIND_OTHER
};

static enum address_kind kind_of(const struct rail_address *rail)
{
	sa_family_t family;
	memcpy(&family, rail->bytes, sizeof(family));
	if (rail->size == sizeof(struct sockaddr_in) && family == AF_INET)
		return KIND_IPV4;
	if (rail->size == sizeof(struct sockaddr_in6) && family == AF_INET6)
		return KIND_IPV6;
	return KIND_OTHER;
}

/* Returns the bytes used, or 0 if there are not that many left. */
static size_t rail_encode(const struct rail_address *rail,
			  enum address_kind kind, uint8_t *to, size_t left)
{
	if (kind == KIND_IPV4 && left >= 6) {
		struct sockaddr_in in;
		memcpy(&in, rail->bytes, sizeof(in));
		memcpy(to, &in.sin_addr, 4);
		memcpy(to + 4, &in.sin_port, 2);
		return 6;
	}
	if (kind == KIND_IPV6 && left >= 18) {
		struct sockaddr_in6 in6;
		memcpy(&in6, rail->bytes, sizeof(in6));
		memcpy(to, &in6.sin6_addr, 16);
		memcpy(to + 16, &in6.sin6_port, 2);
		return 18;
	}
	if (kind == KIND_OTHER && left >= 1 + (size_t)rail->size) {
		to[0] = rail->size;
		memcpy(to + 1, rail->bytes, rail->size);
		return 1 + (size_t)rail->size;
	}
	return 0;
}

int link_address_encode(const struct link_address *address,
			uint8_t ret_bytes[LINK_ADDRESS_SIZE])
{
	uint8_t rails[LINK_ADDRESS_SIZE - RAILS_AT] = { 0 };
	unsigned int known = 0, kinds = 0;
	size_t used = 0;
	for (; known < address->rail_count; known++) {
		enum address_kind kind = kind_of(&address->rails[known]);
		size_t size = rail_encode(&address->rails[known], kind,
					  rails + used, sizeof(rails) - used);
		if (size == 0)
			break;
		used += size;
		kinds |= (unsigned int)kind << 2 * known;
	}
	if (known == 0 && address->rail_count > 0)
		return -EMSGSIZE;
	ret_bytes[0] = MAGIC;
	ret_bytes[1] = VERSION;
	ret_bytes[2] = (uint8_t)address->flags;
	ret_bytes[3] = (uint8_t)(address->rail_count << 4 | known);
	le_put16(ret_bytes + 4, (uint16_t)kinds);
	le_put32(ret_bytes + 6, address->digest);
	le_put64(ret_bytes + 10, address->number);
	le_put64(ret_bytes + 18, address->node);
	memcpy(ret_bytes + RAILS_AT, rails, sizeof(rails));
	return (int)known;
}

/* Returns the bytes read, or 0 if what is there is no such address. */
static size_t rail_decode(struct rail_address *rail, enum address_kind kind,
			  const uint8_t *from, size_t left)
{
	if (kind == KIND_IPV4 && left >= 6) {
		struct sockaddr_in in = { .sin_family = AF_INET };
		memcpy(&in.sin_addr, from, 4);
		memcpy(&in.sin_port, from + 4, 2);
		memcpy(rail->bytes, &in, sizeof(in));
		rail->size = sizeof(in);
		return 6;
	}
	if (kind == KIND_IPV6 && left >= 18) {
		struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
		memcpy(&in6.sin6_addr, from, 16);
		memcpy(&in6.sin6_port, from + 16, 2);
		memcpy(rail->bytes, &in6, sizeof(in6));
		rail->size = sizeof(in6);
		return 18;
	}
	if (kind != KIND_OTHER || left == 0 || from[0] == 0 ||
	    from[0] > RAIL_ADDRESS_MAX || left < 1 + (size_t)from[0])
		return 0;
	rail->size = from[0];
	memcpy(rail->bytes, from + 1, rail->size);
	return kind_of(rail) == kind ? 1 + (size_t)rail->size : 0;
}

static int rails_decode(const uint8_t *bytes, struct link_address *address)
{
	static const uint8_t zeros[LINK_ADDRESS_SIZE];
	unsigned int kinds = le_get16(bytes + 4);
	size_t at = RAILS_AT;
	if (address->rail_count > RAILS_MAX ||
	    address->known_count > address->rail_count ||
	    (address->known_count == 0 && address->rail_count > 0) ||
	    kinds >> 2 * address->known_count != 0)
		return -EINVAL;
	for (unsigned int i = 0; i < address->known_count; i++) {
		size_t size =
			rail_decode(&address->rails[i],
				    (enum address_kind)(kinds >> 2 * i & 3),
				    bytes + at, LINK_ADDRESS_SIZE - at);
		if (size == 0)
			return -EINVAL;
		at += size;
	}
	return memcmp(bytes + at, zeros, LINK_ADDRESS_SIZE - at) == 0 ? 0
								      : -EINVAL;
}

/* A name has nothing that only an address can have. */
static bool is_sound(const struct link_address *address)
{
	if ((address->flags & ~(unsigned int)FLAGS_ALL) != 0)
		return false;
	if ((address->flags & (LINK_NAMED | LINK_ANY_NODE)) == 0)
		return true;
	return (address->flags & ~LINK_ANY_NODE) == LINK_NAMED &&
	       address->node == 0 && address->rail_count <= 1 &&
	       (address->rail_count == 0 || address->number == 0);
}

int link_address_decode(const uint8_t bytes[LINK_ADDRESS_SIZE],
			struct link_address *ret_address,
			struct fairlead_error *error)
{
	struct link_address address = {
		.flags = bytes[2],
		.digest = le_get32(bytes + 6),
		.number = le_get64(bytes + 10),
		.node = le_get64(bytes + 18),
		.rail_count = bytes[3] >> 4,
		.known_count = bytes[3] & 15,
	};
	if (bytes[0] != MAGIC)
		return error_set(error, -EINVAL,
				 "this is no address of the provider fairlead");
	if (bytes[1] != VERSION)
		return error_set(
			error, -EINVAL,
			"an address of version %u, where this provider "
			"knows %u: use the same on all nodes",
			bytes[1], VERSION);
	if (!is_sound(&address) || rails_decode(bytes, &address) != 0)
		return error_set(error, -EINVAL, "a damaged address");
	*ret_address = address;
	return 0;
}

bool link_address_is_local(const struct link_address *a,
			   const struct link_address *b)
{
	return a->node == b->node &&
	       (a->flags & b->flags & FLAGS_LOCAL) == FLAGS_LOCAL;
}

void link_address_name(struct link_address *ret_name, uint32_t digest,
		       const struct rail_address *place)
{
	*ret_name =
		(struct link_address){ .flags = LINK_NAMED, .digest = digest };
	if (place == NULL)
		return;
	ret_name->rails[0] = *place;
	ret_name->rail_count = ret_name->known_count = 1;
}

/* Numbers by chance have their upper bit clear, too; see endpoint.c. */
uint64_t link_address_number(uint64_t node, const char *service)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ node;

	for (const char *c = service; *c != '\0'; c++)
		hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
	hash = (hash ^ hash >> 29) & INT64_MAX;
	return hash == 0 ? 1 : hash;
}
