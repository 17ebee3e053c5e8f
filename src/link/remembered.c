/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which addresses at a core are kept; those kept for the longest time go first.
 */
#include <stdlib.h>

#include "link/remembered.h"
#include "base/hash.h"
#include "link/endpoint.h"

struct remembered {
	uint64_t number;
	fi_addr_t core;
	bool knows_listed, knows_us; /* as the peer's */
	UT_hash_handle hh;           /* in the order in which they were added */
};

static void forget_oldest(struct rail *rail)
{
	struct remembered *oldest = rail->remembered;

	if (rail_source(rail, oldest->core) ==
	    (oldest->number | SOURCE_BY_NUMBER))
		rail->sources[oldest->core] = FI_ADDR_NOTAVAIL;
	fi_av_remove(rail->av, &oldest->core, 1, 0);
	HASH_DEL(rail->remembered, oldest);
	free(oldest);
}

void peer_remember(struct rail *rail, const struct peer *peer)
{
	struct remembered *kept = malloc(sizeof(*kept));

	if (kept == NULL)
		return;
	if (HASH_COUNT(rail->remembered) >= LINK_REMEMBERED)
		forget_oldest(rail);
	*kept = (struct remembered){ .number = peer->number,
				     .core = peer->cores[rail->index],
				     .knows_listed = peer->knows_listed,
				     .knows_us = peer->knows_us };
	HASH_ADD(hh, rail->remembered, number, sizeof(kept->number), kept);
	if (!hash_was_added(kept))
		free(kept);
}

bool peer_recall(struct rail *rail, struct peer *peer)
{
	struct remembered *kept;

	HASH_FIND(hh, rail->remembered, &peer->number, sizeof(peer->number),
		  kept);
	if (kept == NULL)
		return false;
	peer->cores[rail->index] = kept->core;
	peer->knows_listed = kept->knows_listed;
	peer->knows_us = kept->knows_us;
	HASH_DEL(rail->remembered, kept);
	free(kept);
	return true;
}

void remembered_drop(struct rail *rail)
{
	struct remembered *kept, *next;

	HASH_ITER (hh, rail->remembered, kept, next) {
		HASH_DEL(rail->remembered, kept);
		free(kept);
	}
}
