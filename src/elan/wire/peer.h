/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client's end, for librms and for the node's driver. A call is a
 * connection of its own, so that the kernel says who asks *now*: after fork()
 * or setuid() it is somebody else. Calls block; signals do not interrupt them.
 */
#pragma once

#include "elan/wire/wire.h"
#include "sys/packet.h"

/* Where the daemon of this process is. Not to be freed. */
const char *peer_dir(void);

struct peer_reply {
	uint8_t *packet;
	struct wire_reply reply; /* its body is in packet */
};

void peer_reply_fini(struct peer_reply *reply);
/*
 * Ask the daemon of a directory (NULL: peer_dir()): the reply's result. On
 * failure too there is a body where the daemon gave one; fini it in any case.
 * -ENOENT, -ECONNREFUSED: no daemon; -EIO: it is gone before it has answered;
 * -EPROTO, -EPROTONOSUPPORT, -EUSERS, -ENAMETOOLONG, -ENOMEM, ...
 */
int peer_call(const char *dir, const struct wire_request *request,
	      struct peer_reply *ret_reply);
/*
 * The same, and the descriptors of the reply, which the caller closes. Zero
 * *ret_fds before.
 */
int peer_call_fds(const char *dir, const struct wire_request *request,
		  struct peer_reply *ret_reply, struct packet_fds *ret_fds);
