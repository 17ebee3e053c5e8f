/* SPDX-License-Identifier: BSD-3-Clause */
/* What peers are asked to do to their memory, and what they ask. */
#pragma once

#include "link/endpoint.h"
#include "link/wire/reach.h"

/* What a peer is to do to its memory; all lists are the caller's. */
struct reach_call {
	enum reach_kind kind;
	enum atomic_type type;
	enum atomic_op op;
	fi_addr_t to; /* a known peer */
	const struct iovec *iov, *compare, *result;
	size_t count, compare_count, result_count; /* at most LINK_IOV_MAX */
	size_t size;                               /* bytes at iov */
	const struct reach_range *ranges;
	size_t range_count;
	uint64_t data, flags; /* as of access_completed(), and FI_INJECT, ... */
	void *context;
};
/* Sizes agree, and fit into a frame where they have to. */
ssize_t reach_peer(struct link_ep *ep, const struct reach_call *call);
/* Asks for what the core of a peer has for a key. The rail is locked. */
ssize_t reach_key(struct rail *rail, struct peer *peer, uint64_t key);
void reach_answered(struct rail *rail, const struct link_frame *frame);
/* As send_each_old() and send_drop_of(). */
void asks_each_old(struct rail *rail, loss_report *report, void *arg);
void asks_drop_of(struct rail *rail, uint64_t number, int error);
/* As sends_unregister(). */
void asks_unregister(struct link_ep *ep);
void asks_drop(struct link_ep *ep);

/* --- reached.c: the rail is locked --- */

/* -FI_ENOMEM: not now; nothing was done. */
int reached(struct rail *rail, const struct link_frame *frame);
/* Sends the results. No callback of the core is under way. */
void reached_answer(struct rail *rail);
void answers_drop(struct rail *rail);
void touched(struct rail *rail, const struct link_frame *frame);
