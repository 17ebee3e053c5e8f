/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pieces are read into memory of ours, and copied: a rail that is silent may
 * bring what it was asked for at any time later, when the program has its
 * memory back. No core takes a read back, and closing its endpoint would end
 * what it does for other peers.
 *
 * What waits is looked at only when something can have changed for it: each
 * peer's in turn, and of one peer's the first, until all rails are full.
 */
#include "link/stripes.h"
#include "link/loss.h"
#include "link/memory.h"
#include "link/order/stripe.h"

#include <stdlib.h>
#include <utlist.h>

#define TRIES        4    /* of one piece, by each rail */
#define UNREAD_MAX   2    /* messages; after that they are not tried: */
#define UNREAD_AGAIN 1024 /* but one of so many */

struct piece {
	struct link_op op;
	struct stripes *of; /* NULL: nobody waits for it any more */
	struct rail *rail;
	struct piece *next;           /* of those to be read again */
	struct piece *before, *after; /* of those that a rail has */
	uint64_t offset, size;
	unsigned int tries;
	unsigned int failed; /* by which it failed last, a bit */
	struct lent lent;
	uint8_t bytes[];
};

/* --- which of them wait, and which are over --- */

static bool has_more(const struct stripes *s)
{
	return s->begun < s->size || s->again != NULL;
}

/* What is in a flow's list makes that one of those to be read from. */
static void stripes_wait(struct stripes *s)
{
	struct flow *flow = s->flow;

	s->is_waiting = true;
	if (flow->stripes == NULL)
		DL_APPEND2(s->ep->flows->reading, flow, first, last);
	if (s->begun > 0)
		DL_PREPEND2(flow->stripes, s, first, last);
	else
		DL_APPEND2(flow->stripes, s, first, last);
}

static void stripes_wait_no_more(struct stripes *s)
{
	struct flow *flow = s->flow;

	if (!s->is_waiting)
		return;
	s->is_waiting = false;
	DL_DELETE2(flow->stripes, s, first, last);
	if (flow->stripes == NULL)
		DL_DELETE2(s->ep->flows->reading, flow, first, last);
}

/* Something of it has changed. */
static void stripes_settle(struct stripes *s)
{
	struct flows *flows = s->ep->flows;

	if (s->is_over || s->is_tried)
		return;
	if (s->error != 0 || !has_more(s))
		stripes_wait_no_more(s);
	else if (!s->is_waiting)
		stripes_wait(s);
	if (s->under_way == 0 && !s->is_waiting) {
		s->is_over = true;
		s->next = flows->over;
		flows->over = s;
	}
}

static void pieces_free(struct stripes *s)
{
	while (s->again != NULL) {
		struct piece *piece = s->again;
		s->again = piece->next;
		free(piece);
	}
}

/* Whether it is the owner's again. */
static bool stripes_end(struct stripes *s)
{
	struct flows *flows = s->ep->flows;
	struct flow *flow = s->flow;

	DL_DELETE2(flows->stripes, s, before, after);
	pieces_free(s);
	if (flow != NULL && s->error == 0 && s->size > 0)
		flow->unread = 0;
	if (s->use->end(s) != 0) {
		DL_APPEND2(flows->stripes, s, before, after);
		return false;
	}
	if (flow != NULL)
		flow->order.wants--;
	return true;
}

/* --- pieces --- */

/* Where it is at a rail. */
static struct frame_rail place_of(const struct piece *piece, unsigned int place)
{
	const struct stripes_part *part = piece->of->parts;
	uint64_t offset = piece->offset;

	for (; offset >= part->size; part++)
		offset -= part->size;
	return (struct frame_rail){ part->rails[place].address + offset,
				    part->rails[place].key };
}

static int piece_issue(struct piece *piece, struct rail *rail)
{
	struct stripes *s = piece->of;
	unsigned int place = fabric_place(rail);
	const struct frame_rail from = place_of(piece, place);
	const struct iovec iov = { piece->bytes, piece->size };
	void *desc;
	ssize_t result;

	piece->op.kind = OP_PIECE;
	result = rail_lend(rail, &iov, 1, FI_READ, NULL, &desc, &piece->lent);
	if (result == 0)
		result = fi_read(rail->core, piece->bytes, piece->size, desc,
				 s->flow->cores[place], from.address, from.key,
				 &piece->op);
	if (result != 0) {
		rail_give_back(&piece->lent);
		return (int)result;
	}
	piece->rail = rail;
	piece->tries++;
	rail->expected++;
	rail->load += piece->size;
	rail_carried(rail, piece->size);
	s->under_way++;
	DL_APPEND2(rail->pieces, piece, before, after);
	order_read(&s->flow->order, place, true, flow_now_us());
	flow_list(s->flow);
	return 0;
}

/* Rails that could take it now, a bit each. */
static unsigned int usable_for(const struct stripes *s,
			       const struct piece *piece)
{
	unsigned int usable = 0;

	for (unsigned int i = 0; i < s->flow->order.count; i++)
		if (order_is_usable(&s->flow->order, i))
			usable |= 1U << i;
	return (usable & ~piece->failed) != 0 ? usable & ~piece->failed
					      : usable;
}

/* Memory that is not there, or not for us, is no fault of the way to it. */
static bool is_of_rail(int error)
{
	return error != FI_ENOMEM && error != FI_EACCES && error != FI_EPERM &&
	       error != FI_EKEYREJECTED;
}

/* It is read again, by another rail if there is one, but not for ever. */
static void piece_failed(struct piece *piece, struct rail *rail, int error)
{
	struct stripes *s = piece->of;

	piece->failed = 1U << fabric_place(rail);
	if (piece->tries >= TRIES * s->ep->flows->count)
		s->error = error;
	if (is_of_rail(error))
		flow_rail_failed(s->flow, rail, error);
}

/* Whether it was begun; *refused: by which it was not. */
static bool piece_place(struct piece *piece, uint64_t rest,
			unsigned int *refused)
{
	struct stripes *s = piece->of;
	struct flows *flows = s->ep->flows;
	struct stripe_rail rails[RAILS_MAX];
	bool has_speeds = true;

	for (unsigned int i = 0; i < flows->count; i++)
		has_speeds &= fabric_rail(s->ep, i)->speed > 0;
	for (;;) {
		for (unsigned int i = 0; i < flows->count; i++) {
			const struct rail *rail = fabric_rail(s->ep, i);
			rails[i].speed = has_speeds ? rail->speed : 0;
			rails[i].load = rail->load;
		}
		int place = stripe_pick(rails, flows->count,
					usable_for(s, piece) & ~*refused,
					piece->size, rest);
		if (place < 0)
			return false;
		struct rail *rail = fabric_rail(s->ep, place);
		int result = piece_issue(piece, rail);
		if (result == 0)
			return true;
		*refused |= 1U << place;
		if (result == -FI_EAGAIN ||
		    (result == -FI_ENOMEM && s->under_way > 0))
			continue;
		piece->tries++;
		piece_failed(piece, rail, -result);
	}
}

static struct piece *piece_make(struct stripes *s, uint64_t offset,
				uint64_t size)
{
	struct piece *piece = malloc(sizeof(*piece) + size);

	if (piece == NULL)
		return NULL;
	*piece = (struct piece){ .of = s, .offset = offset, .size = size };
	return piece;
}

/* Of what there are no pieces yet, as much as lies in one part. */
static uint64_t next_size(const struct stripes *s)
{
	const struct stripes_part *part = s->parts;
	uint64_t offset = s->begun, size = s->size - s->begun;

	for (; offset >= part->size; part++)
		offset -= part->size;
	if (size > part->size - offset)
		size = part->size - offset;
	return size < s->piece ? size : s->piece;
}

static struct piece *piece_next(struct stripes *s)
{
	struct piece *piece = s->again;

	if (piece != NULL) {
		s->again = piece->next;
		return piece;
	}
	piece = piece_make(s, s->begun, next_size(s));
	if (piece == NULL)
		s->ep->flows->can_read = true; /* with the next poll */
	else
		s->begun += piece->size;
	return piece;
}

static void piece_return(struct piece *piece)
{
	piece->next = piece->of->again;
	piece->of->again = piece;
}

/* Whether all of it is under way, or it is over. */
static bool stripes_issue(struct stripes *s)
{
	struct flows *flows = s->ep->flows;
	unsigned int refused = 0;
	struct piece *piece;

	s->is_tried = true;
	while (s->error == 0 && has_more(s) &&
	       (piece = piece_next(s)) != NULL) {
		uint64_t rest = piece->size + (s->size - s->begun);
		if (!piece_place(piece, rest, &refused)) {
			piece_return(piece);
			break;
		}
	}
	/* Who refused it does not say when it takes more. */
	if (refused != 0)
		flows->can_read = true;
	s->is_tried = false;
	stripes_settle(s);
	return !s->is_waiting;
}

/* It is not its rail's any more; `piece` may be. */
static void piece_leave(struct piece *piece, bool is_well)
{
	struct stripes *s = piece->of;
	unsigned int place = fabric_place(piece->rail);

	s->under_way--;
	if (is_well)
		order_read(&s->flow->order, place, false, flow_now_us());
	else
		order_read_gone(&s->flow->order, place);
}

void piece_ended(struct piece *piece, int error)
{
	struct stripes *s = piece->of;
	struct rail *rail = piece->rail;

	rail->expected--;
	rail->load -= piece->size;
	rail->ep->flows->can_read = true;
	DL_DELETE2(rail->pieces, piece, before, after);
	rail_give_back(&piece->lent);
	if (s == NULL) {
		free(piece);
		return;
	}
	piece_leave(piece, error == 0);
	if (error == 0) {
		int refused = s->use->put(s, piece->offset, piece->bytes,
					  piece->size);
		if (refused != 0)
			s->error = refused;
		free(piece);
	} else {
		piece_return(piece);
		piece_failed(piece, rail, error);
	}
	stripes_settle(s);
}

void pieces_take_back(struct flow *flow, struct rail *rail)
{
	struct piece *piece, *again;

	DL_FOREACH2(rail->pieces, piece, after)
	{
		struct stripes *s = piece->of;
		if (s == NULL || s->flow != flow)
			continue;
		again = s->error != 0
				? NULL
				: piece_make(s, piece->offset, piece->size);
		if (again == NULL && s->error == 0) {
			flow->ep->flows->is_short = true;
			continue;
		}
		if (again != NULL) {
			again->tries = piece->tries;
			again->failed = 1U << fabric_place(rail);
			piece_return(again);
		}
		piece_leave(piece, false);
		piece->of = NULL;
		stripes_settle(s);
	}
	flow->ep->flows->can_read = true;
}

/* What was not, for want of memory. */
static void pieces_take_back_again(struct flows *flows)
{
	struct flow *flow;

	flows->is_short = false;
	for (flow = flows->by_number; flow != NULL; flow = flow->hh.next)
		for (unsigned int i = 0; i < flows->count; i++)
			if (!order_is_usable(&flow->order, i))
				pieces_take_back(flow,
						 fabric_rail(flows->ep, i));
}

/* --- all of them --- */

void stripes_start(struct stripes *s)
{
	struct flows *flows = s->ep->flows;

	s->next = NULL;
	link_lock(&flows->working);
	set_seen(*flows->come_end, s);
	flows->come_end = &s->next;
	link_unlock(&flows->working);
}

static bool is_hopeless(const struct flow *flow)
{
	return flow->unread >= UNREAD_MAX && flow->unread % UNREAD_AGAIN != 0;
}

static void stripes_come(struct flows *flows)
{
	struct stripes *come;

	link_lock(&flows->working);
	come = flows->come;
	set_seen(flows->come, NULL);
	flows->come_end = &flows->come;
	link_unlock(&flows->working);
	for (struct stripes *s = come, *next; s != NULL; s = next) {
		next = s->next;
		s->piece = stripe_size(s->size, flows->count);
		s->flow = flow_find(s->ep, s->number);
		if (s->flow == NULL || s->flow->order.is_lost)
			s->error = LOSS_ERROR;
		else if (s->has_other_way && is_hopeless(s->flow))
			s->error = FI_EIO;
		if (s->flow != NULL) {
			s->flow->order.wants++;
			flow_list(s->flow);
		}
		DL_APPEND2(flows->stripes, s, before, after);
		stripes_settle(s);
	}
	flows->can_read = true;
}

/* All rails are full, for pieces of any size. */
static bool is_full(const struct flows *flows)
{
	for (unsigned int i = 0; i < flows->count; i++) {
		uint64_t load = fabric_rail(flows->ep, i)->load;
		if (load == 0 || load + STRIPE_MIN <= STRIPE_LOAD)
			return false;
	}
	return true;
}

/* Who had its turn comes after the others; until all of them have to wait. */
static void stripes_read(struct flows *flows)
{
	struct flow *flow, *stuck = NULL;

	flows->can_read = false;
	while ((flow = flows->reading) != NULL && flow != stuck &&
	       !is_full(flows)) {
		if (stripes_issue(flow->stripes))
			stuck = NULL;
		else if (stuck == NULL)
			stuck = flow;
		if (flow->stripes == NULL)
			continue;
		DL_DELETE2(flows->reading, flow, first, last);
		DL_APPEND2(flows->reading, flow, first, last);
	}
}

void stripes_go_on(struct flows *flows)
{
	struct stripes *s;

	if (peek_at(flows->come) != NULL)
		stripes_come(flows);
	if (flows->is_short)
		pieces_take_back_again(flows);
	if (flows->can_read)
		stripes_read(flows);
	while ((s = flows->over) != NULL) {
		/* What it brings about may end others. */
		flows->over = s->next;
		if (stripes_end(s))
			continue;
		s->next = flows->over;
		flows->over = s;
		break;
	}
}

void stripes_fail(struct flow *flow, int error)
{
	struct stripes *s;

	DL_FOREACH2(flow->ep->flows->stripes, s, after)
	if (s->flow == flow && !s->is_over)
		s->error = error;
	for (unsigned int i = 0; i < flow->ep->flows->count; i++)
		pieces_take_back(flow, fabric_rail(flow->ep, i));
	DL_FOREACH2(flow->ep->flows->stripes, s, after)
	if (s->flow == flow)
		stripes_settle(s);
}

/* Pieces that rails still have stay: see core_close(). */
void stripes_close(struct flows *flows)
{
	struct stripes *s, *next;

	DL_FOREACH_SAFE2(flows->stripes, s, next, after)
	{
		pieces_free(s);
		s->use->drop(s);
	}
	for (s = flows->come; s != NULL; s = next) {
		next = s->next;
		s->use->drop(s);
	}
}
