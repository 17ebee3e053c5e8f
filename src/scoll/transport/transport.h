/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport seam of the collectives: what the core wants from a network.
 * transport/tcp does it with sockets, transport/ofi with libfabric,
 * transport/sim in virtual time.
 *
 * Delivery is reliable and without order: what was sent arrives once, or its
 * transfer ends with an error, or the peer dies. There are three ways:
 * messages, which nobody expects (at most SCOLL_BCAST_MAX bytes); replies, for
 * which a buffer was posted under a tag; and reads of a peer's memory.
 *
 * A call only starts a transfer. Its end comes as an event, never from inside
 * the call, and exactly once for each call that returned 0. Nothing is
 * allocated for a transfer: its struct is part of what it is for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/seam.h"
#include "scoll.h"

/*
 * Replies match on all of a tag; the upper bit is 0. The lower bits number the
 * parts of one reply: see cancel.
 */
#define TRANSPORT_TAG_MAX       (UINT64_MAX >> 1)
#define TRANSPORT_TAG_PART_BITS 12
#define TRANSPORT_IOV_MAX       4 /* pieces of a message or reply */

/* Borrowed by the transport from the call until its end. */
struct transfer {
	uint64_t scratch[28]; /* the transport's */
	int kind;             /* the caller's, see core */
};

/* Memory that peers may read, or that reads are put into. */
struct region {
	void *handle; /* the transport's; NULL: not open */
	size_t size;  /* bytes of all its pieces */
};

/* A piece of remote memory as its owner describes it. */
struct remote_piece {
	uint64_t address;
	uint64_t key;
	uint64_t size;
};

struct transport_events {
	/* A message; bytes are valid during the call. */
	void (*received)(void *ctx, uint64_t now_ns, const void *bytes,
			 size_t size);
	/*
	 * A transfer has ended. result: 0 (size: bytes of a reply that came
	 * in), -ECANCELED, -EMSGSIZE (a reply was larger than its buffers, of
	 * which nothing is known), or what went wrong: -EHOSTUNREACH (no
	 * address), -EIO, ...
	 */
	void (*done)(void *ctx, uint64_t now_ns, struct transfer *transfer,
		     int result, size_t size);
};

/*
 * All return 0 or a negative errno. -EAGAIN means that the transport is full,
 * for sends, for buffers or for reads: ask again after the next event. -EBUSY
 * means that too much waits for this peer alone: ask again later. Arrays of
 * pieces are copied; what they point to is borrowed until the end.
 */
struct transport_ops {
	int (*send)(void *ctx, scoll_nid_t to, const struct iovec *pieces,
		    int count, struct transfer *transfer);
	/* Wait for one reply with this tag. */
	int (*reply_post)(void *ctx, scoll_nid_t from, uint64_t tag,
			  const struct iovec *pieces, int count,
			  struct transfer *transfer);
	int (*reply_send)(void *ctx, scoll_nid_t to, uint64_t tag,
			  const struct iovec *pieces, int count,
			  struct transfer *transfer);
	/*
	 * End a reply_post early; its end comes, -ECANCELED or another. Tags
	 * that differ in their part bits belong together: when none of them
	 * is waited for, and the last one was given up, what comes for any of
	 * them is dropped.
	 */
	void (*cancel)(void *ctx, struct transfer *transfer);
	/*
	 * Open memory of at most SCOLL_BULK_IOVS_MAX pieces. ret_pieces
	 * (NULL: not for peers) has a capacity of `count` and is what peers
	 * need. -ENOMEM; never -EAGAIN.
	 */
	int (*region_open)(void *ctx, const struct iovec *pieces, int count,
			   struct region *ret_region,
			   struct remote_piece *ret_pieces);
	/*
	 * Peers' reads of it fail from now on, also those that are under way.
	 * Our own have ended.
	 */
	void (*region_close)(void *ctx, struct region *region);
	/*
	 * A peer may be reading memory of ours that is closed next, and will
	 * not report when it is done: end what is on its way to it. Messages
	 * to it and from it may be lost; what we send it from now on is not.
	 * Does nothing where the peer is not known any more. NULL: closing the
	 * region is enough.
	 */
	void (*disconnect)(void *ctx, scoll_nid_t from);
	/*
	 * Read `size` bytes at remote_offset of the peer's pieces to
	 * local_offset of the region; offsets count over all pieces.
	 */
	int (*read)(void *ctx, scoll_nid_t from,
		    const struct remote_piece *remote, int remote_count,
		    uint64_t remote_offset, const struct region *region,
		    uint64_t local_offset, size_t size,
		    struct transfer *transfer);
	/* We shall send to it soon; what that takes is no event. */
	void (*connect)(void *ctx, scoll_nid_t to);
	/*
	 * Where a node is, SCOLL_NID_ANY: where we are. *size: capacity, then
	 * bytes. -ENOENT: not known; -ENOSPC: it is larger. This and
	 * the next one may be NULL: there are no addresses.
	 */
	int (*address_get)(void *ctx, scoll_nid_t nid, void *ret_bytes,
			   size_t *size);
	/*
	 * A message said where a node is; zeros at the end are cut. Size 0:
	 * forget what was said. What the program has set stays. -EINVAL: no
	 * address of this network; -ENOSPC, -ENOMEM.
	 */
	int (*address_learn)(void *ctx, scoll_nid_t nid, const void *bytes,
			     size_t size);
	/*
	 * The message that is being delivered is valid, and of this node:
	 * replies to it and reads may go back the way it came. May be NULL.
	 */
	void (*sent_by)(void *ctx, scoll_nid_t nid);
};

struct transport_seam {
	const struct transport_ops *ops;
	void *ctx;
};

/* --- what the owner of a transport calls --- */

#define TRANSPORT_VERSION     1   /* of struct transport_kind */
#define TRANSPORT_ADDRESS_MAX 256 /* bytes */

struct epoll_event;

struct transport_options {
	const char *provider; /* of libfabric; NULL: the first that it finds */
	const char *node;     /* NULL: the transport chooses */
	const char *service;  /* NULL: the transport chooses */
	struct rng_seam rng;  /* for keys of memory */
	unsigned flags;       /* for tests: enum transport_ofi_flag */
};

struct transport_stats {
	uint64_t sent_count, sent_bytes; /* messages and replies */
	uint64_t received_count, received_bytes;
	uint64_t refused_count;    /* malformed messages, not delivered */
	uint64_t stale_count;      /* replies that nobody waited for, dropped */
	uint64_t failed_count;     /* transfers that ended with an error */
	uint64_t allocation_count; /* of memory, for transfers and regions */
	uint64_t waiting_count;    /* now: of messages, without a connection */
};

/*
 * A way to the network. Nothing happens outside of the calls, and events come
 * from progress, settle and stop only. One thread at a time: the owner locks.
 */
struct transport_kind {
	int version; /* TRANSPORT_VERSION */
	/*
	 * -ENODATA (no such provider), -EINVAL, -EADDRINUSE, -ENOMEM, ...,
	 * with the text of what failed.
	 */
	int (*open)(const struct transport_options *options, void **ret_ctx,
		    struct fairlead_error *ret_error);
	/*
	 * Leave the network: all that is under way ends now, from inside, and
	 * nothing is started any more (-ESHUTDOWN).
	 */
	void (*stop)(void *ctx);
	/* With whatever is under way; no event comes any more. NULL is allowed. */
	void (*close)(void *ctx);
	/* Set the receiver of events, before the first progress. */
	void (*listen)(void *ctx, const struct transport_events *events,
		       void *events_ctx);
	const struct transport_ops *ops;
	/* Whatever has come and is due. */
	void (*progress)(void *ctx, uint64_t now_ns);
	/*
	 * Report what calls have ended since, without a look at the network;
	 * false: nothing. May be NULL.
	 */
	bool (*settle)(void *ctx, uint64_t now_ns);
	/* Readable when there may be something to do. The transport's. */
	int (*fd)(void *ctx);
	/*
	 * When to call progress at the latest, if the descriptor shows nothing;
	 * 0: now. To be asked just before each wait.
	 */
	uint64_t (*deadline_ns)(void *ctx);
	/* Our address, for peers. -ENOSPC: *size is what is needed; -ESHUTDOWN. */
	int (*address)(void *ctx, void *ret_address, size_t *size);
	/*
	 * Say where a peer is; size 0: forget it. -EINVAL: no address of this
	 * network; -ENOSPC; -ENOMEM; -ENOENT: nothing to forget.
	 */
	int (*peer_set)(void *ctx, scoll_nid_t nid, const void *address,
			size_t size);
	/*
	 * An address from text; *size: of ret_address, then of what was
	 * written. May take long, as it may ask a name server, and be called
	 * while another thread is inside the transport.
	 */
	int (*resolve)(void *ctx, const char *node, const char *service,
		       void *ret_address, size_t *size,
		       struct fairlead_error *ret_error);
	/*
	 * It died, or was born again at the same address: let go of the old
	 * one. Of a peer that is alive it only breaks a connection. -ENOENT.
	 */
	int (*peer_refresh)(void *ctx, scoll_nid_t nid);
	void (*stats)(void *ctx, struct transport_stats *ret_stats);
};

/* One that is open. */
struct transport {
	const struct transport_kind *kind;
	void *ctx;
};

static inline struct transport_seam transport_seam_of(
	const struct transport *transport)
{
	return (struct transport_seam){ transport->kind->ops, transport->ctx };
}

/*
 * The one that options name: NULL or "tcp" is transport/tcp, any other a
 * provider of libfabric, with which libscoll-ofi.so is loaded (-ELIBACC).
 */
int transport_open(const struct transport_options *options,
		   struct transport *ret_transport,
		   struct fairlead_error *ret_error);
void transport_close(struct transport *transport);
