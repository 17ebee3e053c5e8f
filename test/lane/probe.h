/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What somebody does with a socket: a child process goes into a network
 * namespace, becomes a user, makes the socket, and hands it back. So the kernel
 * sees another user's process and socket, and the caller keeps what
 * comes of it.
 *
 * Nothing here waits: sockets are non-blocking.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lanes/driver/ethernet/naming.h"

struct probe_actor {
	int netns; /* descriptor of the network namespace; -1: ours */
	uid_t uid; /* with the group of this number, and no other */
};

struct probe_end {
	struct ip_address address; /* family 0: none */
	uint16_t port;
};

struct probe_call {
	int type;              /* SOCK_STREAM, SOCK_DGRAM, SOCK_RAW */
	bool is_mapped;        /* IPv4 by an IPv6 socket */
	bool is_listening;     /* of SOCK_STREAM */
	bool is_multipath;     /* of SOCK_STREAM */
	struct probe_end from; /* to bind to; port 0: any */
	struct probe_end to;   /* to connect or to send to */
	struct ip_address via; /* the way that the sender wants; family 0 */
	const char *device;    /* to bind to; NULL: none */
	uint8_t tos;           /* DSCP and ECN */
	const void *bytes;     /* sent at once; SOCK_RAW: with IP's header */
	size_t size;
};

/*
 * The socket, or the negative errno of what was refused. A connection that is
 * being made is no failure.
 */
int probe_open(const struct probe_actor *actor, const struct probe_call *call);

/* A connection that was being made: 1, 0: not yet, or a negative errno. */
int probe_connected(int fd);
/* The connection that has come, as a socket; -EAGAIN: none has. */
int probe_accept(int fd);
/* Bytes that have come; -EAGAIN: none have. */
ssize_t probe_receive(int fd, void *bytes, size_t capacity);

/*
 * A packet as somebody forges it, for a socket of UDP to send: VXLAN's header,
 * an Ethernet frame, and a UDP datagram in it.
 */
#define PROBE_FORGED_MAX 256

struct probe_forgery {
	uint32_t vni;
	uint8_t to_mac[ETHERNET_MAC_SIZE];
	struct probe_end from, to; /* of the datagram in the frame */
	const char *text;          /* in the datagram */
};

size_t probe_forge(const struct probe_forgery *forgery,
		   uint8_t packet[PROBE_FORGED_MAX]);

/*
 * A datagram of UDP in two fragments, each with its IP header, for a raw socket
 * to send; to.port is to be 0 there. In neither is UDP's header to be found
 * over IPv6: before it are two headers with options, one in each fragment.
 */
#define PROBE_PIECES_COUNT 2
#define PROBE_PIECE_MAX    (PROBE_FORGED_MAX + 64)

struct probe_piece {
	uint8_t bytes[PROBE_PIECE_MAX];
	size_t size;
};

/* size: to PROBE_FORGED_MAX. */
void probe_cut(const struct probe_end *from, const struct probe_end *to,
	       const void *payload, size_t size,
	       struct probe_piece ret_pieces[PROBE_PIECES_COUNT]);
