/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport seam over streams: TCP, and Unix sockets between instances of
 * one user on one host. One epoll set for an instance, no thread.
 *
 * A member opens two connections to each peer that it sends requests to: one
 * for messages to it and replies from it, one for bulk data that the peer
 * reads. So a message waits for no bulk data, a reply goes back by the
 * connection by which its request came, and only peers whose address we know
 * can read our memory. Both are opened at the first use.
 *
 * Evidence: when a connection breaks, all replies that are expected from that
 * peer end with -ECONNRESET. A peer that refuses connections fails what is
 * sent to it (-EHOSTUNREACH): at once if it was connected before, after
 * TRANSPORT_TCP_CONNECT_NS if not, for it may be about to start.
 *
 * Addresses are struct sockaddr_in and struct sockaddr_in6.
 */
#pragma once

#include "scoll/transport/transport.h"

#define TRANSPORT_TCP_CONNECT_NS  UINT64_C(5000000000)
#define TRANSPORT_TCP_SEND_NS     UINT64_C(30000000000)
#define TRANSPORT_TCP_QUEUE_MAX   1024 /* transfers that wait for one peer */
#define TRANSPORT_TCP_READS_MAX   64   /* of one peer, of our memory */
#define TRANSPORT_TCP_ADDRESS_MAX 28   /* bytes */
/* Accepted connections that have not shown a valid message yet. */
#define TRANSPORT_TCP_DOUBTFUL_MAX 256

extern const struct transport_kind transport_tcp_kind;
