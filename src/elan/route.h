/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the software adapters of a lane's nodes are, by ElanID. As bytes, of
 * each, in rising order of ElanIDs:
 *
 *	u16 ElanID, u8 4 or 6, 16 bytes address (4 and zeros), u16 port
 *
 * little endian but for the address.
 */
#pragma once

#include "base/bytes.h"

#define ROUTE_SIZE  21
#define ROUTES_MAX  1024 /* of one lane */
#define ROUTES_SIZE (ROUTES_MAX * ROUTE_SIZE)

struct route {
	uint16_t node;
	uint8_t family; /* 4 or 6; 0: none */
	uint8_t address[16];
	uint16_t port;
};

void route_encode(const struct route *route, struct writer *writer);
/* What was encoded, whatever it says; where the reader fails nothing is set. */
void route_read(struct reader *reader, struct route *ret_route);
/* Does it lead somewhere, in the form in which it would be encoded. */
bool route_is_valid(const struct route *route);
/*
 * All of them; the caller frees *ret_routes, which is NULL where there are
 * none. -EINVAL: it is none, too many, or would not be encoded the same;
 * -ENOMEM.
 */
int routes_decode(const void *bytes, size_t size, struct route **ret_routes,
		  size_t *ret_count);
/* Among some in rising order of ElanIDs. NULL: there is none. */
const struct route *route_find(const struct route *routes, size_t count,
			       uint32_t node);
