/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives, and messages that came before theirs. */
#pragma once

#include "link/loss.h"
#include "link/match/match.h"
#include "link/op.h"
#include "link/wire/frame.h"

struct link_ep;
struct rail;

/* A receive of the program's, or a slice of one that takes many messages. */
struct receive {
	struct link_op op;
	struct match_receive match;
	struct fi_peer_rx_entry entry; /* for a shared rail */
	struct link_ep *ep;
	struct receive *next;   /* in the list of free ones */
	struct receive *parent; /* of a slice */
	unsigned int slices;    /* of it that are under way */
	unsigned int holds;     /* of who looks at it without the lock */
	bool is_full;           /* no more slices are taken */
	/* Messages that it takes, in the order of their matching. */
	struct arrival *waiting, *waiting_last;
	void *context;
	uint64_t flags; /* FI_COMPLETION, FI_MULTI_RECV, ... */
	bool is_tagged;
	bool is_cancelled;  /* at the core, or many; by the program */
	size_t count, size; /* of iov; bytes in all of it */
	struct iovec iov[LINK_IOV_MAX];
};

enum arrival_state {
	ARRIVAL_PENDING, /* the core is putting the data there */
	ARRIVAL_HERE,    /* the data is in `data` */
	ARRIVAL_READY,   /* it is to be read */
	ARRIVAL_FRAME,   /* no message: a frame, which is being put there */
	ARRIVAL_CLAIMED, /* a matching core has it for us */
	ARRIVAL_TAKEN,   /* it is being put into its receive */
};

/* A message that came before its receive. */
struct arrival {
	struct link_op op;
	struct match_message match;
	struct fi_peer_rx_entry entry; /* for a shared rail */
	struct iovec iov;
	struct link_ep *ep;
	struct rail *rail;
	struct arrival *next, *before;
	enum arrival_state state;
	bool is_tagged;
	struct receive
		*receive; /* that took it while it was pending, or NULL */
	uint64_t flags, remote_data;
	size_t size;             /* of the message */
	struct link_frame frame; /* READY */
	struct awaited awaited;  /* TAKEN, by a matching core */
	size_t capacity;         /* bytes at data */
	uint8_t *data;
};

/* What it counts for where what waits is bounded. */
static inline uint64_t arrival_cost(const struct arrival *arrival)
{
	return sizeof(*arrival) + arrival->capacity;
}

/* A FI_PEEK of the program's that waits until the core has said what it has. */
struct peek {
	struct peek *next;
	bool is_tagged;
	bool is_covered; /* the claim under way began after it */
	fi_addr_t source;
	uint64_t tag, ignore, flags;
	void *context;
};

/* Matching is locked; NULL without memory. */
struct receive *receive_alloc(struct link_ep *ep);
/* With that capacity: of the inject size, one that was given back. */
struct arrival *arrival_alloc(struct link_ep *ep, size_t capacity);
/* The same, always a new one. */
struct arrival *arrival_make(struct link_ep *ep, size_t capacity);
void receive_free(struct link_ep *ep, struct receive *receive);
void arrival_free(struct link_ep *ep, struct arrival *arrival);
/* A message is where it belongs. */
struct message_end {
	size_t size;
	uint64_t tag, data, flags;
	fi_addr_t source;
};
/* A message that has come by a fabric. */
struct coming {
	struct message_end end; /* its source is filled in */
	uint64_t source;        /* for matching */
	uint64_t number;        /* of the sender, where it says that; or 0 */
	bool is_tagged;
	const uint8_t *payload;
	const struct link_frame *ready; /* it is to be read; or NULL */
};
/*
 * One has come, in a frame or as it is. -FI_ENOMEM: it does not fit;
 * nothing has changed. The rail is locked.
 */
int receive_frame(struct rail *rail, const struct link_frame *frame);
int receive_message(struct rail *rail, struct coming *coming);
void receive_done(struct receive *receive, const struct message_end *end);
void receive_failed(struct receive *receive, const struct message_end *end,
		    int error, size_t missing);
/* Copies a message, and ends the receive by what fitted. */
void receive_copy(struct receive *receive, const void *data,
		  const struct message_end *end);
/*
 * A peer is known from now on, by this address: receives that name it take what
 * came from it before. And is no more: what waits is from its twin, or by
 * number.
 */
void receive_name(struct link_ep *ep, struct peer *peer, fi_addr_t address);
void receive_unname(struct link_ep *ep, struct peer *peer, fi_addr_t address,
		    fi_addr_t twin);
/*
 * Gives an arrival to the receive that it was matched to, in any state.
 * Matching is locked; it is not any more then.
 */
void receive_give(struct receive *receive, struct arrival *arrival);
/* Puts an arrival that is complete, or to be read, into a receive. */
void receive_take(struct receive *receive, struct arrival *arrival);
struct receive *receive_of_match(struct match_receive *match);
struct arrival *arrival_of_message(struct match_message *message);
/* Gives all that is posted and kept back. */
void receive_drop_all(struct link_ep *ep);

ssize_t link_cancel(struct fid *fid, void *context);
/* Answers a peek, if there is a message for it, or `is_last`. */
bool peek_answer(struct link_ep *ep, const struct peek *peek, bool is_last);
