/* SPDX-License-Identifier: BSD-3-Clause */
/* A decoder takes only what would be encoded the same again. */
#include "lanes/driver/elan3/place.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "lanes/driver/elan3/hosts.h"

#define PLACE_VERSION 2
#define PLACE_BARE    1 /* without an adapter, as older ones are */
#define ADDRESS_SIZE  16
#define ADAPTER_SIZE  (1 + ADDRESS_SIZE + 2)

static_assert(2 + 3 * ELAN3_RAILS_MAX + ADAPTER_SIZE <= FAIRLEAD_PLACE_MAX,
	      "it fits");

void elan3_place_encode(const struct elan3_place *place,
			struct fairlead_place *ret_place)
{
	const struct route *adapter = &place->adapter;
	uint8_t *at = ret_place->bytes;

	*at++ = adapter->family ? PLACE_VERSION : PLACE_BARE;
	*at++ = (uint8_t)place->rail_count;
	for (uint32_t i = 0; i < place->rail_count; i++) {
		*at++ = (uint8_t)place->rails[i].port;
		*at++ = (uint8_t)place->rails[i].id;
		*at++ = (uint8_t)(place->rails[i].id >> 8);
	}
	if (adapter->family != 0) {
		*at++ = adapter->family;
		memcpy(at, adapter->address, ADDRESS_SIZE);
		at += ADDRESS_SIZE;
		*at++ = (uint8_t)adapter->port;
		*at++ = (uint8_t)(adapter->port >> 8);
	}
	ret_place->size = (size_t)(at - ret_place->bytes);
}

/* As it is in routes, so that it will be taken there. */
static bool adapter_is_valid(const struct route *adapter)
{
	static const uint8_t none[ADDRESS_SIZE - 4];

	return adapter->port != 0 &&
	       (adapter->family == 6 ||
		(adapter->family == 4 &&
		 memcmp(adapter->address + 4, none, sizeof(none)) == 0));
}

static bool adapter_read(struct reader *reader, struct route *ret_adapter)
{
	struct route adapter = { .family = read_u8(reader) };
	const uint8_t *address = read_bytes(reader, ADDRESS_SIZE);

	adapter.port = read_u16(reader);
	if (!address || reader->failed)
		return false;
	memcpy(adapter.address, address, ADDRESS_SIZE);
	*ret_adapter = adapter;
	return adapter_is_valid(&adapter);
}

int elan3_place_decode(const struct fairlead_place *bytes,
		       struct elan3_place *ret_place)
{
	struct reader reader = reader_of(bytes->bytes, bytes->size);
	struct elan3_place place = { 0 };
	uint8_t version = read_u8(&reader);

	if (version != PLACE_VERSION && version != PLACE_BARE)
		return -EBADMSG;
	place.rail_count = read_u8(&reader);
	if (place.rail_count > ELAN3_RAILS_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < place.rail_count; i++) {
		uint8_t port = read_u8(&reader);

		place.rails[i].port = (enum elan3_port)port;
		place.rails[i].id = read_u16(&reader);
		if (port >= ELAN3_PORT_STATES ||
		    place.rails[i].id > ELAN_ID_MAX ||
		    (port == ELAN3_PORT_ABSENT && place.rails[i].id != 0))
			return -EBADMSG;
	}
	if (version == PLACE_VERSION && !adapter_read(&reader, &place.adapter))
		return -EBADMSG;
	if (!reader_is_done(&reader))
		return -EBADMSG;
	*ret_place = place;
	return 0;
}

int elan3_place_check(const struct elan3_place *place, uint32_t rails,
		      uint32_t id, struct fairlead_error *ret_error)
{
	for (uint32_t i = 0; i < ELAN3_RAILS_MAX; i++) {
		if (!(rails >> i & 1))
			continue;
		if (i >= place->rail_count ||
		    place->rails[i].port == ELAN3_PORT_ABSENT)
			return error_set(ret_error, -EINVAL, "has no rail %u",
					 i);
		if (place->rails[i].port == ELAN3_PORT_DOWN)
			return error_set(ret_error, -EINVAL,
					 "reports its port on rail %u down", i);
		if (place->rails[i].id != id)
			return error_set(ret_error, -EINVAL,
					 "is ElanID %u on rail %u, and %u by "
					 "the file",
					 place->rails[i].id, i, id);
	}
	return 0;
}
