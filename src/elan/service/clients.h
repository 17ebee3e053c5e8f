/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connections of the daemon: who has how many, and whose turn it is. In a
 * turn all requests of root's are done, and one of each other user, so that
 * nobody waits for more than that of others, however much they ask for. When
 * there are as many connections as may be, the user with the most loses the one
 * that was served longest ago to who has fewer, or to root. A client is who it
 * was when it connected, and is asked for nothing any more when that process has
 * ended.
 */
#pragma once

#include <uv.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "elan/core/registry.h"

/*
 * Connections, over all and of one user that is not root; more get -EUSERS.
 * Fewer where the process may not have as many descriptors.
 */
#define CLIENTS_MAX     1024
#define CLIENTS_UID_MAX 512

struct clients;

/* A packet has come. Does the connection go on. */
typedef bool (*clients_serve)(void *ctx, int fd, const struct caller *caller,
			      const uint8_t *bytes, size_t size);

/* Borrows the loop and the log; takes listen_fd, in any case. */
int clients_create(uv_loop_t *loop, int listen_fd, unsigned int client_max,
		   clients_serve serve, void *ctx, const struct log *log,
		   struct clients **ret_clients);
/* Closes its handles; they are freed by the loop, which has to run once more. */
void clients_destroy(struct clients *clients);
/* The end of a connection: nothing but an error. Was it sent. */
bool clients_refuse(int fd, int result);
