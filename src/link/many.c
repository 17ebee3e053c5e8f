/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives that take many messages (FI_MULTI_RECV). Each message gets a slice
 * of the buffer. How long one is may be known only after those that come behind
 * it were matched, so messages wait in the order of their matching; what comes
 * when the buffer is full is matched again.
 */
#include "link/many.h"
#include "link/endpoint.h"

static struct match *match_of(struct receive *many)
{
	return many->is_tagged ? &many->ep->tagged : &many->ep->untagged;
}

/* The next slice, for a message of `size` bytes. Matching is locked. */
static struct receive *slice_take(struct receive *many, size_t size)
{
	struct receive *slice = receive_alloc(many->ep);
	struct iovec *left = &many->iov[0];
	size_t part = size < left->iov_len ? size : left->iov_len;

	if (slice == NULL)
		return NULL;
	slice->parent = many;
	slice->context = many->context;
	slice->flags = many->flags;
	slice->is_tagged = many->is_tagged;
	slice->iov[0] = (struct iovec){ left->iov_base, part };
	slice->count = 1;
	slice->size = part;
	many->slices++;
	left->iov_base = (uint8_t *)left->iov_base + part;
	left->iov_len -= part;
	many->is_full =
		left->iov_len == 0 || left->iov_len < many->ep->min_multi_recv;
	if (many->is_full)
		match_remove(match_of(many), &many->match);
	return slice;
}

bool many_is_over(const struct receive *many)
{
	return many->slices == 0 &&
	       (many->is_full || (many->is_cancelled && many->waiting == NULL));
}

/* Nobody has it any more, or will. */
static void free_unheld(struct receive *many)
{
	if (many->holds == 0 && many->waiting == NULL && many_is_over(many))
		receive_free(many->ep, many);
}

void many_let_go(struct receive *many)
{
	many->holds--;
	free_unheld(many);
}

bool many_slice_ended(struct receive *many)
{
	bool is_over;

	many->slices--;
	is_over = many_is_over(many);
	free_unheld(many);
	return is_over;
}

/* Finds another receive for a message. Matching is locked. */
static struct receive *match_again(struct match *match, struct arrival *arrival)
{
	struct match_receive *found =
		match_arrive(match, arrival->match.source, arrival->match.tag);

	arrival->receive = NULL;
	if (found == NULL) {
		match_queue(match, &arrival->match);
		return NULL;
	}
	return receive_of_match(found);
}

void many_add(struct receive *many, struct arrival *arrival)
{
	arrival->receive = many;
	arrival->next = NULL;
	if (many->waiting == NULL)
		many->waiting = arrival;
	else
		many->waiting_last->next = arrival;
	many->waiting_last = arrival;
}

/*
 * The other receive that the first that waits goes to, with a full buffer.
 * NULL: nowhere now. Matching is locked.
 */
static struct receive *first_goes_on(struct receive *many,
				     struct arrival *arrival)
{
	struct receive *to = match_again(match_of(many), arrival);

	if (to == NULL)
		return NULL;
	if (to->match.stays) {
		many_add(to, arrival);
		many_drain(to);
		return NULL;
	}
	if (arrival->state != ARRIVAL_PENDING)
		return to;
	arrival->receive = to;
	return NULL;
}

/* Returns false when there is no memory to go on with. */
static bool drain(struct receive *many)
{
	struct link_ep *ep = many->ep;
	struct arrival *arrival;
	bool is_starved = false;

	many->holds++;
	while ((arrival = many->waiting) != NULL &&
	       (arrival->state != ARRIVAL_PENDING || many->is_full)) {
		bool is_full = many->is_full;
		struct receive *to =
			is_full ? NULL : slice_take(many, arrival->size);
		if (to == NULL && !is_full) {
			is_starved = true;
			set_seen(arrival->rail->is_starved, true);
			break;
		}
		many->waiting = arrival->next;
		if (is_full)
			to = first_goes_on(many, arrival);
		if (to != NULL) {
			link_unlock(&ep->matching);
			receive_take(to, arrival);
			link_lock(&ep->matching);
		}
	}
	many_let_go(many);
	return !is_starved;
}

void many_drain(struct receive *many)
{
	(void)drain(many);
}

static bool can_drain(void *arg, const struct match_receive *match)
{
	const struct arrival *first =
		container(match, struct receive, match)->waiting;

	return first != NULL && first->state != ARRIVAL_PENDING;
}

static void drain_all(struct match *match)
{
	struct match_receive *found;

	do {
		found = match_search(match, can_drain, NULL);
	} while (found != NULL && drain(receive_of_match(found)));
}

void many_drain_all(struct link_ep *ep)
{
	drain_all(&ep->tagged);
	drain_all(&ep->untagged);
}

void many_retry(struct rail *rail)
{
	link_lock(&rail->ep->matching);
	set_seen(rail->is_starved, false);
	many_drain_all(rail->ep);
	link_unlock(&rail->ep->matching);
}

void many_post(struct receive *many)
{
	struct match_message *message;

	many->holds++;
	do {
		message = match_post(match_of(many), &many->match);
		if (message == NULL)
			break;
		many_add(many, arrival_of_message(message));
		many_drain(many);
	} while (!many->is_full);
	many_let_go(many);
}
