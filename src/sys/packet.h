/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unix sockets of sequenced packets, for small daemons and the libraries that
 * call them: a packet is sent and received as a whole, with descriptors or
 * without. The socket of a daemon is DIR/socket. Calls of a client block, and
 * signals do not interrupt them.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define PACKET_FDS_MAX 2

/* Descriptors that came with a packet. */
struct packet_fds {
	int fds[PACKET_FDS_MAX];
	size_t count;
};

void packet_fds_close(struct packet_fds *fds);

/*
 * Both return the descriptor. -ENAMETOOLONG: dir does not fit
 * into a socket address. Anybody may connect.
 */
int packet_listen(const char *dir);
/* -ENOENT, -ECONNREFUSED: no daemon there. */
int packet_connect(const char *dir);

/* fds: NULL, or some that the peer gets. */
int packet_send(int fd, const void *bytes, size_t size,
		const struct packet_fds *fds);
/*
 * Wait for a packet: its bytes. ret_fds: NULL, or what came with it.
 * -ECONNRESET: the peer ended; -EMSGSIZE: it is larger than capacity.
 */
ssize_t packet_receive(int fd, void *bytes, size_t capacity,
		       struct packet_fds *ret_fds);
/* Send a request and wait for its reply: as packet_receive. */
ssize_t packet_call(int fd, const void *request, size_t request_size,
		    void *reply, size_t capacity, struct packet_fds *ret_fds);

/*
 * A text for a descriptor that goes with a packet, since it may be larger than
 * one: the descriptor. And the other end: print it to standard output.
 */
int packet_file_make(const void *bytes, size_t size);
int packet_file_print(int fd);
