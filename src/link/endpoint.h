/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of an endpoint do for each other. */
#pragma once

#include "link/objects.h"

/*
 * Sources of messages, for matching: an address of the vector, or of a sender
 * that is not there its number, with this bit.
 */
#define SOURCE_BY_NUMBER (UINT64_C(1) << 63)
#define SOURCE_UNKNOWN   (UINT64_MAX - 1)

static inline fi_addr_t source_address(uint64_t source)
{
	return (source & SOURCE_BY_NUMBER) != 0 ? FI_ADDR_NOTAVAIL : source;
}

/* The structure that has this field at `pointer`. */
#define container(pointer, type, field) \
	((type *)((char *)(pointer)-offsetof(type, field)))

/* --- endpoint.c --- */

/* Whether the first rail is shared memory. */
static inline bool has_local(const struct link_ep *ep)
{
	return ep->rails[0].way == RAIL_SHARED;
}

/* Polls the rails that are due. Any thread. */
void ep_progress(struct link_ep *ep);
/* Our address of who has an address of the core; NOTAVAIL: unknown. */
static inline fi_addr_t rail_source(const struct rail *rail, fi_addr_t core)
{
	return core < rail->name_count ? rail->names[core] : FI_ADDR_NOTAVAIL;
}

/* The rail by which a peer is sent to. */
struct rail *rail_for(struct link_ep *ep, const struct peer *peer);

/* --- peer.c --- */

/* What is known of an address, or NULL. */
struct peer *ep_peer(const struct link_ep *ep, fi_addr_t address);
/*
 * Who is to be answered by a rail, by the number of its endpoint and its address:
 * it may not be in the vector. NULL if it cannot be reached. The rail is locked,
 * and no callback of its core under way.
 */
struct peer *ep_peer_or_stranger(struct rail *rail, uint64_t number,
				 const uint8_t from[LINK_ADDRESS_SIZE]);
/* An address was inserted in the vector, or removed. */
int ep_peer_add(struct link_ep *ep, fi_addr_t address,
		const struct link_address *of);
void ep_peer_remove(struct link_ep *ep, fi_addr_t address);
/* Forgets who is not in the vector. */
void ep_strangers_drop(struct link_ep *ep);

/* --- rail.c --- */

int rail_open(struct rail *rail, const struct core *core,
	      struct fid_fabric *fabric);
void rail_close(struct rail *rail);
/*
 * Takes in what the core has to say, and goes on with what waits. Returns whether
 * anything happened. The rail is locked.
 */
bool rail_poll(struct rail *rail);
/*
 * Bytes that came as a core's untagged message. -FI_ENOMEM: not now. The rail is
 * locked.
 */
int rail_take_frame(struct rail *rail, const uint8_t *bytes, size_t size);
/*
 * Sends a frame with a payload. Returns 0; -FI_EAGAIN when others wait (not
 * with `must`: it waits with them), or -FI_ENOMEM. The rail is locked. When
 * `with` is not NULL, its send ends with the frame's.
 */
struct frame_end {
	void *context;
	uint64_t flags;
};
int rail_send_frame(struct rail *rail, struct peer *peer, struct frame *frame,
		    const struct iovec *iov, size_t count,
		    const struct frame_end *with, bool must);
/* --- shared.c --- */

int shared_open(struct rail *rail);
/* Takes in a frame for which there was no room before. */
void shared_retry(struct rail *rail);
/* A message nobody expected is all there. */
void shared_arrived(struct arrival *arrival,
		    const struct fi_cq_tagged_entry *entry);
void shared_received(struct receive *receive,
		     const struct fi_cq_tagged_entry *entry, fi_addr_t core);

void shared_failed(struct receive *receive,
		   const struct fi_cq_err_entry *entry);

/* --- receive.c --- */

ssize_t link_cancel(struct fid *fid, void *context);
/* Fresh ones; NULL without memory. Matching is locked. */
struct receive *receive_alloc(struct link_ep *ep);
struct arrival *arrival_alloc(struct link_ep *ep, size_t room);
struct arrival *arrival_make(struct link_ep *ep, size_t room);
void receive_free(struct link_ep *ep, struct receive *receive);
void arrival_free(struct link_ep *ep, struct arrival *arrival);
/*
 * A frame with a message has come. -FI_ENOMEM: there is no room for it; nothing
 * has changed. The rail is locked.
 */
int receive_frame(struct rail *rail, const struct frame *frame);
/* A message is where it belongs. */
struct message_end {
	size_t size;
	uint64_t tag, data, flags;
	fi_addr_t source;
};
void receive_done(struct receive *receive, const struct message_end *end);
void receive_failed(struct receive *receive, const struct message_end *end,
		    int error, size_t missing);
/*
 * The sender of these messages has an address now: receives that name it take
 * them.
 */
void receive_rename(struct link_ep *ep, uint64_t number, fi_addr_t address);
/* Gives an arrival to the receive that it was matched to, in any state. */
void receive_give(struct receive *receive, struct arrival *arrival);
/* Puts an arrival that is complete, or to be read, into a receive. */
void receive_take(struct receive *receive, struct arrival *arrival);
struct receive *receive_of_match(struct match_receive *match);
struct arrival *arrival_of_message(struct match_message *message);
/* Gives all that is posted and kept back. */
void receive_drop_all(struct link_ep *ep);
size_t iov_put(const struct iovec *iov, size_t count, const void *data,
	       size_t size);

/* --- many.c: receives that take many. Matching is locked. --- */

/* Posts it, or fills it with what is there; it may be gone after that. */
void many_post(struct receive *many);
/* A message was matched to it: it waits for those before it. */
void many_add(struct receive *many, struct arrival *arrival);
/*
 * Gives those that can be placed their slices. Matching is unlocked while data is
 * copied; the receive may be gone after that.
 */
void many_drain(struct receive *many);

/* --- send.c --- */

/* One message; `iov` is the program's. */
struct message {
	const struct iovec *iov;
	size_t count, size;
	fi_addr_t to;
	uint64_t tag, data; /* tag: with LINK_UNTAGGED where it has none */
	uint64_t flags; /* FI_INJECT, FI_REMOTE_CQ_DATA, FI_COMPLETION, ... */
	void *context;
};
ssize_t send_message(struct link_ep *ep, const struct message *message);
void send_completed(struct link_ep *ep, void *context, uint64_t flags);
void send_failed(struct link_ep *ep, void *context, uint64_t flags, int error);
/* A DONE has come for a request. */
void send_answered(struct link_ep *ep, const struct frame *frame);
void send_drop_all(struct link_ep *ep);

/* --- rendezvous.c --- */

/* Begins to read a message. */
void reading_start(struct rail *rail, struct receive *receive,
		   const struct arrival *arrival);
/* Goes on with what is on the rail's list of work. The rail is locked. */
void reading_work(struct rail *rail);
void reading_ended(struct reading *reading, int error);
/* Nobody will read it: tells the sender. No rail is locked. */
void reading_refuse(struct arrival *arrival);

/* --- mr.c --- */

extern struct fi_ops_mr link_mr_ops;
/* An endpoint is enabled: what peers may reach is registered at its rails. */
int mr_endpoint_comes(struct link_ep *ep);
/* It is about to be closed, or could not be enabled. */
void mr_endpoint_goes(struct link_ep *ep);

/* --- rma.c --- */

extern struct fi_ops_rma link_rma_ops;
struct access;
/* The core is done with a read or write. The rail is locked. */
void access_ended(struct access *access, int error);
void accesses_drop(struct rail *rail);

/* --- domain.c: operations that an object does not have, -FI_ENOSYS --- */

int no_bind(struct fid *fid, struct fid *other, uint64_t flags);
int no_control(struct fid *fid, int command, void *arg);
int no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
		void *context);
