/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the net seam share; nobody else includes it. */
#pragma once

#include <utlist.h>

#include "base/address.h"
#include "base/hash.h"
#include "sys/net.h"

#define NET_HEADER_SIZE    4
#define NET_FRAME_SIZE_MIN 1

enum connection_state {
	CONNECTION_DIALING,
	CONNECTION_OPEN,
	CONNECTION_ENDING, /* writes what is queued, reads into nothing */
	CONNECTION_CLOSED, /* waits for the loop to let go */
};

struct connection {
	struct net *net;
	uint64_t peer;
	enum connection_state state;
	int reason; /* of the closed event */
	bool is_unix;
	bool is_announced; /* the owner knows the handle */
	bool is_accepted;  /* it came by a listener */
	bool has_stream;   /* stream is initialised */
	bool is_held;      /* by the owner */
	bool is_clogged;   /* held, or not read before the peer reads */
	uid_t uid;         /* -1: not known */
	struct turns_asker asker;
	union {
		uv_handle_t handle;
		uv_stream_t stream;
		uv_tcp_t tcp;
		uv_pipe_t pipe;
	};
	uv_timer_t timer; /* of the dial, the frame, or the linger */
	uv_connect_t connect;
	uv_shutdown_t shutdown;
	uv_getaddrinfo_t resolve;
	struct addrinfo *addresses; /* of a dial, owned */
	struct addrinfo *address;   /* the one that is tried; NULL: none left */
	unsigned int pending; /* handles and requests the loop still holds */
	uint8_t *bytes;       /* received, not yet delivered */
	size_t size;
	size_t capacity;
	struct connection *prev, *next; /* while it is ending */
	UT_hash_handle hh;
};

struct listener {
	struct net *net;
	bool is_unix;
	bool is_open;        /* the loop holds it */
	unsigned int let_in; /* in this turn */
	struct turns_asker asker;
	union {
		uv_handle_t handle;
		uv_stream_t stream;
		uv_tcp_t tcp;
		uv_pipe_t pipe;
	};
	char *path; /* of the Unix socket; owned */
	uint64_t path_dev;
	uint64_t path_ino;
};

struct net {
	uv_loop_t *loop;
	struct net_options options;
	struct turns *turns_owned;      /* or NULL */
	struct connection *connections; /* by peer */
	size_t connection_count;
	size_t open_count;         /* of them, those with a descriptor */
	struct connection *ending; /* the oldest is first */
	uint64_t peer_last;
	struct listener listeners[NET_LISTENERS_MAX];
	size_t listener_count;
	bool is_destroyed; /* no events; freed when nothing is pending */
};

/* In a state of its own with an initialised timer, and counted. */
struct connection *connection_create(struct net *net, bool is_unix);
/* It takes turns from now on, with those of its user. */
void connection_join(struct connection *connection);
/* Open: read, and announce the end. */
int connection_read(struct connection *connection);
/* The stream is connected: read, and tell the owner. */
void connection_opened(struct connection *connection);
/* Let go at once; the closed event follows from the loop. */
void connection_drop(struct connection *connection, int reason);
/* One thing less that the loop holds; frees the connection after the last. */
void connection_released(struct connection *connection);
/* -errno of a stream's initialisation, which it counts as pending. */
int connection_stream_init(struct connection *connection);
/* Something was written: it may not be clogged any more. */
void connection_flowed(struct connection *connection);
void connection_timer_start(struct connection *connection, uv_timer_cb callback,
			    uint64_t timeout_ms);
/* NULL: it is gone. */
struct connection *net_find(struct net *net, uint64_t peer);
/* Of the seam; ctx: the net. */
int net_send(void *ctx, uint64_t peer, const void *frame, size_t size);
/* Free the net once it is destroyed and empty. */
void net_released(struct net *net);
