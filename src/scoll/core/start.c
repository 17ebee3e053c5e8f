/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whom a message is for: not a node, but one start of it. So what was recorded
 * on its way to an earlier start is worth nothing at a later one, which has
 * seen nothing yet. A sender learns a receiver's start from its refusal, which
 * is sealed and answers this very request, and sends again what was for no start
 * at all; it remembers the start until discovery knows of a later one, so this
 * happens once. What was for a start that is over is not sent again: that one
 * may have run it. Only with an authenticator: without one a
 * message that was heard is no better than one that was made up.
 */
#include "scoll/core/internal.h"

#include <stdlib.h>

#define STARTS_MAX 65536 /* nodes whose start is known; first in out */

struct start {
	scoll_nid_t nid;
	uint64_t nonce;
	uint32_t counter;  /* of discovery, when it was learned */
	UT_hash_handle hh; /* in the order in which they were learned */
};

static struct start *start_find(const struct scoll_core *core, scoll_nid_t nid)
{
	struct start *start;

	HASH_FIND(hh, core->starts, &nid, sizeof(nid), start);
	return start;
}

uint64_t start_of(const struct scoll_core *core, scoll_nid_t nid)
{
	const struct start *start = start_find(core, nid);

	if (start == NULL ||
	    start->counter != discovery_counter(core->options.discovery, nid))
		return 0;
	return start->nonce;
}

static void start_remove(struct scoll_core *core, struct start *start)
{
	HASH_DEL(core->starts, start);
	free(start);
}

int start_learn(struct scoll_core *core, scoll_nid_t nid, uint64_t nonce)
{
	struct start *start = start_find(core, nid);
	uint32_t counter = discovery_counter(core->options.discovery, nid);

	if (start != NULL) {
		start->nonce = nonce;
		start->counter = counter;
		return 0;
	}
	if (HASH_COUNT(core->starts) >= STARTS_MAX)
		start_remove(core, core->starts);
	start = calloc(1, sizeof(*start));
	if (start == NULL)
		return -ENOMEM;
	start->nid = nid;
	start->nonce = nonce;
	start->counter = counter;
	HASH_ADD(hh, core->starts, nid, sizeof(start->nid), start);
	if (!hash_was_added(start)) {
		free(start);
		return -ENOMEM;
	}
	return 0;
}

void starts_fini(struct scoll_core *core)
{
	struct start *start, *next;

	HASH_ITER (hh, core->starts, start, next)
		start_remove(core, start);
}

bool start_is_ours(const struct scoll_core *core, uint64_t nonce)
{
	return core->options.authenticator == NULL || nonce == core->nonce;
}
