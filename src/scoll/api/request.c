/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: the core's, under the lock of their instance. */
#include "scoll/api/internal.h"

#include <errno.h>
#include <string.h>

#include "sys/clock.h"

static scoll_request_t *request_new(
	scoll_group_t *group, const scoll_nid_t *nids, int count,
	const void *buf, int len, const struct iovec *bulk_iovs, int niov,
	unsigned flags, scoll_duration_t service_timeout, const void *private)
{
	struct scoll *scoll = scoll_of_group(group);
	scoll_request_t *request = NULL;
	int result = SCOLL_LOCKED(
		scoll,
		scoll_core_bcast_new(group, sys_monotonic_ns(), nids, count,
				     buf, len, bulk_iovs, niov, flags,
				     service_timeout, private, &request));

	if (result < 0)
		errno = -result;
	return result < 0 ? NULL : request;
}

scoll_request_t *scoll_bcast_new(scoll_group_t *group, const void *buf, int len,
				 const struct iovec *bulk_iovs, int niov,
				 unsigned flags,
				 scoll_duration_t service_timeout,
				 const void *private)
{
	return request_new(group, NULL, 0, buf, len, bulk_iovs, niov, flags,
			   service_timeout, private);
}

scoll_request_t *scoll_bcast_new_subset(
	scoll_group_t *group, const scoll_nid_t *nids, int count,
	const void *buf, int len, const struct iovec *bulk_iovs, int niov,
	unsigned flags, scoll_duration_t service_timeout, const void *private)
{
	if (nids == NULL) {
		errno = EINVAL; /* no list is not the empty one */
		return NULL;
	}
	return request_new(group, nids, count, buf, len, bulk_iovs, niov, flags,
			   service_timeout, private);
}

void scoll_request_free(scoll_request_t *request)
{
	struct scoll *scoll = scoll_of_request(request);

	scoll_lock(scoll);
	scoll_core_request_free(request, sys_monotonic_ns());
	scoll_unlock(scoll);
}

int scoll_reply_buffer_post(int child, void *buf, size_t len,
			    scoll_request_t *request, void *private)
{
	struct scoll *scoll = scoll_of_request(request);

	return SCOLL_LOCKED(scoll, scoll_core_reply_buffer_post(
					   child, buf, len, request, private));
}

int scoll_bcast_send(scoll_request_t *request)
{
	struct scoll *scoll = scoll_of_request(request);

	return SCOLL_LOCKED_CHANGED(
		scoll, scoll_core_bcast_send(request, sys_monotonic_ns()));
}

int scoll_reply(scoll_request_t *request, const void *buf, size_t len)
{
	struct scoll *scoll = scoll_of_request(request);

	return SCOLL_LOCKED_CHANGED(
		scoll, scoll_core_reply(request, sys_monotonic_ns(), buf, len));
}

int scoll_reply_part(scoll_request_t *request, const void *buf, size_t len)
{
	struct scoll *scoll = scoll_of_request(request);

	return SCOLL_LOCKED_CHANGED(
		scoll,
		scoll_core_reply_part(request, sys_monotonic_ns(), buf, len));
}

void scoll_bcast_abort(scoll_request_t *request)
{
	struct scoll *scoll = scoll_of_request(request);

	scoll_lock(scoll);
	scoll_core_bcast_abort(request, sys_monotonic_ns());
	scoll_unlock_changed(scoll);
}

scoll_t *scoll_request_instance(const scoll_request_t *request)
{
	return scoll_of_request(request);
}

/* --- what came of it --- */

int scoll_request_status(const scoll_request_t *request)
{
	struct scoll *scoll = scoll_of_request(request);

	return SCOLL_LOCKED(scoll, scoll_core_request_status(request));
}

int scoll_request_failure_next(const scoll_request_t *request, uint64_t *cursor,
			       struct scoll_failure *ret_failure)
{
	struct scoll *scoll = scoll_of_request(request);

	return SCOLL_LOCKED(scoll, scoll_core_request_failure_next(
					   request, cursor, ret_failure));
}

void scoll_request_times(const scoll_request_t *request,
			 struct scoll_request_times *ret_times)
{
	struct scoll *scoll = scoll_of_request(request);

	scoll_lock(scoll);
	scoll_core_request_times(request, ret_times);
	scoll_unlock(scoll);
}

void scoll_stats(scoll_t *scoll, struct scoll_stats *ret_stats)
{
	struct scoll_stats stats = { .size = sizeof(stats) };
	struct transport_stats transport;
	size_t size = ret_stats->size;

	scoll_lock(scoll);
	scoll_core_stats(scoll->core, &stats);
	scoll->transport.kind->stats(scoll->transport.ctx, &transport);
	if (scoll->port != NULL)
		stats.messages_refused += port_refused_count(scoll->port);
	scoll_unlock(scoll);
	stats.messages_refused += transport.refused_count;
	stats.messages_refused += transport.stale_count;
	stats.allocations += transport.allocation_count;
	stats.size = size;
	memcpy(ret_stats, &stats, size < sizeof(stats) ? size : sizeof(stats));
}
