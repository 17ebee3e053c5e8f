/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives that take many messages. Matching is locked in all that follows, but
 * for the last.
 */
#pragma once

#include "link/receive.h"

/* Posts it, or fills it with what is there; it may be gone after that. */
void many_post(struct receive *many);
/* A message was matched to it: it waits for those before it. */
void many_add(struct receive *many, struct arrival *arrival);
/*
 * Gives those that can be placed their slices. Matching is unlocked while data
 * is copied; the receive may be gone after that.
 */
void many_drain(struct receive *many);
/* The same for all that are posted; none of it is held. */
void many_drain_all(struct link_ep *ep);
/* Whether none of its slices is under way, and none will be. */
bool many_is_over(const struct receive *many);
/* One of its slices has ended. Returns whether that was the last. */
bool many_slice_ended(struct receive *many);
/* Gives a hold back. */
void many_let_go(struct receive *many);
/* Goes on with what waits for memory: is_starved. Matching is not locked. */
void many_retry(struct rail *rail);
