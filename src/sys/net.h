/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The real net seam: frames over TCP and Unix sockets, on a libuv loop.
 *
 * A `struct net` is a set of connections with one set of events and limits:
 * the manager has one for nodes and one for clients. A frame on a stream is
 * `u32 length (little-endian), payload`; what the payload means is the
 * owner's. Connections are named by a handle, unique in their net, never 0.
 *
 * Life of a connection: net_dial(), net_adopt() or a listener, then `opened`, `received`
 * for each frame, perhaps `violated`, and exactly one `closed`. No event comes
 * from within a call of this header: all come from the loop. Closing is
 * gentle: what is queued is written, then the write side is shut down and what
 * the peer still sends is thrown away until it closes too, NET_LINGER_MS at
 * most.
 *
 * Peers take turns (turns.h): a user who sends many frames, by however many
 * connections, does not keep others waiting, nor do those who connect again and
 * again.
 *
 * One thread: the loop's. The process ignores SIGPIPE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/seam.h"
#include "sys/turns.h"

#define NET_FRAME_BYTES_MAX  1048576 /* of payload: the protocols' limit */
#define NET_FRAME_BYTES_MOST 8388608 /* that frame_bytes_max can be */
#define NET_QUEUE_BYTES_MAX  (4 * NET_FRAME_BYTES_MAX)
#define NET_FRAME_TIMEOUT_MS 10000 /* a frame that began is complete by then */
#define NET_DIAL_TIMEOUT_MS  10000 /* name resolution and connecting */
#define NET_LINGER_MS        2000  /* from close until what is left is lost */
#define NET_LISTENERS_MAX    4     /* of one net */
/* In one turn: frames of a peer that goes first, connections of a listener. */
#define NET_TURN_FRAMES      4 /* of others: one */
#define NET_TURN_CONNECTIONS 16

struct net_peer_info {
	bool is_unix;
	/* Of a Unix socket's peer when it connected; else -1, -1, 0. */
	uid_t uid;
	gid_t gid;
	pid_t pid;
	char address[64]; /* for logs: "10.0.0.7:41234", "uid 0 pid 77" */
	char local[46];   /* our end's numeric address over TCP; else "" */
};

struct net_events {
	/* The connection is up. info is borrowed for the call. */
	void (*opened)(void *ctx, uint64_t peer,
		       const struct net_peer_info *info);
	/* One whole frame's payload, 1 byte at least; borrowed. */
	void (*received)(void *ctx, uint64_t peer, const void *frame,
			 size_t size);
	/*
	 * Optional. The peer broke the framing: -EMSGSIZE (longer than
	 * allowed, or empty), -ETIMEDOUT (half a frame, then silence).
	 * Nothing more is read; last words may be sent from this call, and
	 * the connection is closed after it.
	 */
	void (*violated)(void *ctx, uint64_t peer, int reason);
	/*
	 * It is over: 0 (closed by either side in order), the reason of
	 * `violated`, or a negative errno of the socket. A dial that failed
	 * ends here without `opened`.
	 */
	void (*closed)(void *ctx, uint64_t peer, int reason);
	/*
	 * Optional: does this user go first? uid is -1 over TCP, until
	 * net_identify(). Without it root does, and all over TCP.
	 */
	bool (*goes_first)(void *ctx, uid_t uid);
};

/* A zero means the default above; connections_max has none. */
struct net_options {
	/* By reference, of several nets with clients; NULL: its own. */
	struct turns *turns;
	const struct net_events *events; /* by reference */
	void *events_ctx;
	/*
	 * Accepted over it: closed at once. Over TCP the connection that is
	 * being closed for the longest time is given up for the new one first.
	 */
	size_t connections_max;
	size_t frame_bytes_max;
	size_t queue_bytes_max; /* unsent bytes of one peer */
	/*
	 * A peer for which more is unsent is not read before it has read. For
	 * peers that ask and are answered; two that both do this could wait
	 * for each other. 0: never.
	 */
	size_t clog_bytes;
	/*
	 * Of connections_max on Unix sockets: what is root's alone, and what
	 * one other user may have at most (0: all), those that are being
	 * closed included. Over it: closed at once.
	 */
	size_t root_connections;
	size_t user_connections_max;
	uint64_t frame_timeout_ms;
	uint64_t linger_ms;
};

struct net;

/* The loop is kept by reference. */
struct net *net_create(uv_loop_t *loop, const struct net_options *options);
/*
 * Close all at once, without further events. The net is freed by the loop:
 * run it until it has nothing to do, before it is closed.
 */
void net_destroy(struct net *net);
DEFINE_AUTO(struct net, net_destroy)

/*
 * Listen on "ADDRESS:PORT" (numeric; port 0: any). -EINVAL, -EADDRINUSE,
 * -EADDRNOTAVAIL, -EACCES, -ENOSPC (listeners), ... with a text. *ret_port
 * (may be NULL) is the port that was bound.
 */
int net_listen_tcp(struct net *net, const char *address, uint16_t *ret_port,
		   struct fairlead_error *ret_error);
/*
 * Listen on a Unix socket at an absolute path, with this mode, before anybody
 * can connect. uid, gid: owner, or -1 to leave it. A socket that nobody
 * listens on is replaced; -EADDRINUSE when somebody does, -EEXIST when
 * something else is there. The path is removed by net_destroy() or
 * net_listen_stop() while it is still ours.
 */
int net_listen_unix(struct net *net, const char *path, mode_t mode, uid_t uid,
		    gid_t gid, struct fairlead_error *ret_error);
/*
 * Where to listen, for those who do so without a net: "HOST:PORT", numeric.
 * -EINVAL with a text.
 */
int net_parse_numeric(const char *address, struct sockaddr_storage *ret_storage,
		      struct fairlead_error *ret_error);
/* Accept nothing more; connections stay. */
void net_listen_stop(struct net *net);

/*
 * Connect to "HOST:PORT" (names are looked up) or to a Unix socket (an
 * absolute path). Whether it worked comes as an event. -EINVAL with a text,
 * -EMFILE at connections_max.
 */
int net_dial(struct net *net, const char *address, uint64_t *ret_peer,
	     struct fairlead_error *ret_error);

/*
 * Speak over a copy of a Unix stream socket that is connected; it is open at
 * once, and `opened` is not called. Negative errno.
 */
int net_adopt(struct net *net, int fd, uint64_t *ret_peer);

/*
 * The owner knows now whose connection over TCP this is. How many it has:
 * with this one, over all nets with the same turns.
 */
size_t net_identify(struct net *net, uint64_t peer, uid_t uid);
/* Give no more of its frames to the owner, or do so again. */
void net_hold(struct net *net, uint64_t peer, bool is_held);

/* The seam's table (send, close) with this net as its context. */
struct net_seam net_seam(struct net *net);
/* Connections of any state, for tests; listeners do not count. */
size_t net_connection_count(const struct net *net);
