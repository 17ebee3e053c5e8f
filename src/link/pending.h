/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that wait. The rail is locked. */
#pragma once

#include "link/slab.h"

/* Whether others to this peer wait. */
bool pending_has(const struct rail *rail, const struct peer *peer);
/* The program's own may, as long as they are few. */
bool pending_accepts(const struct rail *rail, const struct peer *peer);
void pending_add(struct rail *rail, struct slab *slab);
void pending_flush(struct rail *rail);
void pending_hand_over(struct rail *rail, const struct peer *peer,
		       struct peer *to);
/* Ends those to a peer with an error. */
void pending_drop(struct rail *rail, const struct peer *peer, int error);
