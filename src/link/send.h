/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends. */
#pragma once

#include "link/endpoint.h"
#include "link/memory.h"
#include "link/op.h"

/* A send that waits for its receiver's answer. */
struct send {
	struct link_op op;
	struct link_ep *ep;
	struct rail *rail; /* by which it went */
	struct send *next;
	bool is_used;
	bool was_seen;    /* waits since before the last look: loss.c */
	uint32_t request; /* its place in the endpoint's table */
	uint64_t number;  /* of the endpoint that has to answer */
	void *context;
	uint64_t flags;
	size_t size;
	uint32_t turn; /* how often its place was used */
	bool is_pushed;
	struct exposed exposed;
};

/* Flags of what is sent, read and written: of the call, or by default. */
static inline uint64_t send_flags_with(const struct fid_ep *fid, uint64_t flags)
{
	return flags | (ep_of(fid)->send_selective ? 0 : FI_COMPLETION);
}

static inline uint64_t send_flags_of(const struct fid_ep *fid)
{
	const struct ep_face *face = (const struct ep_face *)fid;

	return send_flags_with(fid, face->send_flags);
}

/* One message; `iov` is the program's. */
struct link_message {
	const struct iovec *iov;
	size_t count, size;
	fi_addr_t to;
	uint64_t tag, data; /* tag: with LINK_UNTAGGED where it has none */
	uint64_t flags; /* FI_INJECT, FI_REMOTE_CQ_DATA, FI_COMPLETION, ... */
	void *context;
};
ssize_t send_message(struct link_ep *ep, const struct link_message *message);
/* As the core's own tagged message, of at most its inject size. */
ssize_t send_injected(struct rail *rail, const struct peer *peer,
		      const struct link_message *message);
void send_completed(struct link_ep *ep, void *context, uint64_t flags);
void send_failed(struct link_ep *ep, void *context, uint64_t flags, int error);
/* A send that waits for an endpoint's answer, or NULL. `sending` is locked. */
struct send *send_find(struct link_ep *ep, uint32_t request, uint64_t number);
/* A DONE has come. Returns whether it was for one of ours. */
bool send_answered(struct link_ep *ep, const struct link_frame *frame);
/*
 * Reports the peers, by the numbers of their endpoints, that have not answered
 * a send by this rail since the last call, or longer.
 */
void send_each_old(struct rail *rail, loss_report *report, void *arg);
/* Ends those that an endpoint has not answered. */
void send_drop_of(struct rail *rail, uint64_t number, int error);
/* An endpoint will not answer: what waits for that fails. */
void send_peer_failed(struct link_ep *ep, uint64_t number, int error);
/* What is there to be read is not any more, and all of it is given back. */
void sends_unregister(struct link_ep *ep);
void send_drop_all(struct link_ep *ep);
