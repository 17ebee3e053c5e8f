/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests with their replies, for librms, the driver and the emulation. */
#include "elan/client.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "elan/wire/peer.h"

int rms_client_call(const char *dir, const struct rms_request *request)
{
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	int result = rms_call(dir, request, &reply);

	if (result == 0 && !reader_is_done(&reply.reply.body))
		return -EPROTO;
	return result;
}

int rms_client_deposit(const char *dir, uint64_t grant_id, uid_t uid,
		       const struct elan_capability *cap)
{
	struct rms_request request = {
		.op = RMS_DEPOSIT,
		.grant = grant_id,
		.uid = uid,
		.cap = *cap,
	};
	int result = rms_client_call(dir, &request);

	explicit_bzero(&request, sizeof(request));
	return result;
}

int rms_client_number(const char *dir, const struct rms_request *request,
		      int *ret_number)
{
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	struct reader *body = &reply.reply.body;
	int result = rms_call(dir, request, &reply);
	int number;

	if (result < 0)
		return result;
	number = (int)read_u32(body);
	if (!reader_is_done(body))
		return -EPROTO;
	*ret_number = number;
	return 0;
}

static int read_pids(struct reader *body, pid_t *pids, size_t max,
		     size_t *ret_count)
{
	uint32_t count = read_u32(body);

	if (body->failed || body->left % 4 != 0 || count > INT32_MAX)
		return -EPROTO;
	for (size_t i = 0; i < max && body->left > 0; i++)
		pids[i] = (pid_t)read_u32(body);
	*ret_count = count;
	return 0;
}

int rms_client_take(const char *dir, uint64_t number, bool is_dry_run,
		    pid_t *pids, size_t max, size_t *ret_count)
{
	const struct rms_request request = {
		.op = RMS_DEPOSIT_TAKE,
		.grant = number,
		.value = is_dry_run,
	};
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	int result = rms_call(dir, &request, &reply);

	if (result == -EBUSY &&
	    read_pids(&reply.reply.body, pids, max, ret_count) < 0)
		return -EPROTO;
	return result;
}

int rms_client_deposit_is(const char *dir, uint64_t grant_id, uid_t uid)
{
	struct rms_request request = {
		.op = RMS_DEPOSIT_IS,
		.grant = grant_id,
		.uid = uid,
	};

	return rms_client_call(dir, &request);
}

int rms_client_route(const char *dir, uint64_t grant_id, int node,
		     const void *routes, size_t size)
{
	struct rms_request request = {
		.op = RMS_ROUTE,
		.grant = grant_id,
		.value = node,
		.routes = routes,
		.routes_size = size,
	};

	return rms_client_call(dir, &request);
}

int rms_client_adapter(const char *dir, struct route *ret_route)
{
	struct rms_request request = { .op = RMS_ADAPTER };
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	struct reader *body = &reply.reply.body;
	struct route route = { 0 };
	int result = rms_call(dir, &request, &reply);

	if (result < 0)
		return result;
	route_read(body, &route);
	if (!reader_is_done(body))
		return -EPROTO;
	*ret_route = route;
	return 0;
}

int rms_client_deposit_next(const char *dir, uint64_t number,
			    struct rms_client_deposit *ret_deposit)
{
	struct rms_request request = {
		.op = RMS_DEPOSIT_NEXT,
		.grant = number,
	};
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	struct rms_client_deposit deposit = { 0 };
	struct reader *body = &reply.reply.body;
	int result = rms_call(dir, &request, &reply);

	if (result < 0)
		return result;
	deposit.number = read_u64(body);
	deposit.grant_id = read_u64(body);
	deposit.uid = read_u32(body);
	deposit.is_ending = read_u8(body) != 0;
	deposit.attached_count = read_u32(body);
	capability_read(body, &deposit.cap);
	if (!reader_is_done(body))
		return -EPROTO;
	*ret_deposit = deposit;
	return 0;
}

int rms_client_rails(const char *dir, struct rms_client_rails *ret_rails)
{
	struct rms_request request = { .op = RMS_RAILS };
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	struct rms_client_rails rails = { 0 };
	struct reader *body = &reply.reply.body;
	int result = rms_call(dir, &request, &reply);

	if (result < 0)
		return result;
	rails.up = read_u32(body);
	if (read_u8(body) != ELAN_MAX_RAILS)
		return -EPROTO;
	for (int i = 0; i < ELAN_MAX_RAILS; i++)
		rails.contexts[i] = read_u32(body);
	if (!reader_is_done(body))
		return -EPROTO;
	*ret_rails = rails;
	return 0;
}

int rms_client_version(const char *dir, bool *ret_is_sure)
{
	struct rms_request request = { .op = RMS_VERSION_GET };
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	struct reader *body = &reply.reply.body;
	int result = rms_call(dir, &request, &reply);
	uint32_t version;
	bool is_sure;

	if (result < 0)
		return result;
	version = read_u32(body);
	is_sure = read_u8(body) != 0;
	if (!reader_is_done(body) || version > INT32_MAX)
		return -EPROTO;
	*ret_is_sure = is_sure;
	return (int)version;
}

int rms_client_stats(const char *dir, int id, struct rms_prgstats *ret_stats)
{
	struct rms_request request = { .op = RMS_PRGGETSTATS, .id = id };
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	struct reader *body = &reply.reply.body;
	struct rms_prgstats stats;
	int result = rms_call(dir, &request, &reply);

	if (result < 0)
		return result;
	rms_read_stats(body, &stats);
	if (!reader_is_done(body))
		return -EPROTO;
	*ret_stats = stats;
	return 0;
}

int rms_client_members(const char *dir, int id, pid_t *pids, size_t max)
{
	struct rms_request request = { .op = RMS_PRGINFO, .id = id };
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	size_t count = 0;
	int result = rms_call(dir, &request, &reply);

	if (result == 0)
		result = read_pids(&reply.reply.body, pids, max, &count);
	return result < 0 ? result : (int)count;
}

int rms_client_cap_get(const char *dir, int index,
		       struct elan_capability *ret_cap)
{
	struct rms_request request = { .op = RMS_GETCAP, .index = index };
	_auto_(rms_answer_fini) struct rms_answer reply = { 0 };
	struct reader *body = &reply.reply.body;
	struct elan_capability cap;
	int result = rms_call(dir, &request, &reply);

	if (result < 0)
		return result;
	capability_read(body, &cap);
	if (!reader_is_done(body))
		return -EPROTO;
	*ret_cap = cap;
	return 0;
}
