/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * News of nodes, from discovery to the user, once for each node. A node that
 * died loses its connections: libfabric would hold on to some of them (see
 * transport/ofi).
 */
#include "scoll/api/internal.h"

void news_deliver(struct scoll *scoll)
{
	enum scoll_liveness news;
	scoll_nid_t nid;

	while (discovery_news_next(scoll->discovery, &nid, &news)) {
		void (*notify)(void *, scoll_nid_t, enum scoll_liveness) =
			scoll->notify;
		void *ctx = scoll->notify_ctx;

		if (news != SCOLL_ALIVE)
			transport_ofi_peer_refresh(scoll->transport, nid);
		if (news != SCOLL_ALIVE && scoll->port != NULL)
			transport_ofi_peer_refresh(port_transport(scoll->port),
						   nid);
		if (notify == NULL)
			continue;
		scoll_unlock(scoll);
		notify(ctx, nid, news);
		scoll_lock(scoll);
	}
}
