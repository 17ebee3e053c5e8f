/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a node's devices say of themselves: where each rail is in its Elan
 * network, and whether its port is up. The node half reports it as its place;
 * the manager half compares it with the files. From nodes, and not trusted.
 *
 *	u8 1, u8 n, n times {u8 state, u16 ElanID}, the adapter (elan/route.h)
 *
 * by rail, little endian. Pure.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "lanes/driver/elan3/policy.h"
#include "fairlead_driver.h"
#include "elan/route.h"

enum elan3_port {
	ELAN3_PORT_ABSENT, /* the node has no such rail; its ElanID is 0 */
	ELAN3_PORT_UP,
	ELAN3_PORT_DOWN, /* no link, or the position is not known yet */
	ELAN3_PORT_STATES,
};

struct elan3_place {
	struct route adapter; /* its node is nothing; family 0: none */
	uint32_t rail_count;
	struct {
		enum elan3_port port;
		uint32_t id;
	} rails[ELAN3_RAILS_MAX];
};

void elan3_place_encode(const struct elan3_place *place,
			struct fairlead_place *ret_place);
/* -EBADMSG: it is none. */
int elan3_place_decode(const struct fairlead_place *bytes,
		       struct elan3_place *ret_place);
/*
 * Is the node, on these rails, where the files have it? -EINVAL with a text
 * that names the rail, to stand behind the node's name and a colon.
 */
int elan3_place_check(const struct elan3_place *place, uint32_t rails,
		      uint32_t id, struct fairlead_error *ret_error);
