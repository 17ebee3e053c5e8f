/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/place.h"
#include "link/format.h"
#include "link/locality.h"

#include <stdlib.h>
#include <string.h>

static int address_put(const void *bytes, void **ret_address, size_t *ret_size)
{
	*ret_address = malloc(LINK_ADDRESS_SIZE);
	if (*ret_address == NULL)
		return -FI_ENOMEM;
	memcpy(*ret_address, bytes, LINK_ADDRESS_SIZE);
	*ret_size = LINK_ADDRESS_SIZE;
	return 0;
}

static int name_put(const struct link_address *name, void **ret_address,
		    size_t *ret_size)
{
	uint8_t bytes[LINK_ADDRESS_SIZE];
	int encoded = link_address_encode(name, bytes);

	return encoded < 0 ? encoded
			   : address_put(bytes, ret_address, ret_size);
}

/* The name of a core's address; without one, nothing. Flags: LINK_ANY_NODE. */
static int place_put(uint32_t digest, unsigned int flags, const void *bytes,
		     size_t size, void **ret_address, size_t *ret_size)
{
	struct rail_address place = { .size = (uint8_t)size };
	struct link_address name;

	if (bytes == NULL || size > sizeof(place.bytes))
		return 0;
	memcpy(place.bytes, bytes, size);
	link_address_name(&name, digest, &place);
	name.flags |= flags;
	return name_put(&name, ret_address, ret_size);
}

/*
 * Of shared memory alone: it is on this node, and the service is its name.
 * Without one it is anybody.
 */
static int service_put(uint32_t digest, unsigned int flags, const char *node,
		       const char *service, void **ret_address,
		       size_t *ret_size)
{
	struct link_address name;

	if (!locality_is_here(node))
		return -FI_ENODATA;
	link_address_name(&name, digest, NULL);
	name.flags |= flags;
	if (service != NULL)
		name.number = link_address_number(locality_node(), service);
	return name_put(&name, ret_address, ret_size);
}

/* A place on a fabric is none of a link of shared memory alone. */
static bool is_on_fabric(const void *bytes, size_t size)
{
	struct link_address address;

	return place_is_given(bytes, size) &&
	       link_address_decode(bytes, &address, NULL) == 0 &&
	       address.known_count > 0;
}

int place_fill(struct fi_info *info, const struct fi_info *hints,
	       const struct link_text *link, const struct core_set *set,
	       const struct link_place *place)
{
	unsigned int first = links_is_local(link->rails[0].provider) ? 1 : 0;
	const struct fi_info *core =
		first < set->count ? set->cores[first].info : NULL;
	bool is_source = (place->flags & FI_SOURCE) != 0;
	uint32_t digest = link_digest(link, set);
	unsigned int flags =
		is_source && place->node == NULL && place->service != NULL
			? LINK_ANY_NODE
			: 0;
	int result = 0;

	if (core == NULL && hints != NULL &&
	    (is_on_fabric(hints->src_addr, hints->src_addrlen) ||
	     is_on_fabric(hints->dest_addr, hints->dest_addrlen)))
		return -FI_ENODATA;
	if (hints != NULL &&
	    place_is_given(hints->src_addr, hints->src_addrlen))
		result = address_put(hints->src_addr, &info->src_addr,
				     &info->src_addrlen);
	else if (core != NULL)
		result = place_put(digest, flags, core->src_addr,
				   core->src_addrlen, &info->src_addr,
				   &info->src_addrlen);
	else
		result = service_put(digest, flags, place->node,
				     is_source ? place->service : NULL,
				     &info->src_addr, &info->src_addrlen);
	if (result != 0)
		return result;
	if (hints != NULL &&
	    place_is_given(hints->dest_addr, hints->dest_addrlen))
		return address_put(hints->dest_addr, &info->dest_addr,
				   &info->dest_addrlen);
	if (is_source || (place->node == NULL && place->service == NULL))
		return 0;
	if (core != NULL)
		return place_put(digest, 0, core->dest_addr, core->dest_addrlen,
				 &info->dest_addr, &info->dest_addrlen);
	return service_put(digest, 0, place->node, place->service,
			   &info->dest_addr, &info->dest_addrlen);
}

/* --- addresses as sockets have them --- */

struct fi_info *place_hints(const struct fi_info *hints)
{
	struct fi_info *ours = fi_dupinfo(hints);

	if (ours == NULL)
		return NULL;
	const struct {
		void **bytes;
		size_t *size;
	} both[] = { { &ours->src_addr, &ours->src_addrlen },
		     { &ours->dest_addr, &ours->dest_addrlen } };
	ours->addr_format = FI_FORMAT_UNSPEC;
	for (unsigned int i = 0; i < 2; i++) {
		uint8_t read[LINK_ADDRESS_SIZE];
		if (!place_is_given(*both[i].bytes, *both[i].size))
			continue;
		if (format_read(hints->addr_format, 0, *both[i].bytes,
				*both[i].size, read) != 0) {
			fi_freeinfo(ours);
			return NULL;
		}
		free(*both[i].bytes);
		*both[i].bytes = NULL;
		if (address_put(read, both[i].bytes, both[i].size) != 0) {
			fi_freeinfo(ours);
			return NULL;
		}
	}
	return ours;
}

static bool info_write(struct fi_info *info, uint32_t format)
{
	uint32_t is = info->src_addr == NULL ? FI_FORMAT_UNSPEC
					     : format_of(info->src_addr);
	uint8_t bytes[LINK_ADDRESS_SIZE];

	if (is == FI_FORMAT_UNSPEC || (format != FI_SOCKADDR && format != is))
		return false;
	/* Ours are longer than any. */
	format_write(is, info->src_addr, bytes);
	memcpy(info->src_addr, bytes, format_size(is));
	info->src_addrlen = format_size(is);
	if (info->dest_addr != NULL) {
		format_write(is, info->dest_addr, bytes);
		memcpy(info->dest_addr, bytes, format_size(is));
		info->dest_addrlen = format_size(is);
	}
	info->addr_format = is;
	return true;
}

int place_list(struct fi_info **list, uint32_t format)
{
	struct fi_info **at = list;

	while (*at != NULL) {
		struct fi_info *info = *at;
		if (info_write(info, format)) {
			at = &info->next;
			continue;
		}
		*at = info->next;
		info->next = NULL;
		fi_freeinfo(info);
	}
	return *list == NULL ? -FI_ENODATA : 0;
}
