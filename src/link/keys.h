/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of peers' memory. The rail is locked. */
#pragma once

#include "link/peer.h"
#include "link/wire/frame.h"
#include "link/wire/reach.h"

struct asker;

/*
 * What the core has to be given to reach a peer's memory. -FI_EAGAIN: the peer
 * is asked; another negative errno: there is no such memory.
 */
ssize_t keys_translate(struct rail *rail, struct peer *peer,
		       const struct fi_rma_iov *from, size_t count,
		       struct fi_rma_iov *ret_to);
/* An answer has come, of REACH_KEY_SIZE bytes without an error. */
void key_answered(struct rail *rail, uint64_t number, uint64_t key, int error,
		  const uint8_t *answer);
/* The answer was out of date: it is requested again. */
void key_doubt(struct rail *rail, uint64_t number, uint64_t key, uint64_t core);
void key_forget(struct link_ep *ep, uint64_t number, uint64_t key);
/* What a peer wants to know; 0 or a positive errno. */
int key_answer(struct rail *rail, const struct link_frame *frame,
	       const struct reach *reach, uint8_t *ret_answer);
/*
 * Who asked for one, each once; LINK_ASKERS at most. 0 or a positive errno.
 * Reaching is locked.
 */
int asker_add(struct asker **askers, uint64_t number,
	      const uint8_t from[LINK_ADDRESS_SIZE]);
/* Tells all of them that it is none any more, now or later. */
void askers_withdraw(struct rail *rail, struct asker **askers, uint64_t key);
void forgets_send(struct rail *rail);
void forgets_drop(struct rail *rail);
void keys_drop(struct rail *rail);
