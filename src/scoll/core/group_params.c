/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group's parameters: its name, members and their addresses, in the body
 * or as bulk data. Addresses go before the list, which ends with the bytes.
 */
#include <errno.h>
#include <string.h>

#include "scoll/core/group_internal.h"

/* --- read --- */

int group_parameters_read(const struct wire_bcast *bcast,
			  const struct reader *bulk,
			  struct group_parameters *ret_parameters)
{
	struct reader reader = reader_of(bcast->params, bcast->params_size);
	size_t length = read_u8(&reader), size = 0;
	const uint8_t *name = read_bytes(&reader, length), *addresses = NULL;

	if (reader.failed || length > SCOLL_NAME_MAX ||
	    memchr(name, 0, length) != NULL)
		return -EBADMSG;
	if (bcast->flags & WIRE_MEMBERS_BULK) {
		if (reader.left > 0)
			return -EBADMSG;
		reader = bulk != NULL ? *bulk : reader;
	}
	if (bcast->flags & WIRE_ADDRESSES &&
	    (bulk != NULL || !(bcast->flags & WIRE_MEMBERS_BULK))) {
		size = read_u32(&reader);
		addresses = read_bytes(&reader, size);
	}
	if (reader.failed)
		return -EBADMSG;
	*ret_parameters = (struct group_parameters){
		.name = (const char *)name,
		.name_length = length,
		.addresses = addresses,
		.addresses_size = size,
		.list = reader,
	};
	return 0;
}

int group_membership_get(struct group_table *table,
			 const struct wire_bcast *bcast,
			 const struct group_parameters *parameters,
			 bool has_list, struct membership **ret_membership)
{
	struct memberships *memberships = table->options.memberships;

	if (has_list)
		return memberships_decode(memberships, &bcast->members,
					  parameters->list.at,
					  parameters->list.left,
					  ret_membership);
	*ret_membership = memberships_find(memberships, &bcast->members);
	return *ret_membership != NULL ? 0 : -ENODATA;
}

int group_addresses_get(struct group_table *table,
			const struct wire_bcast *bcast,
			const struct group_parameters *parameters,
			bool has_list, uint32_t count,
			struct addresses **ret_addresses)
{
	struct memberships *memberships = table->options.memberships;

	*ret_addresses = NULL;
	if (!(bcast->flags & WIRE_ADDRESSES))
		return 0;
	if (has_list)
		return addresses_decode(memberships, &bcast->addresses, count,
					parameters->addresses,
					parameters->addresses_size,
					ret_addresses);
	*ret_addresses = addresses_find(memberships, &bcast->addresses);
	if (*ret_addresses == NULL)
		return -ENODATA;
	if ((*ret_addresses)->count == count)
		return 0;
	addresses_unref(take_ptr(*ret_addresses));
	return -EBADMSG;
}

/* --- written --- */

static size_t addresses_size(const struct addresses *addresses)
{
	return addresses != NULL ? sizeof(uint32_t) + addresses->size : 0;
}

size_t group_list_size(const struct membership *membership,
		       const struct addresses *addresses)
{
	return addresses_size(addresses) + membership_encoded_size(membership);
}

void group_list_encode(const struct membership *membership,
		       const struct addresses *addresses, uint8_t *ret_bytes)
{
	size_t size = addresses_size(addresses);
	struct writer writer = {
		.data = ret_bytes,
		.capacity = size,
		.limit = size,
	};

	if (addresses != NULL)
		write_blob(&writer, addresses->bytes, addresses->size);
	membership_encode(membership, ret_bytes + size);
}

size_t group_params_size(const struct scoll_group *group, bool with_list)
{
	return 1 + strlen(group->name) +
	       (with_list ? group_list_size(group->membership, group->addresses)
			  : 0);
}

void group_params_encode(const struct scoll_group *group, bool with_list,
			 uint8_t *ret_params)
{
	size_t length = strlen(group->name);

	ret_params[0] = (uint8_t)length;
	memcpy(ret_params + 1, group->name, length);
	if (with_list)
		group_list_encode(group->membership, group->addresses,
				  ret_params + 1 + length);
}

/* --- where they are --- */

void group_addresses_set(struct scoll_group *group, struct addresses *addresses)
{
	struct addresses *old = group->addresses;

	group->addresses = addresses_ref(addresses);
	addresses_unref(old);
}

struct group_source group_source_of(struct group_table *table,
				    const struct wire_bcast *bcast)
{
	return (struct group_source){
		.root = bcast->root,
		.nonce = bcast->root_nonce,
		.number = bcast->number,
		.serial = ++table->last_serial,
	};
}

bool group_source_is_newer(const struct group_source *source,
			   const struct group_source *other)
{
	if (source->root == other->root && source->nonce == other->nonce)
		return source->number >= other->number;
	return source->serial >= other->serial;
}
