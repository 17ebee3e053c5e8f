/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client's end of the socket, for the library and for `ctl`. Calls block,
 * as an ioctl on the device would; signals do not interrupt them.
 */
#pragma once

#include "emu/cxi/wire/wire.h"
#include "sys/packet.h"

/*
 * Send a request to the daemon that packet_connect() found, and wait for its
 * reply, whose body is a view into packet (WIRE_REPLY_MAX bytes). ret_fds:
 * NULL, or zeroed; the caller closes what comes in it. -ECONNRESET: the daemon
 * is gone; -EPROTO: the packet is no reply to it. A refusal of the connection
 * is returned as the error it carries.
 */
int peer_call(int fd, const struct wire_request *request, uint8_t *packet,
	      struct softnic_wire_reply *ret_reply, struct packet_fds *ret_fds);
