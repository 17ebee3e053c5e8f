/* SPDX-License-Identifier: BSD-3-Clause */
/* A decoder takes only what would be encoded the same again. */
#include "driver/elan3/place.h"

#include <assert.h>

#include "base/bytes.h"
#include "driver/elan3/hosts.h"

#define PLACE_VERSION 1

static_assert(2 + 3 * ELAN3_RAILS_MAX <= FAIRLEAD_PLACE_MAX, "it fits");

void elan3_place_encode(const struct elan3_place *place,
			struct fairlead_place *ret_place)
{
	uint8_t *at = ret_place->bytes;

	*at++ = PLACE_VERSION;
	*at++ = (uint8_t)place->rail_count;
	for (uint32_t i = 0; i < place->rail_count; i++) {
		*at++ = (uint8_t)place->rails[i].port;
		*at++ = (uint8_t)place->rails[i].id;
		*at++ = (uint8_t)(place->rails[i].id >> 8);
	}
	ret_place->size = (size_t)(at - ret_place->bytes);
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
