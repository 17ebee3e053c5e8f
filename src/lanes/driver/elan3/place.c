/* SPDX-License-Identifier: BSD-3-Clause */
/* A decoder takes only what would be encoded the same again. */
#include "lanes/driver/elan3/place.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "lanes/driver/elan3/hosts.h"

#define PLACE_VERSION 1

static_assert(2 + 3 * ELAN3_RAILS_MAX + ROUTE_SIZE <= FAIRLEAD_PLACE_MAX,
	      "it fits");

void elan3_place_encode(const struct elan3_place *place,
			struct fairlead_place *ret_place)
{
	struct writer writer = { 0 };

	write_u8(&writer, PLACE_VERSION);
	write_u8(&writer, (uint8_t)place->rail_count);
	for (uint32_t i = 0; i < place->rail_count; i++) {
		write_u8(&writer, (uint8_t)place->rails[i].port);
		write_u16(&writer, (uint16_t)place->rails[i].id);
	}
	route_encode(&place->adapter, &writer);
	memory_check(writer.result);
	memcpy(ret_place->bytes, writer.data, writer.size);
	ret_place->size = writer.size;
	writer_fini(&writer);
}

/* As it is in routes, so that it will be taken there; or none. */
static bool adapter_is_valid(const struct route *adapter)
{
	static const uint8_t none[sizeof(adapter->address)];

	return adapter->node == 0 &&
	       (route_is_valid(adapter) ||
		(adapter->family == 0 && adapter->port == 0 &&
		 memcmp(adapter->address, none, sizeof(none)) == 0));
}

int elan3_place_decode(const struct fairlead_place *bytes,
		       struct elan3_place *ret_place)
{
	struct reader reader = reader_of(bytes->bytes, bytes->size);
	struct elan3_place place = { 0 };

	if (read_u8(&reader) != PLACE_VERSION)
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
	route_read(&reader, &place.adapter);
	if (!reader_is_done(&reader) || !adapter_is_valid(&place.adapter))
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
