/* SPDX-License-Identifier: BSD-3-Clause */
#include "elan/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void route_encode(const struct route *route, struct writer *writer)
{
	write_u16(writer, route->node);
	write_u8(writer, route->family);
	write_bytes(writer, route->address, sizeof(route->address));
	write_u16(writer, route->port);
}

void route_read(struct reader *reader, struct route *ret_route)
{
	struct route route = { .node = read_u16(reader) };
	const uint8_t *address;

	route.family = read_u8(reader);
	address = read_bytes(reader, sizeof(route.address));
	route.port = read_u16(reader);
	if (reader->failed)
		return;
	memcpy(route.address, address, sizeof(route.address));
	*ret_route = route;
}

bool route_is_valid(const struct route *route)
{
	static const uint8_t none[12];

	return route->port != 0 &&
	       (route->family == 6 ||
		(route->family == 4 &&
		 memcmp(route->address + 4, none, sizeof(none)) == 0));
}

int routes_decode(const void *bytes, size_t size, struct route **ret_routes,
		  size_t *ret_count)
{
	struct reader reader = reader_of(bytes, size);
	_auto_(freep) struct route *routes = NULL;
	size_t count = size / ROUTE_SIZE;

	if (size % ROUTE_SIZE != 0 || count > ROUTES_MAX)
		return -EINVAL;
	if (count > 0) {
		routes = calloc(count, sizeof(*routes));
		if (routes == NULL)
			return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		route_read(&reader, &routes[i]);
		if (!route_is_valid(&routes[i]) ||
		    (i > 0 && routes[i].node <= routes[i - 1].node))
			return -EINVAL;
	}
	*ret_routes = take_ptr(routes);
	*ret_count = count;
	return 0;
}

static int compare(const void *key, const void *entry)
{
	uint32_t node = *(const uint32_t *)key;
	const struct route *route = entry;

	return node < route->node ? -1 : node > route->node;
}

const struct route *route_find(const struct route *routes, size_t count,
			       uint32_t node)
{
	/* Also where there are none at all. */
	return count == 0 ? NULL
			  : bsearch(&node, routes, count, sizeof(*routes),
				    compare);
}
