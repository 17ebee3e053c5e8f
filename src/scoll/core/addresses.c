/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A block is the struct, the offsets, the bytes. What is the same as that of
 * the node before is one byte, so that many members behind one address cost
 * little; its offset is that of the first of them.
 */
#include "scoll/core/addresses.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "scoll/core/membership_internal.h"

#define SAME_AS_BEFORE 255

struct addresses *addresses_find(struct memberships *memberships,
				 const struct wire_digest *digest)
{
	struct addresses *addresses;

	HASH_FIND(hh, memberships->addresses, digest, sizeof(*digest),
		  addresses);
	return addresses != NULL ? addresses_ref(addresses) : NULL;
}

struct addresses *addresses_ref(struct addresses *addresses)
{
	addresses->reference_count++;
	return addresses;
}

static size_t block_size(uint32_t count, size_t size)
{
	return sizeof(struct addresses) + count * sizeof(uint32_t) + size;
}

void addresses_unref(struct addresses *addresses)
{
	if (addresses == NULL || --addresses->reference_count > 0)
		return;
	HASH_DEL(addresses->owner->addresses, addresses);
	addresses->owner->size -= block_size(addresses->count, addresses->size);
	free(addresses);
}

/* Where each address is. -EBADMSG: they are not `count` well-formed ones. */
static int offsets_find(const uint8_t *bytes, size_t size, uint32_t count,
			uint32_t *ret_offsets)
{
	struct reader reader = reader_of(bytes, size);

	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *at = reader.at, *address;
		uint8_t length = read_u8(&reader);

		if (length == SAME_AS_BEFORE) {
			if (i == 0)
				return -EBADMSG;
			ret_offsets[i] = ret_offsets[i - 1];
			continue;
		}
		address = read_bytes(&reader, length);
		if (reader.failed || length > WIRE_ADDRESS_MAX ||
		    (length > 0 && address[length - 1] == 0))
			return -EBADMSG;
		ret_offsets[i] = (uint32_t)(at - bytes);
	}
	return reader.failed || reader.left > 0 ? -EBADMSG : 0;
}

static int intern(struct memberships *memberships,
		  const struct wire_digest *digest, uint32_t count,
		  const void *bytes, size_t size,
		  struct addresses **ret_addresses)
{
	_auto_(freep) struct addresses *addresses =
		malloc(block_size(count, size));
	uint32_t *offsets;
	int result;

	if (addresses == NULL)
		return -ENOMEM;
	offsets = (uint32_t *)(addresses + 1);
	*addresses = (struct addresses){
		.digest = *digest,
		.count = count,
		.reference_count = 1,
		.size = size,
		.bytes = memcpy(offsets + count, bytes, size),
		.offsets = offsets,
		.owner = memberships,
	};
	result = offsets_find(addresses->bytes, size, count, offsets);
	if (result < 0)
		return result;
	HASH_ADD(hh, memberships->addresses, digest, sizeof(addresses->digest),
		 addresses);
	if (!hash_was_added(addresses))
		return -ENOMEM;
	memberships->size += block_size(count, size);
	*ret_addresses = take_ptr(addresses);
	return 0;
}

int addresses_decode(struct memberships *memberships,
		     const struct wire_digest *digest, uint32_t count,
		     const void *bytes, size_t size,
		     struct addresses **ret_addresses)
{
	struct addresses *known = addresses_find(memberships, digest);
	struct wire_digest computed;

	if (known != NULL && known->count != count) {
		addresses_unref(known);
		return -EBADMSG;
	}
	if (known != NULL) {
		*ret_addresses = known;
		return 0;
	}
	if (size < count)
		return -EBADMSG;
	wire_digest_of(bytes, size, &computed);
	if (!wire_digest_equals(&computed, digest))
		return -ESTALE;
	return intern(memberships, digest, count, bytes, size, ret_addresses);
}

static int write_all(const struct membership *membership,
		     addresses_lookup_fn lookup, void *ctx,
		     struct writer *writer)
{
	uint8_t address[WIRE_ADDRESS_MAX], last[WIRE_ADDRESS_MAX];
	size_t last_size = SAME_AS_BEFORE;

	for (uint32_t i = 0; i < membership->count; i++) {
		int size = lookup(ctx, membership->nids[i], address);

		if (size < 0)
			return size;
		if ((size_t)size == last_size &&
		    memcmp(address, last, last_size) == 0) {
			write_u8(writer, SAME_AS_BEFORE);
			continue;
		}
		last_size = (size_t)size;
		memcpy(last, address, last_size);
		write_u8(writer, (uint8_t)last_size);
		write_bytes(writer, last, last_size);
	}
	return writer->result;
}

int addresses_collect(const struct membership *membership,
		      addresses_lookup_fn lookup, void *ctx,
		      struct addresses **ret_addresses)
{
	struct writer writer = { 0 };
	struct wire_digest digest;
	int result = write_all(membership, lookup, ctx, &writer);

	if (result == 0) {
		wire_digest_of(writer.data, writer.size, &digest);
		*ret_addresses = addresses_find(membership->owner, &digest);
		if (*ret_addresses == NULL)
			result = intern(membership->owner, &digest,
					membership->count, writer.data,
					writer.size, ret_addresses);
	}
	writer_fini(&writer);
	return result;
}

size_t addresses_at(const struct addresses *addresses, uint32_t index,
		    const uint8_t **ret_bytes)
{
	const uint8_t *at;

	assert(index < addresses->count);
	at = addresses->bytes + addresses->offsets[index];
	*ret_bytes = at + 1;
	return at[0];
}

size_t address_trim(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size > 0 && at[size - 1] == 0)
		size--;
	return size;
}
