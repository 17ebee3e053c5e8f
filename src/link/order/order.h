/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames between two endpoints that several rails join: numbered, kept until
 * they are acknowledged, sent again over another rail when one fails, and taken
 * in once and in order. Pure: it deals in numbers, who owns it has the frames.
 *
 * Frames to one peer go by one rail. Who has kept some for long asks over all
 * rails (a *probe*, which is answered by the rail on which it came). A rail
 * that does not answer, while another does, has failed; a peer that answers
 * nowhere is busy. Failed rails are probed again, with pauses that get longer.
 * What the core of a rail reports to have failed has failed at once.
 *
 * Times are in microseconds, of any clock that does not go back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "link/links/links.h"

#define ORDER_WINDOW      256 /* frames that are kept, at most */
#define ORDER_ACK_EACH    64  /* frames that are acknowledged together */
#define ORDER_PROBE_US    UINT64_C(20000) /* nothing has happened for so long */
#define ORDER_PROBE_MAX   UINT64_C(1000000)
#define ORDER_SILENCE_US  UINT64_C(2000000) /* on slow rails up to: */
#define ORDER_SILENCE_MAX UINT64_C(8000000)
#define ORDER_RETRY_US    UINT64_C(100000)
#define ORDER_RETRY_MAX   UINT64_C(4000000)
#define ORDER_LOST_US     UINT64_C(10000000) /* all rails have failed */

struct order_rail {
	bool is_there; /* leads to the peer */
	bool has_failed;
	bool was_refused; /* nobody is there: the peer's node said so */
	bool needs_probe, needs_ack;
	uint32_t answer;      /* the probe that the ack answers, or 0 */
	uint32_t probe;       /* that was sent by it last */
	bool is_asked;        /* whose answer is waited for */
	uint32_t probe_after; /* the last frame that went before it */
	uint32_t probe_turn;
	uint64_t probed_us;
	uint64_t others_us; /* when another rail answered meanwhile, or 0 */
	unsigned int doubts;
	unsigned int reads; /* of the peer's memory, that are under way */
	uint64_t late_us; /* by which it answered after another: the longest */
	uint64_t failed_us, retry_us, pause_us;
};

struct order {
	unsigned int count;
	struct order_rail rails[RAILS_MAX];
	unsigned int first; /* the rail that is preferred */
	unsigned int rail;  /* by which frames go now */
	bool is_known;      /* the peer knows who we are */
	bool is_lost;       /* it is not reached any more */
	uint32_t probes;
	uint32_t turn;      /* of sending: since frames were last sent again */
	uint32_t last;      /* number that was given to a frame */
	uint32_t sent;      /* up to it, in this turn */
	uint32_t acked;     /* up to it */
	uint32_t taken;     /* of the peer's, up to it */
	unsigned int wants; /* what else the peer is needed for */
	unsigned int unacked; /* of these, not acknowledged yet */
	bool is_missing;      /* one is reported missing */
	uint64_t progress_us, patience_us;
	uint64_t failed_us; /* the last rail has failed */
	/* As order_init() sets them: ORDER_SILENCE_US, ORDER_LOST_US. */
	uint64_t silence_us, lost_us;
};

static inline uint32_t order_after(uint32_t number)
{
	return number == UINT32_MAX ? 1 : number + 1; /* 0 is none */
}

/*
 * Numbers go round: which of two, that are near each other, is the later one.
 */
static inline bool order_is_later(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/*
 * `rails`: which of them lead to the peer, a bit each; at least one. `speeds`:
 * of each, in any unit, or 0 where it is not known; `chance` decides by which
 * the peer is sent to: both sides come to the same with the same.
 */
void order_init(struct order *order, unsigned int count, unsigned int rails,
		const uint64_t *speeds, uint64_t chance);
/* One more rail leads there than was known. */
void order_add_rail(struct order *order, unsigned int rail);

/* --- frames that go --- */

/* Whether one more can be kept. */
bool order_accepts(const struct order *order);
/* Numbers a frame, which is to be kept. */
uint32_t order_number(struct order *order, uint64_t now_us);
/* The number to be sent next, by `order->rail`; 0: none, or not now. */
uint32_t order_next(const struct order *order);
/* It was sent. */
void order_sent(struct order *order, uint32_t number);

/* --- frames that come --- */

enum order_verdict {
	ORDER_TAKE,  /* take it in, then order_taken() */
	ORDER_LEAVE, /* it is there already, or one before it is missing */
};
enum order_verdict order_came(struct order *order, unsigned int rail,
			      uint32_t number);
/* `is_urgent`: its sender waits for an acknowledgement. */
void order_taken(struct order *order, unsigned int rail, uint32_t number,
		 bool is_urgent);
/* The peer's probe; 0: it has said who it is, and asks nothing. */
void order_probed(struct order *order, unsigned int rail, uint32_t probe);
/*
 * An ack: frames up to `up_to` need not be kept any more. Returns 0, or -EPROTO
 * for what cannot be; nothing has changed then.
 */
int order_acked(struct order *order, unsigned int rail, uint32_t up_to,
		uint32_t answer, bool is_missing, uint64_t now_us);

/* --- probes and acks that go: what is not numbered --- */

struct order_control {
	bool is_probe; /* else an ack */
	unsigned int rail;
	uint32_t up_to, probe; /* ack: that it answers, or 0 */
	bool is_missing;
};
/* What is to be said now, by a rail not in `refused`. False: nothing. */
bool order_next_control(struct order *order, unsigned int refused,
			struct order_control *ret_control);
/* It was said. */
void order_control_sent(struct order *order,
			const struct order_control *control, uint64_t now_us);

/* --- rails --- */

/* A read of the peer's memory has begun, or come to a good end. */
void order_read(struct order *order, unsigned int rail, bool has_begun,
		uint64_t now_us);
/* A read will not end. */
void order_read_gone(struct order *order, unsigned int rail);
/* The core says that the rail does not lead there any more. */
void order_rail_failed(struct order *order, unsigned int rail, uint64_t now_us);
/*
 * And nobody is there: the node of the peer says so. When all rails that lead
 * to it say the same it is lost. Returns whether that was not known of this
 * one.
 */
bool order_rail_refused(struct order *order, unsigned int rail);
static inline bool order_is_usable(const struct order *order, unsigned int rail)
{
	return order->rails[rail].is_there && !order->rails[rail].has_failed;
}
/*
 * Whether anything is outstanding, so that order_tick() has to be called.
 * Nothing is outstanding to a peer that is lost.
 */
bool order_is_busy(const struct order *order);
/*
 * Time goes by: to be called some times a second at least, after all rails were
 * polled. Returns the rails that have failed by it, a bit each.
 */
unsigned int order_tick(struct order *order, uint64_t now_us);
