/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The jobtap plugin's connection to the manager, in the job manager's reactor.
 * It is made when there is something to ask, and made again, with growing
 * pauses, as long as somebody waits. Nothing here waits.
 *
 * What is asked and gets no answer, since the connection is lost, is answered
 * with json NULL: whether it was done is not known, and it is asked again.
 */
#pragma once

#include <flux/core.h>
#include <jansson.h>
#include <stdbool.h>

#include "fairlead.h"

struct flux_link;

/*
 * on_ready: called from the reactor when something may be asked again after
 * link_ask() has said that it may not. NULL: memory is out.
 */
struct flux_link *link_create(flux_t *h, void (*on_ready)(void *arg),
			      void *arg);
/* Open calls are answered; on_ready is not called any more. */
void link_destroy(struct flux_link *link);

/* As of fairlead_open(); "": its default. What is open is lost if it changes. */
int link_set_manager(struct flux_link *link, const char *manager);

/*
 * Ask. members: of the request; dropped here. 0: fn is called, later. -EAGAIN:
 * not now, on_ready is called when there is a reason to try again; -ENOMEM,
 * -EMSGSIZE: it cannot be asked.
 */
int link_ask(struct flux_link *link, const char *op, json_t *members,
	     fairlead_answer_fn *fn, void *arg);

/* Give the connection up: it has not answered in time. */
void link_reset(struct flux_link *link, const char *why);

bool link_is_up(
	const struct flux_link *link); /* the manager has answered on it */
const char *link_manager(const struct flux_link *link);
/* Why it is not: of the last time that it failed; "" when it did not. */
const char *link_trouble(const struct flux_link *link);
