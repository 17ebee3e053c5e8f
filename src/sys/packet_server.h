/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connections of a small daemon, on a libuv loop: limits of users, and
 * turns (turns.h): root goes first, and a turn is one request. When
 * there are as many connections as may be, the user with the most loses the one
 * that was served longest ago to one with fewer, or to root. The daemon's
 * own user counts as root. A packet is a request; it is answered within its
 * turn, or its connection is closed.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "base/log.h"
#include "sys/packet.h"

/*
 * Connections, over all and of one user that is not root; more get -EUSERS.
 * Fewer where the process may not have as many descriptors.
 */
#define PACKET_CLIENTS_MAX     1024
#define PACKET_CLIENTS_UID_MAX 512
#define PACKET_REQUEST_MAX     32768 /* bytes */

struct packet_server;

struct packet_server_ops {
	/* A connection: the owner's state of it. An error refuses it. */
	int (*open)(void *ctx, int fd, const struct ucred *peer,
		    void **ret_client);
	/* A packet has come. Does the connection go on. */
	bool (*serve)(void *ctx, void *client, int fd, const void *bytes,
		      size_t size);
	/* It is closed. */
	void (*close)(void *ctx, void *client);
	/* Send the error that ends a connection, as the protocol has it. */
	void (*refuse)(int fd, int error);
};

/* Borrows all but listen_fd, which it takes in any case. */
int packet_server_create(uv_loop_t *loop, int listen_fd,
			 unsigned int client_max, size_t request_max,
			 const struct packet_server_ops *ops, void *ctx,
			 const struct log *log,
			 struct packet_server **ret_server);
/* Close all connections but the one that is being served. */
void packet_server_cut(struct packet_server *server);
/* Closes its handles; the loop frees them, and has to run once more for that. */
void packet_server_destroy(struct packet_server *server);
