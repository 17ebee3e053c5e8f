/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * News of who lives, from discovery to the user: what changed last, once for
 * each node, and told from progress; a death is not forgotten over the life
 * after it. A node that died loses its connections:
 * libfabric would hold on to some of them (see transport/ofi).
 */
#include "scoll/api/internal.h"

#include <errno.h>
#include <stdlib.h>

int news_watch(struct scoll *scoll, scoll_nid_t nid)
{
	struct news *news;
	int result;

	HASH_FIND(hh, scoll->news, &nid, sizeof(nid), news);
	if (news != NULL)
		return 0;
	if (HASH_COUNT(scoll->news) >= WATCHED_MAX)
		return -ENOSPC;
	news = calloc(1, sizeof(*news));
	if (news == NULL)
		return -ENOMEM;
	news->nid = nid;
	HASH_ADD(hh, scoll->news, nid, sizeof(news->nid), news);
	result = hash_was_added(news) ? discovery_watch(scoll->watcher, nid)
				      : -ENOMEM;
	if (result < 0) {
		if (hash_was_added(news))
			HASH_DEL(scoll->news, news);
		free(news);
	}
	return result;
}

void news_changed(void *ctx, uint64_t nid, enum discovery_event event)
{
	static const enum scoll_liveness what[] = {
		[DISCOVERY_DEAD] = SCOLL_DEAD,
		[DISCOVERY_REBOOTED] = SCOLL_REBOOTED,
		[DISCOVERY_ALIVE] = SCOLL_ALIVE,
	};
	struct scoll *scoll = ctx;
	struct news *news;

	HASH_FIND(hh, scoll->news, &nid, sizeof(nid), news);
	if (news == NULL)
		return;
	news->what = what[event];
	news->has_died |= news->what != SCOLL_ALIVE;
	if (news->is_queued)
		return;
	news->is_queued = true;
	news->next = NULL;
	if (scoll->queue == NULL)
		scoll->queue = news;
	else
		scoll->queue_tail->next = news;
	scoll->queue_tail = news;
}

void news_tell(struct scoll *scoll)
{
	struct news *news;

	while ((news = scoll->queue) != NULL) {
		void (*notify)(void *, scoll_nid_t, enum scoll_liveness) =
			scoll->notify;
		void *ctx = scoll->notify_ctx;
		enum scoll_liveness what = news->what;
		scoll_nid_t nid = news->nid;

		scoll->queue = news->next;
		news->is_queued = false;
		if (news->has_died) {
			news->has_died = false;
			if (what == SCOLL_ALIVE)
				what = SCOLL_REBOOTED;
			transport_ofi_peer_refresh(scoll->transport, nid);
			if (scoll->port != NULL)
				transport_ofi_peer_refresh(
					port_transport(scoll->port), nid);
		}
		if (notify == NULL)
			continue;
		scoll_unlock(scoll);
		notify(ctx, nid, what);
		scoll_lock(scoll);
	}
}

void news_fini(struct scoll *scoll)
{
	struct news *news, *next;

	HASH_ITER (hh, scoll->news, news, next) {
		HASH_DEL(scoll->news, news);
		free(news);
	}
	scoll->queue = NULL;
}
