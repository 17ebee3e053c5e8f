/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client's end, for librms and for the node's driver. A call is a
 * connection of its own, so that the kernel names the caller *now*: after
 * fork() or setuid() that is another one. Calls block; signals do not interrupt
 * them.
 */
#pragma once

#include "elan/wire/wire.h"
#include "sys/packet.h"

/* Where the daemon of this process is. Not to be freed. */
const char *rms_peer_dir(void);

struct rms_answer {
	uint8_t *packet;
	struct rms_reply reply; /* its body is in packet */
};

void rms_answer_fini(struct rms_answer *reply);
/*
 * Ask the daemon of a directory (NULL: rms_peer_dir()): the reply's result. On
 * failure too there is a body where the daemon gave one; fini it in any case.
 * -ENOENT, -ECONNREFUSED: no daemon; -EIO: it is gone before it has answered;
 * -EPROTO, -EPROTONOSUPPORT, -EUSERS, -ENAMETOOLONG, -ENOMEM, ...
 */
int rms_call(const char *dir, const struct rms_request *request,
	     struct rms_answer *ret_reply);
/*
 * The same, and the descriptors of the reply, which the caller closes. Zero
 * *ret_fds before.
 */
int rms_call_fds(const char *dir, const struct rms_request *request,
		 struct rms_answer *ret_reply, struct packet_fds *ret_fds);
