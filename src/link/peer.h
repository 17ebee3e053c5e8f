/* SPDX-License-Identifier: BSD-3-Clause */
/* What an endpoint knows of a peer. */
#pragma once

#include "link/address/address.h"
#include "link/presence.h"
#include "link/setting.h"
#include "link/compat.h"

struct link_ep;
struct rail;

/* What an endpoint knows of a peer; by the address in its vector. */
struct peer {
	bool is_known;
	bool is_local;       /* rail 0 is shared memory, and used */
	bool knows_us;       /* it has us in its vector, and says so: KNOWN */
	bool knows_listed;   /* that we have it in ours */
	bool was_greeted;    /* and asked for that: FRAME_GREET */
	bool wants_events;   /* FRAME_TOUCHED */
	bool is_lost;        /* its process has ended: */
	uint64_t lost_ns;    /* when that was found */
	bool is_checked;     /* for now: loss.c */
	uint16_t under_way;  /* frames that the core has, or may have */
	uint16_t unreported; /* of them those of whose end it does not tell */
	struct peer *next_checked;
	struct presence_process process; /* of a local peer */
	uint32_t sequence;               /* of the last frame to it */
	uint64_t number;                 /* its endpoint's */
	fi_addr_t cores[RAILS_MAX];      /* on each rail, or FI_ADDR_NOTAVAIL */
	struct flow *flow; /* several fabric rails lead there; else NULL */
};

/*
 * Sources of messages, for matching: an address of the vector, or of a sender
 * that is not there its number, with this bit.
 */
#define SOURCE_BY_NUMBER (UINT64_C(1) << 63)
#define SOURCE_UNKNOWN   (UINT64_MAX - 1)

/*
 * What it is of who leaves the vector: its other address there, or its number.
 */
static inline uint64_t source_left(uint64_t number, fi_addr_t twin)
{
	return twin != FI_ADDR_NOTAVAIL ? twin : number | SOURCE_BY_NUMBER;
}

static inline fi_addr_t source_address(uint64_t source)
{
	return (source & SOURCE_BY_NUMBER) != 0 ? FI_ADDR_NOTAVAIL : source;
}

/* What is known of an address, or NULL. */
struct peer *ep_peer(const struct link_ep *ep, fi_addr_t address);
/*
 * Makes a peer known to one rail, which is locked, if that rail can reach it.
 * 0 or a negative errno.
 */
int peer_insert_at(struct rail *rail, struct peer *peer, fi_addr_t address,
		   const struct link_address *to);
/* An address was inserted in the vector. 0, or nothing has changed. */
int ep_peer_add(struct link_ep *ep, fi_addr_t address,
		const struct link_address *of);
/* Is it about to be removed? -FI_ENOMEM: answers to it could not be kept. */
int ep_peer_prepare(struct link_ep *ep, fi_addr_t address);
/* It is removed. */
void ep_peer_remove(struct link_ep *ep, fi_addr_t address);
/*
 * Gives its place at a core back, or keeps it for what may still come; messages
 * from there, if they are a source's, are its twin's then. The rail is locked.
 */
void core_release(struct rail *rail, struct peer *peer, uint64_t source,
		  fi_addr_t twin);
/*
 * The source of a message while matching is locked. The number, which the
 * message says (or 0), finds a peer that is just being added or was removed.
 */
uint64_t source_now(const struct link_ep *ep, uint64_t source, uint64_t number);
