/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that are known by name only; and fi_cm(3). */
#pragma once

#include "link/peer.h"
#include "link/wire/frame.h"

/* The rail that is a place's, of names. */
struct rail *name_rail(struct link_ep *ep);
/* Begins to ask for what is in the vector by name. No rail is locked. */
int name_ask(struct link_ep *ep, fi_addr_t address,
	     const struct link_address *name);
void name_forget(struct link_ep *ep, fi_addr_t address);
/*
 * What to say of an address that is no peer: -FI_EAGAIN, it is being asked;
 * -FI_EHOSTUNREACH, for long, or no rail leads there; -FI_EINVAL, there is
 * none. Makes progress.
 */
ssize_t name_refusal(struct link_ep *ep, fi_addr_t address);
/* A HELLO or NAME has come. The rail is locked. */
void name_take(struct rail *rail, const struct link_frame *frame);
/* Goes on with questions and answers: has_names. No rail is locked. */
void names_progress(struct link_ep *ep);
void names_drop(struct link_ep *ep);

extern struct fi_ops_cm link_cm_ops;
