/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message that is read from its sender by several rails, in pieces: which by
 * which rail is decided as they go (order/stripe.h). A piece that a rail did not
 * bring is read again by another.
 *
 * Pieces are read into memory of ours, and copied: a rail that is silent may
 * bring what it was asked for at any time later, when the program has its
 * memory back. No core takes a read back, and closing its endpoint would end
 * what it does for other peers.
 */
#include <stdlib.h>
#include <utlist.h>

#include "link/flow.h"
#include "link/order/stripe.h"

#define TRIES 4 /* of one piece, by each rail */

struct piece {
	struct op op;
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

struct stripes {
	struct stripes *before, *after;
	struct stripes *next; /* of those that have just come */
	struct link_ep *ep;
	struct flow *flow;
	struct receive *receive;
	fi_addr_t source;
	struct frame frame;
	uint64_t size;  /* to be read */
	uint64_t part;  /* of each piece */
	uint64_t begun; /* up to there there are pieces */
	unsigned int under_way;
	struct piece *again;
	int error;
};

/* --- the end --- */

static void answer(const struct stripes *s)
{
	struct frame frame = {
		.kind = FRAME_DONE,
		.sender = s->ep->number,
		.request = s->frame.request,
		.error = s->error,
		.size = s->error == 0 ? s->size : 0,
	};

	if (s->flow == NULL || s->flow->order.is_lost ||
	    flow_send(s->flow, &frame, NULL, 0, NULL, true) != 0)
		link_warn(EP_DATA, "a sender cannot be answered\n");
}

static void stripes_end(struct stripes *s)
{
	const struct message_end end = {
		.size = s->error == 0 ? s->size : 0,
		.tag = s->receive->is_tagged ? s->frame.tag : 0,
		.data = s->frame.data,
		.flags = (s->frame.flags & FRAME_HAS_DATA) != 0
				 ? FI_REMOTE_CQ_DATA
				 : 0,
		.source = s->source,
	};
	uint64_t missing = s->frame.size - s->size;

	DL_DELETE2(s->ep->flows->stripes, s, before, after);
	if (s->flow != NULL)
		s->flow->order.wants--;
	answer(s);
	if (s->error != 0)
		receive_failed(s->receive, &end, s->error, 0);
	else if (missing > 0)
		receive_failed(s->receive, &end, FI_ETRUNC, missing);
	else
		receive_done(s->receive, &end);
	while (s->again != NULL) {
		struct piece *piece = s->again;
		s->again = piece->next;
		free(piece);
	}
	free(s);
}

/* Nothing goes on, and all is there or has failed. */
static bool is_over(const struct stripes *s)
{
	return s->under_way == 0 &&
	       (s->error != 0 || (s->begun == s->size && s->again == NULL));
}

/* --- pieces --- */

static int piece_issue(struct piece *piece, struct rail *rail)
{
	struct stripes *s = piece->of;
	unsigned int place = fabric_place(rail);
	const struct frame_rail *from = &s->frame.rails[place];
	const struct iovec iov = { piece->bytes, piece->size };
	void *desc;
	ssize_t result;

	piece->op.kind = OP_PIECE;
	result = rail_lend(rail, &iov, 1, FI_READ, NULL, &desc, &piece->lent);
	if (result == 0)
		result = fi_read(rail->core, piece->bytes, piece->size, desc,
				 s->flow->cores[place],
				 from->address + piece->offset, from->key,
				 &piece->op);
	if (result != 0) {
		rail_give_back(&piece->lent);
		return (int)result;
	}
	piece->rail = rail;
	piece->tries++;
	rail->owed++;
	rail->load += piece->size;
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
		if (i < s->frame.rail_count &&
		    order_is_usable(&s->flow->order, i))
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
		/* A rail that has failed is not tried again at once. */
		if (!is_of_rail(-result))
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

static struct piece *piece_next(struct stripes *s)
{
	uint64_t rest = s->size - s->begun;
	struct piece *piece = s->again;

	if (piece != NULL) {
		s->again = piece->next;
		return piece;
	}
	if (rest == 0)
		return NULL;
	piece = piece_make(s, s->begun, rest < s->part ? rest : s->part);
	if (piece == NULL && s->under_way == 0)
		s->error = FI_ENOMEM;
	if (piece != NULL)
		s->begun += piece->size;
	return piece;
}

static void piece_return(struct piece *piece)
{
	piece->next = piece->of->again;
	piece->of->again = piece;
}

static void stripes_issue(struct stripes *s)
{
	unsigned int refused = 0;
	struct piece *piece;

	while (s->error == 0 && (piece = piece_next(s)) != NULL) {
		uint64_t rest = piece->size + (s->size - s->begun);
		if (!piece_place(piece, rest, &refused)) {
			piece_return(piece);
			return;
		}
	}
}

static void piece_put(const struct piece *piece)
{
	const struct receive *receive = piece->of->receive;

	iov_put_at(receive->iov, receive->count, piece->offset, piece->bytes,
		   piece->size);
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

	rail->owed--;
	rail->load -= piece->size;
	DL_DELETE2(rail->pieces, piece, before, after);
	rail_give_back(&piece->lent);
	if (s == NULL) {
		free(piece);
		return;
	}
	piece_leave(piece, error == 0);
	if (error == 0) {
		piece_put(piece);
		free(piece);
		return;
	}
	piece_return(piece);
	piece_failed(piece, rail, error);
}

void pieces_take_back(struct flow *flow, struct rail *rail)
{
	struct piece *piece, *again;

	DL_FOREACH2(rail->pieces, piece, after)
	{
		struct stripes *s = piece->of;
		if (s == NULL || s->flow != flow)
			continue;
		again = piece_make(s, piece->offset, piece->size);
		if (again == NULL) {
			s->error = FI_ENOMEM;
		} else {
			again->tries = piece->tries;
			again->failed = 1U << fabric_place(rail);
			piece_return(again);
		}
		piece_leave(piece, false);
		piece->of = NULL;
	}
}

/* --- all of them --- */

void stripes_start(struct link_ep *ep, struct receive *receive,
		   const struct arrival *arrival)
{
	struct stripes *s = calloc(1, sizeof(*s));
	const struct message_end end = { .tag = arrival->frame.tag,
					 .source = source_address(
						 arrival->match.source) };

	if (s == NULL) {
		receive_failed(receive, &end, FI_ENOMEM, 0);
		return;
	}
	s->ep = ep;
	s->receive = receive;
	s->frame = arrival->frame;
	s->source = source_address(arrival->match.source);
	s->size = arrival->size < receive->size ? arrival->size : receive->size;
	s->part = stripe_size(s->size, ep->flows->count);
	link_lock(&ep->flows->working);
	set_seen(*ep->flows->come_end, s);
	ep->flows->come_end = &s->next;
	link_unlock(&ep->flows->working);
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
		s->flow = flow_find(s->ep, s->frame.sender);
		if (s->flow == NULL || s->flow->order.is_lost)
			s->error = LOSS_ERROR;
		else if (s->frame.rail_count != flows->count)
			s->error = FI_EIO; /* no peer of this link says so */
		if (s->flow != NULL) {
			s->flow->order.wants++;
			flow_list(s->flow);
		}
		DL_APPEND2(flows->stripes, s, before, after);
	}
}

void stripes_go_on(struct flows *flows)
{
	struct stripes *s, *next;

	if (peek_at(flows->come) != NULL)
		stripes_come(flows);
	DL_FOREACH_SAFE2(flows->stripes, s, next, after)
	{
		stripes_issue(s);
		if (is_over(s))
			stripes_end(s);
	}
}

void stripes_fail(struct flow *flow, int error)
{
	struct stripes *s;

	for (unsigned int i = 0; i < flow->ep->flows->count; i++)
		pieces_take_back(flow, fabric_rail(flow->ep, i));

	DL_FOREACH2(flow->ep->flows->stripes, s, after)
	if (s->flow == flow)
		s->error = error;
}

static void stripes_free(struct stripes *s)
{
	while (s->again != NULL) {
		struct piece *piece = s->again;
		s->again = piece->next;
		free(piece);
	}
	free(s->receive);
	free(s);
}

void stripes_close(struct flows *flows)
{
	struct link_ep *ep = flows->ep;
	struct stripes *s, *next;

	for (unsigned int i = 0; i < flows->count; i++) {
		struct piece *piece = fabric_rail(ep, i)->pieces, *after;
		for (; piece != NULL; piece = after) {
			after = piece->after;
			free(piece);
		}
	}
	DL_FOREACH_SAFE2(flows->stripes, s, next, after)
	stripes_free(s);
	for (s = flows->come; s != NULL; s = next) {
		next = s->next;
		stripes_free(s);
	}
}
