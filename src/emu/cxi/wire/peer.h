/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client's end of the socket, for the library and for `ctl`. Calls block,
 * as an ioctl on the device would; signals do not interrupt them.
 */
#pragma once

#include "emu/cxi/wire/wire.h"

/*
 * Connect to the daemon of a directory. Returns the descriptor. -ENOENT or
 * -ECONNREFUSED: no daemon there; -ENAMETOOLONG.
 */
int peer_connect(const char *dir);
/*
 * Send a request and wait for its reply, whose body is a view into packet.
 * -ECONNRESET, -EPIPE: the daemon is gone; -EPROTO: what came is no reply to
 * it. A refusal of the connection is returned as the error it carries.
 */
int peer_call(int fd, const struct wire_request *request, uint8_t *packet,
	      size_t capacity, struct wire_reply *ret_reply);
/* Wait for the next packet of a reply that goes on (WIRE_MORE). */
int peer_receive(int fd, uint8_t *packet, size_t capacity,
		 struct wire_reply *ret_reply);
