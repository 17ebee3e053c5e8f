/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients over TCP (doc/rfc/client-protocol.md): takes requests and answers
 * out of their envelopes and puts them into them, and asks MUNGE who is there.
 * What comes out looks like a client of a Unix socket: its events are those of
 * a net, with the uid that MUNGE has vouched for, and its seam serves its own
 * peers and those of the net of Unix sockets that it stands before.
 *
 * Nothing here waits for munged on the loop: one request and one answer at a
 * time are with a thread of libuv's, in the order they came. A connection has
 * one request there, and is read no more meanwhile, nor while
 * TCP_CLIENT_ANSWERS_MAX of its answers are. It is one uid's from its first
 * good request on; only then is it opened for the owner.
 *
 *	tcp_clients_create -> tcp_clients_listen -> events ... -> tcp_clients_destroy
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/seam.h"
#include "sys/net.h"

#define TCP_CLIENTS_OF_USER_MAX 64 /* connections of one uid */
#define TCP_CLIENT_ANSWERS_MAX  4  /* of a connection, that wait for munged */

struct tcp_clients;

struct tcp_clients_options {
	uv_loop_t *loop;
	struct turns *turns;      /* by reference */
	const char *munge_socket; /* "" is libmunge's default */
	size_t connections_max;
	/*
	 * opened, received, closed; and goes_first, but for root. info:
	 * is_unix is false, uid is set, gid and pid are not.
	 */
	const struct net_events *events;
	void *events_ctx;
	struct net_seam local; /* of the peers not connected over TCP */
	const struct log *log;
};

/* Those of munge_open(), with a text. */
int tcp_clients_create(const struct tcp_clients_options *options,
		       struct tcp_clients **ret_clients,
		       struct fairlead_error *ret_error);
/* As net_listen_tcp(). */
int tcp_clients_listen(struct tcp_clients *clients, const char *address,
		       uint16_t *ret_port, struct fairlead_error *ret_error);
void tcp_clients_listen_stop(struct tcp_clients *clients);
/* Close all at once, without further events. The loop frees it. */
void tcp_clients_destroy(struct tcp_clients *clients);
DEFINE_AUTO(struct tcp_clients, tcp_clients_destroy)

struct net_seam tcp_clients_seam(struct tcp_clients *clients);
