/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers: where they are, and whether they live. With gossip an instance has two
 * endpoints, so its address is both: u16 bytes of the first (little-endian),
 * the first, the second.
 */
#include "scoll/api/internal.h"

#include <errno.h>
#include <string.h>

#define ADDRESSES_MAX (2 + 2 * TRANSPORT_ADDRESS_MAX)

/* Both endpoints' addresses in one. */
static int addresses(struct scoll *scoll, uint8_t *ret_bytes, size_t *ret_size)
{
	const struct transport *port = port_transport(scoll->port);
	size_t first = TRANSPORT_ADDRESS_MAX;
	size_t second = TRANSPORT_ADDRESS_MAX;
	int result = scoll->transport.kind->address(scoll->transport.ctx,
						    ret_bytes + 2, &first);

	if (result < 0)
		return result;
	result = port->kind->address(port->ctx, ret_bytes + 2 + first, &second);
	if (result < 0)
		return result;
	ret_bytes[0] = (uint8_t)first;
	ret_bytes[1] = (uint8_t)(first >> 8);
	*ret_size = 2 + first + second;
	return 0;
}

static int addresses_get(struct scoll *scoll, void *ret_address, size_t *size)
{
	uint8_t bytes[ADDRESSES_MAX];
	size_t needed = 0;
	int result = addresses(scoll, bytes, &needed);

	if (result < 0)
		return result;
	if (*size < needed)
		result = -ENOSPC;
	else
		memcpy(ret_address, bytes, needed);
	*size = needed;
	return result;
}

int scoll_address(scoll_t *scoll, void *ret_address, size_t *size)
{
	int result;

	scoll_lock(scoll);
	if (scoll->port != NULL)
		result = addresses_get(scoll, ret_address, size);
	else
		result = scoll->transport.kind->address(scoll->transport.ctx,
							ret_address, size);
	scoll_unlock(scoll);
	return result;
}

/* Of one endpoint. */
struct where {
	const void *bytes;
	size_t size; /* 0: to be forgotten */
};

/* gossip: of the endpoint of gossip, where there is one. */
static int where_set(struct scoll *scoll, scoll_nid_t nid, struct where first,
		     struct where gossip)
{
	const struct transport *port = port_transport(scoll->port);
	int result = scoll->transport.kind->peer_set(scoll->transport.ctx, nid,
						     first.bytes, first.size);

	/* A node is forgotten in both, or in the one that knows it. */
	if (port != NULL && (result == 0 || first.size == 0)) {
		int other = port->kind->peer_set(port->ctx, nid, gossip.bytes,
						 gossip.size);

		if (first.size > 0)
			result = other;
	}
	return result;
}

/* Both endpoints' addresses out of one. */
static int where_split(const uint8_t *bytes, size_t size,
		       struct where *ret_first, struct where *ret_gossip)
{
	size_t first;

	if (size < 2)
		return -EINVAL;
	first = bytes[0] | (size_t)bytes[1] << 8;
	if (first == 0 || first >= size - 2)
		return -EINVAL;
	*ret_first = (struct where){ bytes + 2, first };
	*ret_gossip = (struct where){ bytes + 2 + first, size - 2 - first };
	return 0;
}

int scoll_peer_address(scoll_t *scoll, scoll_nid_t nid, const void *address,
		       size_t size)
{
	struct where first = { address, size }, gossip = { NULL, 0 };
	int result = 0;

	if (scoll->port != NULL && size > 0)
		result = where_split(address, size, &first, &gossip);
	if (result < 0)
		return result;
	scoll_lock(scoll);
	result = where_set(scoll, nid, first, gossip);
	scoll_unlock_changed(scoll);
	return result;
}

static int resolve(const struct transport *transport, const char *node,
		   const char *service, uint8_t ret[TRANSPORT_ADDRESS_MAX],
		   struct where *ret_where, struct fairlead_error *ret_error)
{
	size_t size = TRANSPORT_ADDRESS_MAX;
	int result = transport->kind->resolve(transport->ctx, node, service,
					      ret, &size, ret_error);

	if (result == 0)
		*ret_where = (struct where){ ret, size };
	return result;
}

/* A name server may not answer: the lock is not held meanwhile. */
int scoll_peer_resolve(scoll_t *scoll, scoll_nid_t nid, const char *node,
		       const char *service, struct fairlead_error *ret_error)
{
	uint8_t bytes[2][TRANSPORT_ADDRESS_MAX];
	struct where first, gossip = { NULL, 0 };
	char beside[PORT_SERVICE_MAX];
	int result;

	if (scoll->port != NULL &&
	    (service == NULL || port_service(service, beside) < 0))
		return error_set(ret_error, -EINVAL,
				 "no service for gossip beside '%.40s'",
				 service != NULL ? service : "");
	result = resolve(&scoll->transport, node, service, bytes[0], &first,
			 ret_error);
	if (result == 0 && scoll->port != NULL)
		result = resolve(port_transport(scoll->port), node, beside,
				 bytes[1], &gossip, ret_error);
	if (result < 0)
		return result;
	scoll_lock(scoll);
	result = where_set(scoll, nid, first, gossip);
	scoll_unlock_changed(scoll);
	if (result < 0)
		error_set(ret_error, result, "cannot store the address: %s",
			  strerror(-result));
	return result;
}

int scoll_peer_set(scoll_t *scoll, scoll_nid_t nid, enum scoll_liveness news)
{
	int result;

	if (scoll->given == NULL)
		return -EOPNOTSUPP;
	scoll_lock(scoll);
	result = given_set(scoll->given, nid, news);
	if (result == 0)
		news_apply(scoll, nid, news);
	scoll_unlock_changed(scoll);
	return result;
}

int scoll_peer_query(scoll_t *scoll, scoll_nid_t nid)
{
	bool is_alive;

	scoll_lock(scoll);
	is_alive = discovery_is_alive(scoll->discovery, nid);
	scoll_unlock(scoll);
	return is_alive ? SCOLL_ALIVE : SCOLL_DEAD;
}

uint32_t scoll_peer_deaths(scoll_t *scoll, scoll_nid_t nid)
{
	return SCOLL_LOCKED(scoll, discovery_counter(scoll->discovery, nid));
}

bool scoll_is_stealthy(scoll_t *scoll)
{
	return SCOLL_LOCKED(scoll, discovery_is_stealthy(scoll->discovery));
}

void scoll_peer_notify(scoll_t *scoll,
		       void (*notify)(void *ctx, scoll_nid_t nid,
				      enum scoll_liveness news),
		       void *ctx)
{
	scoll_lock(scoll);
	scoll->notify = notify;
	scoll->notify_ctx = ctx;
	scoll_unlock(scoll);
}
