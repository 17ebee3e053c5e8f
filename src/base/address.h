/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of the management network as text: "host:port", "[v6]:port". */
#pragma once

#include <stdint.h>

#include "base/error.h"

#define ADDRESS_HOST_MAX 253 /* bytes of a host name, without its zero */

struct address {
	char host[ADDRESS_HOST_MAX + 1]; /* a name or a numeric address */
	uint16_t port;
};

/* -EINVAL with a text; a port of 0 is allowed (any free one). */
int address_parse(const char *text, struct address *ret_address,
		  struct fairlead_error *ret_error);
/*
 * Where to be reached: a numeric address, in brackets or not, or the name of an
 * interface (which is not looked up), each with ":PORT" or not (0). -EINVAL
 * with a text.
 */
int address_parse_listen(const char *text, struct address *ret_address,
			 struct fairlead_error *ret_error);
