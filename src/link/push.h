/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages whose memory cannot be read. The rail is locked. */
#pragma once

#include "link/rendezvous.h"

/* Asks for one in pieces. -FI_ENOMEM: not now; otherwise it is not possible. */
int push_ask(struct reading *reading);
/* It has ended: no piece is taken for it any more. */
void push_forget(struct reading *reading);
void push_take_piece(struct rail *rail, const struct link_frame *frame);
/* -FI_ENOMEM: not now. */
int push_take_push(struct rail *rail, const struct link_frame *frame);
/* Sends what the core takes now. */
void push_work(struct rail *rail);
void push_drop_all(struct rail *rail);
