/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What matched.c, claim.c and passed.c do for the rest: a rail whose core
 * matches tags itself.
 */
#pragma once

#include "link/loss.h"
#include "link/wire/frame.h"

struct arrival;
struct peek;
struct link_message;
struct match_receive;
struct reading;
struct receive;

/* --- matched.c: receives --- */

/* What a rail has for a core that matches tags: see matched.c. */
struct matched {
	uint64_t tag_mask; /* bits that the core's tags have */
	size_t iov_limit;
	struct receive *to_give, **to_give_end; /* it refused them for now */
	struct arrival *to_take, **to_take_end; /* by the rail's working */
	struct arrival *asking; /* those whose claim is under way */
	struct passed *free_passed, *made_passed;
	bool must_recall;
};

void matched_open(struct rail *rail, const struct fi_info *info);
/* Receives that the core has, and those on their way there. */
void matched_drop_all(struct link_ep *ep);
/*
 * Posts a receive, or has the core do it. Matching is locked; it is not any
 * more then.
 */
void matched_post(struct link_ep *ep, struct receive *receive);
/* Whether a receive from there might get a message of the core's. */
bool matched_reaches(const struct link_ep *ep, uint64_t source);
/*
 * The receive for a message that did not come by the core. Matching is locked.
 */
struct match_receive *matched_first(struct link_ep *ep, uint64_t source,
				    uint64_t tag);
/* Messages will come from elsewhere. Matching is locked. */
void matched_recall(struct link_ep *ep);
/* Cancels a receive that the core has; -FI_ENOENT: it has none. */
ssize_t matched_cancel(struct link_ep *ep, void *context);
/* What nothing shadows any more is to be given. Matching is locked. */
void matched_give_free(struct rail *rail);
/* Goes on with what waits. The rail is locked, here and below. */
void matched_work(struct rail *rail);
void matched_received(struct receive *receive,
		      const struct fi_cq_tagged_entry *entry, fi_addr_t core);
void matched_failed(struct receive *receive,
		    const struct fi_cq_err_entry *entry);

/* --- claim.c: what nobody expected, in such a core --- */

/* Puts a claimed message into a receive; NULL: away. Any thread. */
void claim_take(struct receive *receive, struct arrival *arrival);
/* A peek is answered when the core has been asked. Any thread. */
int claim_ask(struct link_ep *ep, const struct peek *peek);
/* The rail is locked, here and below. Asks the core, if that is needed. */
void claim_begin(struct rail *rail);
/* Second steps that wait. */
void claims_take(struct rail *rail);
void claim_ended(struct arrival *arrival,
		 const struct fi_cq_tagged_entry *entry, fi_addr_t core);
void claim_failed(struct arrival *arrival, const struct fi_cq_err_entry *entry);
/* As accesses_each_old() and accesses_leave_of(). */
void claims_each_old(struct rail *rail, loss_report *report, void *arg);
void claims_leave_of(struct rail *rail, uint64_t number, int error);

/* --- passed.c: sends as messages of such a core --- */

struct passed;
/* A tagged message. The rail is locked, here and below. */
ssize_t passed_send(struct rail *rail, struct peer *peer,
		    const struct link_message *message);
void passed_ended(struct passed *passed, int error);
void passed_drop(struct rail *rail);
void claims_drop(struct rail *rail);
/* As send_each_old() and send_drop_of(). */
void passed_each_old(struct rail *rail, loss_report *report, void *arg);
void passed_drop_of(struct rail *rail, uint64_t number, int error);
/* A peer introduces itself, and asks for a confirmation. */
int passed_greeted(struct rail *rail, const struct link_frame *frame);
