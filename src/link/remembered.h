/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that have left the vector, and go on to send what does not name them:
 * they received KNOWN. A core may give the place of one that it was to forget
 * to the next peer while the connection of the first is still there, and says
 * then that what comes by it is from the other. So their places are kept,
 * LINK_REMEMBERED of them, until they are back. The rail is locked.
 */
#pragma once

#include "link/peer.h"

/* Without memory its place is kept as well, and not found again. */
void peer_remember(struct rail *rail, const struct peer *peer);
/* Gives the place back to it, and what was said; false: there is none. */
bool peer_recall(struct rail *rail, struct peer *peer);
void remembered_drop(struct rail *rail);
