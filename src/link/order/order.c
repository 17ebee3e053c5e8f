/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which frame is sent next, by which rail, and when a rail has failed. Go back
 * to the first frame without an acknowledgement whenever the rail changes or a
 * frame was lost. The receiver drops duplicates by number, so a wrong verdict
 * costs only time.
 */
#include "link/order/order.h"

#include <errno.h>

#define DOUBTS 16 /* calls between the suspicion and the verdict */

void order_init(struct order *o, unsigned int count, unsigned int rails,
		const uint64_t *speeds, uint64_t chance)
{
	uint64_t sum = 0, slowest = UINT64_MAX;

	*o = (struct order){ .count = count,
			     .patience_us = ORDER_PROBE_US,
			     .silence_us = ORDER_SILENCE_US,
			     .lost_us = ORDER_LOST_US };
	for (unsigned int i = 0; i < count; i++) {
		o->rails[i].pause_us = ORDER_RETRY_US;
		if ((rails >> i & 1) == 0)
			continue;
		o->rails[i].is_there = true;
		if (speeds[i] < slowest)
			slowest = speeds[i];
	}
	/* By speed; where one is not known, they count as equal. */
	for (unsigned int i = 0; i < count; i++)
		if (o->rails[i].is_there)
			sum += slowest == 0 ? 1 : speeds[i] / slowest;
	chance = sum == 0 ? 0 : chance % sum;
	for (unsigned int i = 0; i < count; i++) {
		uint64_t weight = slowest == 0 ? 1 : speeds[i] / slowest;
		if (!o->rails[i].is_there)
			continue;
		o->first = o->rail = i;
		if (chance < weight)
			break;
		chance -= weight;
	}
}

void order_add_rail(struct order *o, unsigned int rail)
{
	o->rails[rail].is_there = true;
}

/* --- frames that go --- */

bool order_accepts(const struct order *o)
{
	return o->last - o->acked < ORDER_WINDOW;
}

uint32_t order_number(struct order *o, uint64_t now_us)
{
	if (!order_is_busy(o)) {
		o->progress_us = now_us;
		o->patience_us = ORDER_PROBE_US;
	}
	o->last = order_after(o->last);
	return o->last;
}

uint32_t order_next(const struct order *o)
{
	if (o->sent == o->last || !o->is_known || o->is_lost ||
	    !order_is_usable(o, o->rail))
		return 0;
	return order_after(o->sent);
}

void order_sent(struct order *o, uint32_t number)
{
	o->sent = number;
}

/* From the first that is not acknowledged on. */
static void send_again(struct order *o)
{
	o->sent = o->acked;
	o->turn++;
}

/* --- frames that come --- */

enum order_verdict order_came(struct order *o, unsigned int rail,
			      uint32_t number)
{
	if (number == order_after(o->taken))
		return ORDER_TAKE;
	if (order_is_later(number, o->taken)) {
		o->rails[rail].needs_ack |= !o->is_missing;
		o->is_missing = true;
		return ORDER_LEAVE;
	}
	if (++o->unacked >= ORDER_ACK_EACH)
		o->rails[rail].needs_ack = true;
	return ORDER_LEAVE;
}

void order_taken(struct order *o, unsigned int rail, uint32_t number,
		 bool is_urgent)
{
	o->taken = number;
	o->is_missing = false;
	if (++o->unacked >= ORDER_ACK_EACH || is_urgent)
		o->rails[rail].needs_ack = true;
}

void order_probed(struct order *o, unsigned int rail, uint32_t probe)
{
	if (probe == 0)
		return;
	o->rails[rail].needs_ack = true;
	o->rails[rail].answer = probe;
}

/* It is well again, or was never reported otherwise. */
static void rail_lives(struct order *o, unsigned int rail)
{
	bool has_failed = o->rails[rail].has_failed;

	o->rails[rail].has_failed = o->rails[rail].was_refused = false;
	if (has_failed && (rail == o->first || !order_is_usable(o, o->rail))) {
		o->rail = rail;
		send_again(o);
	}
}

static void take_answer(struct order *o, unsigned int rail, uint32_t up_to,
			uint64_t now_us)
{
	struct order_rail *r = &o->rails[rail];

	/* One that had failed was silent, and not slow. */
	if (!r->has_failed && r->others_us != 0 &&
	    now_us - r->others_us > r->late_us)
		r->late_us = now_us - r->others_us;
	r->is_asked = false;
	r->others_us = 0;
	r->doubts = 0;
	for (unsigned int i = 0; i < o->count; i++)
		if (i != rail && o->rails[i].is_asked &&
		    o->rails[i].others_us == 0)
			o->rails[i].others_us = now_us;
	/* What went before the probe by the same rail was lost on the way. */
	if (rail == o->rail && r->probe_turn == o->turn &&
	    order_is_later(r->probe_after, up_to))
		send_again(o);
	rail_lives(o, rail);
}

int order_acked(struct order *o, unsigned int rail, uint32_t up_to,
		uint32_t answer, bool is_missing, uint64_t now_us)
{
	if (order_is_later(up_to, o->last))
		return -EPROTO;
	if (order_is_later(up_to, o->acked)) {
		o->acked = up_to;
		if (order_is_later(o->acked, o->sent))
			o->sent = o->acked;
		o->progress_us = now_us;
		o->patience_us = ORDER_PROBE_US;
	}
	if (is_missing && up_to == o->acked && o->sent != o->acked)
		send_again(o);
	if (answer != 0 && o->rails[rail].is_asked &&
	    o->rails[rail].probe == answer)
		take_answer(o, rail, up_to, now_us);
	return 0;
}

/* --- what is not numbered --- */

bool order_next_control(struct order *o, unsigned int refused,
			struct order_control *control)
{
	for (unsigned int i = 0; i < o->count && !o->is_lost; i++) {
		const struct order_rail *r = &o->rails[i];
		bool is_probe =
			r->needs_probe || (!o->is_known && i == o->rail &&
					   r->is_there && o->last != 0);
		if ((refused >> i & 1) != 0 || (!is_probe && !r->needs_ack))
			continue;
		*control = (struct order_control){ .is_probe = is_probe,
						   .rail = i,
						   .up_to = o->taken };
		if (is_probe)
			control->probe =
				r->needs_probe ? order_after(o->probes) : 0;
		else
			control->probe = r->answer;
		control->is_missing = !is_probe && o->is_missing;
		return true;
	}
	return false;
}

void order_control_sent(struct order *o, const struct order_control *control,
			uint64_t now_us)
{
	struct order_rail *r = &o->rails[control->rail];

	if (!control->is_probe) {
		r->needs_ack = false;
		r->answer = 0;
		o->unacked = 0;
		return;
	}
	o->is_known = true;
	if (control->probe == 0)
		return;
	o->probes = r->probe = control->probe;
	r->needs_probe = false;
	r->probe_after = control->rail == o->rail ? o->sent : o->acked;
	r->probe_turn = o->turn;
	if (r->has_failed) {
		r->is_asked = true;
		r->probed_us = now_us;
	}
}

/* --- rails --- */

void order_read(struct order *o, unsigned int rail, bool has_begun,
		uint64_t now_us)
{
	struct order_rail *r = &o->rails[rail];

	o->progress_us = now_us;
	if (has_begun) {
		r->reads++;
		return;
	}
	r->reads--;
	r->others_us = 0;
	r->doubts = 0;
}

void order_read_gone(struct order *o, unsigned int rail)
{
	o->rails[rail].reads--;
}

void order_rail_failed(struct order *o, unsigned int rail, uint64_t now_us)
{
	struct order_rail *r = &o->rails[rail];
	unsigned int to = rail;

	if (r->has_failed || !r->is_there)
		return;
	/* One that was well for long is tried again as soon as at first. */
	if (now_us - r->failed_us > 2 * ORDER_RETRY_MAX)
		r->pause_us = ORDER_RETRY_US;
	r->has_failed = true;
	r->is_asked = r->needs_probe = r->needs_ack = false;
	r->answer = 0;
	r->others_us = 0;
	r->doubts = 0;
	r->failed_us = o->failed_us = now_us;
	r->retry_us = now_us + r->pause_us;
	if (rail != o->rail)
		return;
	for (unsigned int i = 1; i < o->count; i++)
		if (order_is_usable(o, (rail + i) % o->count)) {
			to = (rail + i) % o->count;
			break;
		}
	o->rail = to;
	send_again(o);
}

bool order_rail_refused(struct order *o, unsigned int rail)
{
	bool is_lost = true, is_news = !o->rails[rail].was_refused;

	o->rails[rail].was_refused = true;
	for (unsigned int i = 0; i < o->count; i++)
		if (o->rails[i].is_there && !o->rails[i].was_refused)
			is_lost = false;
	o->is_lost |= is_lost;
	return is_news;
}

bool order_is_busy(const struct order *o)
{
	if (o->is_lost)
		return false;
	if (o->last != o->acked || o->wants > 0)
		return true;
	for (unsigned int i = 0; i < o->count; i++)
		if (o->rails[i].reads > 0)
			return true;
	return false;
}

static bool is_silent(const struct order *o, struct order_rail *r,
		      uint64_t now_us)
{
	uint64_t limit = 8 * r->late_us;

	if (limit > ORDER_SILENCE_MAX)
		limit = ORDER_SILENCE_MAX;
	if (limit < o->silence_us)
		limit = o->silence_us;
	if (!r->is_asked || r->others_us == 0 || now_us - r->others_us < limit)
		return false;
	/* Its answer may be there, and not have been looked at. */
	return ++r->doubts > DOUBTS;
}

/*
 * Asks over each rail at the same time: only then do answers compare. Who has
 * not answered, though another did, is asked again: a connection that broke may
 * have lost it.
 */
static void ask(struct order *o, uint64_t now_us)
{
	bool goes_on = false;

	for (unsigned int i = 0; i < o->count; i++)
		goes_on |= order_is_usable(o, i) && o->rails[i].is_asked &&
			   o->rails[i].others_us != 0;
	for (unsigned int i = 0; i < o->count; i++) {
		struct order_rail *r = &o->rails[i];
		if (!order_is_usable(o, i) || (goes_on && !r->is_asked))
			continue;
		r->needs_probe = true;
		if (goes_on)
			continue;
		r->is_asked = true;
		r->probed_us = now_us;
		r->others_us = 0;
	}
	o->progress_us = now_us;
	if (o->patience_us < ORDER_PROBE_MAX)
		o->patience_us *= 2;
}

/* With no other rail there is no reason to wait. */
static void try_failed(struct order *o, bool is_last, uint64_t now_us)
{
	for (unsigned int i = 0; i < o->count; i++) {
		struct order_rail *r = &o->rails[i];
		if (!r->is_there || !r->has_failed ||
		    (now_us < r->retry_us &&
		     (!is_last || now_us < r->probed_us + ORDER_RETRY_US)))
			continue;
		r->needs_probe = true;
		r->probed_us = now_us;
		r->retry_us = now_us + r->pause_us;
		if (r->pause_us < ORDER_RETRY_MAX)
			r->pause_us *= 2;
	}
}

unsigned int order_tick(struct order *o, uint64_t now_us)
{
	unsigned int failed = 0, usable = 0;

	for (unsigned int i = 0; i < o->count; i++) {
		if (!order_is_usable(o, i))
			continue;
		if (is_silent(o, &o->rails[i], now_us)) {
			order_rail_failed(o, i, now_us);
			failed |= 1U << i;
		} else {
			usable++;
		}
	}
	if (usable == 0 && now_us - o->failed_us > o->lost_us)
		o->is_lost = true;
	if (!order_is_busy(o))
		return failed;
	try_failed(o, usable == 0, now_us);
	if (now_us - o->progress_us >= o->patience_us)
		ask(o, now_us);
	return failed;
}
