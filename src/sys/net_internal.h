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
	bool is_waiting;   /* in the list of those that wait for their turn */
	bool is_clogged;   /* not read before the peer reads */
	uid_t uid;         /* of a Unix socket's peer, else -1 */
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
	struct connection *prev, *next; /* while it waits, or is ending */
	UT_hash_handle hh;
};

struct listener {
	struct net *net;
	bool is_unix;
	bool is_open;        /* the loop holds it */
	bool is_waiting;     /* one that connects has to, for the next round */
	unsigned int let_in; /* in this turn */
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
	struct connection *connections; /* by peer */
	size_t connection_count;
	size_t open_count;          /* of them, those with a descriptor */
	struct connection *waiting; /* with frames, for their turn */
	bool has_crowd;             /* a listener waits for its turn */
	struct connection *ending;  /* the oldest is first */
	uv_idle_t turns;
	bool has_turns; /* the loop holds it */
	uint64_t peer_last;
	struct listener listeners[NET_LISTENERS_MAX];
	size_t listener_count;
	bool is_destroyed; /* no events; freed when nothing is pending */
};

/* In a state of its own with an initialised timer, and counted. */
int connection_create(struct net *net, bool is_unix,
		      struct connection **ret_connection);
/* The stream is connected: read, and tell the owner. */
void connection_opened(struct connection *connection);
/* Let go at once; the closed event follows from the loop. */
void connection_drop(struct connection *connection, int reason);
/* One thing less that the loop holds; frees the connection after the last. */
void connection_released(struct connection *connection);
/* -errno of a stream's initialisation, which it counts as pending. */
int connection_stream_init(struct connection *connection);
/* Give its frames to the owner, as many as a turn has. */
void connection_take(struct connection *connection);
/* Read no more until it had another turn. */
void connection_wait(struct connection *connection);
void connection_wait_end(struct connection *connection);
/* The peer has to read what it was sent, before more is taken from it. */
bool connection_is_clogged(const struct connection *connection);
/* Something was written: it may not be clogged any more. */
void connection_flowed(struct connection *connection);
void connection_timer_start(struct connection *connection, uv_timer_cb callback,
			    uint64_t timeout_ms);
/* NULL: it is gone. */
struct connection *net_find(struct net *net, uint64_t peer);
/* Of the seam; ctx: the net. */
int net_send(void *ctx, uint64_t peer, const void *frame, size_t size);
/* Have a next round, in which also listeners have their turn again. */
void net_turns_start(struct net *net);
void net_turns_close(struct net *net);
/* Let in those who wait at listeners. */
void net_listen_turn(struct net *net);
/* Free the net once it is destroyed and empty. */
void net_released(struct net *net);
