/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an endpoint with several fabric rails has for each peer that they lead
 * to, by the number of the peer's endpoint: it stays when an address is
 * removed, and peers outside the vector have one, too. Fabric rails share one
 * lock then, which is held in all that follows.
 */
#pragma once

#include "base/hash.h"
#include "link/clock.h"
#include "link/endpoint.h"
#include "link/slab.h"
#include "link/order/order.h"

/* Rails are counted from the first that is not shared memory. */
struct flow {
	struct order order;
	struct link_ep *ep;
	uint64_t number;               /* of the peer's endpoint */
	unsigned int known;            /* rails of which its address tells */
	fi_addr_t cores[RAILS_MAX];    /* or FI_ADDR_NOTAVAIL */
	struct slab *kept, **kept_end; /* frames, until acknowledged */
	struct slab *next_slab;        /* of these: to be sent next, or NULL */
	bool is_listed;                /* among the busy ones */
	bool was_lost;                /* and all that waited for it has ended */
	struct flow *before, *after;  /* of those that are busy */
	struct stripes *stripes;      /* of which pieces are still to be read */
	unsigned int unread;          /* messages in a row that no rail could */
	struct flow *first, *last;    /* of those that have such */
	struct flow *elder, *younger; /* of newcomers */
	UT_hash_handle hh;
};

struct flows {
	struct link_ep *ep;
	unsigned int first, count; /* of the endpoint's rails: of fabrics */
	struct flow *by_number;
	struct flow *busy;
	/* Who is not in the vector, and may only have said who it is. */
	struct flow *newcomers;
	uint64_t next_us;         /* when they are looked at again */
	unsigned int expected;    /* answers that will come */
	struct stripes *stripes;  /* what is being read */
	struct stripes *over;     /* of that, what has ended */
	struct flow *reading;     /* flows with more to be read */
	bool can_read;            /* since it was tried last, perhaps */
	bool is_short;            /* of memory to read pieces by other rails */
	struct link_lock working; /* what was not begun with: */
	struct stripes *come, **come_end;
};

/* The time as order.h wants it. */
static inline uint64_t flow_now_us(void)
{
	return clock_now_ns() / 1000;
}

/* A rail's place among those of fabrics, and the one that has a place. */
static inline unsigned int fabric_place(const struct rail *rail)
{
	return rail->index - rail->ep->flows->first;
}

static inline struct rail *fabric_rail(struct link_ep *ep, unsigned int place)
{
	return &ep->rails[ep->flows->first + place];
}

/* The one by which frames go now. */
static inline struct rail *flow_rail(const struct flow *flow)
{
	return fabric_rail(flow->ep, flow->order.rail);
}

/* --- flows.c: those of an endpoint --- */

/* Nothing with fewer than two fabric rails. 0 or a negative errno. */
int flows_open(struct link_ep *ep);
/* Whether frames wait to be sent. */
bool flows_have_unsent(const struct flows *flows);
/*
 * Sends the acknowledgements that are due: their peers need not check whether
 * we are there. No rail is locked.
 */
void flows_finish(struct link_ep *ep);
void flows_close(struct link_ep *ep);
/* Sends what waits, and sees to it that it arrives. */
void flows_go_on(struct link_ep *ep, bool has_events);
/*
 * Make the flow to a peer that is not in the vector: of all there are
 * LINK_FLOWS then. As flow_get(); -FI_EHOSTUNREACH where there are too many as
 * well.
 */
int flows_admit(struct link_ep *ep, const struct link_address *address,
		struct flow **ret_flow);
/* Tells of those who do not answer by a rail. */
void flows_each_silent(struct rail *rail, loss_report *report, void *arg);

/* --- flow.c: one of them --- */

/*
 * The flow to an endpoint, which is made. -FI_ENOMEM; -FI_EHOSTUNREACH: no way.
 */
int flow_get(struct link_ep *ep, const struct link_address *address,
	     struct flow **ret_flow);
struct flow *flow_find(struct link_ep *ep, uint64_t number);
/* It has to be looked at. */
void flow_list(struct flow *flow);
/* Returns false when there is something that a core may take soon. */
bool flow_look(struct flow *flow, uint64_t now_us);
/* As rail_send_frame(). */
int flow_send(struct flow *flow, struct link_frame *frame,
	      const struct iovec *iov, size_t count,
	      const struct frame_end *with, bool must);
/* An acknowledgement or a probe, which is not kept. -FI_EAGAIN: not now. */
ssize_t flow_send_control(struct flow *flow,
			  const struct order_control *control);
/*
 * A frame came by a rail. Calls `take` for one that is to be taken in. Returns
 * what it returned, or 0.
 */
int flow_take(struct rail *rail, const struct link_frame *frame,
	      int (*take)(struct rail *rail, const struct link_frame *frame));
/* A core has given a frame back. */
void flow_slab_back(struct slab *slab, int error);
/* The peer is not reached by a rail any more, says its core. */
void flow_rail_failed(struct flow *flow, struct rail *rail, int error);
/*
 * Nobody is there any more, says the node to which a rail leads. Returns
 * whether it has not said so before.
 */
bool flow_refused(struct flow *flow, struct rail *rail);

/* --- stripes.c; stripes.h has what others start --- */

/* Begins with what has come, reads what rails take now, ends what is over. */
void stripes_go_on(struct flows *flows);
/* A core is done with a piece. Error: 0 or positive. */
void piece_ended(struct piece *piece, int error);
/* A rail has failed: what it was to read is read by others. */
void pieces_take_back(struct flow *flow, struct rail *rail);
void stripes_close(struct flows *flows);
/* The peer is lost: what is read from it ends. */
void stripes_fail(struct flow *flow, int error);
