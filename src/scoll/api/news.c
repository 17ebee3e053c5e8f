/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * News of nodes, from discovery to the user, once for each node. A node that
 * died loses its connections, before anything is sent to its next start.
 */
#include "scoll/api/internal.h"

void news_apply(struct scoll *scoll, scoll_nid_t nid, enum scoll_liveness news)
{
	const struct transport *port = port_transport(scoll->port);

	if (news == SCOLL_ALIVE)
		return;
	scoll->transport.kind->peer_refresh(scoll->transport.ctx, nid);
	if (port != NULL)
		port->kind->peer_refresh(port->ctx, nid);
}

void news_deliver(struct scoll *scoll)
{
	enum scoll_liveness news;
	scoll_nid_t nid;

	while (discovery_news_next(scoll->discovery, &nid, &news)) {
		void (*notify)(void *, scoll_nid_t, enum scoll_liveness) =
			scoll->notify;
		void *ctx = scoll->notify_ctx;

		if (scoll->given == NULL)
			news_apply(scoll, nid, news);
		if (notify == NULL)
			continue;
		scoll_unlock(scoll);
		notify(ctx, nid, news);
		scoll_lock(scoll);
	}
}
