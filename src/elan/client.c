/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of the driver's half on a node, and their replies. */
#include "elan/client.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "elan/wire/peer.h"

static int call(const char *dir, const struct wire_request *request)
{
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	int result = peer_call(dir, request, &reply);

	if (result == 0 && !reader_is_done(&reply.reply.body))
		return -EPROTO;
	return result;
}

int rms_client_deposit(const char *dir, uint64_t grant_id, uid_t uid,
		       const struct elan_capability *cap)
{
	struct wire_request request = {
		.op = WIRE_DEPOSIT,
		.grant = grant_id,
		.uid = uid,
		.cap = *cap,
	};
	int result = call(dir, &request);

	explicit_bzero(&request, sizeof(request));
	return result;
}

static int take(const char *dir, const struct wire_request *request,
		pid_t *pids, size_t max, size_t *ret_count)
{
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	struct reader *body = &reply.reply.body;
	int result = peer_call(dir, request, &reply);
	uint32_t count;

	if (result != -EBUSY)
		return result;
	count = read_u32(body);
	if (body->failed || body->left % 4 != 0)
		return -EPROTO;
	for (size_t i = 0; i < max && body->left > 0; i++)
		pids[i] = (pid_t)read_u32(body);
	*ret_count = count;
	return -EBUSY;
}

int rms_client_take_back(const char *dir, uint64_t grant_id, pid_t *pids,
			 size_t max, size_t *ret_count)
{
	struct wire_request request = {
		.op = WIRE_TAKE_BACK,
		.grant = grant_id,
	};

	return take(dir, &request, pids, max, ret_count);
}

int rms_client_take(const char *dir, uint64_t number, bool is_dry_run,
		    pid_t *pids, size_t max, size_t *ret_count)
{
	struct wire_request request = {
		.op = WIRE_DEPOSIT_TAKE,
		.grant = number,
		.value = is_dry_run,
	};

	return take(dir, &request, pids, max, ret_count);
}

int rms_client_deposit_is(const char *dir, uint64_t grant_id, uid_t uid)
{
	struct wire_request request = {
		.op = WIRE_DEPOSIT_IS,
		.grant = grant_id,
		.uid = uid,
	};

	return call(dir, &request);
}

int rms_client_route(const char *dir, uint64_t grant_id, int node,
		     const void *routes, size_t size)
{
	struct wire_request request = {
		.op = WIRE_ROUTE,
		.grant = grant_id,
		.value = node,
		.routes = routes,
		.routes_size = size,
	};

	return call(dir, &request);
}

int rms_client_adapter(const char *dir, struct route *ret_route)
{
	struct wire_request request = { .op = WIRE_ADAPTER };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	struct reader *body = &reply.reply.body;
	struct route route = { 0 };
	int result = peer_call(dir, &request, &reply);

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
	struct wire_request request = {
		.op = WIRE_DEPOSIT_NEXT,
		.grant = number,
	};
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	struct rms_client_deposit deposit = { 0 };
	struct reader *body = &reply.reply.body;
	const uint8_t *bytes;
	size_t size = 0;
	int result = peer_call(dir, &request, &reply);

	if (result < 0)
		return result;
	deposit.number = read_u64(body);
	deposit.grant_id = read_u64(body);
	deposit.uid = read_u32(body);
	deposit.is_ending = read_u8(body) != 0;
	deposit.attached_count = read_u32(body);
	bytes = read_blob(body, CAPABILITY_SIZE, &size);
	if (!reader_is_done(body) ||
	    capability_decode(bytes, size, &deposit.cap) < 0)
		return -EPROTO;
	*ret_deposit = deposit;
	return 0;
}

int rms_client_rail_set(const char *dir, int rail, bool is_up)
{
	struct wire_request request = {
		.op = WIRE_RAIL,
		.index = rail,
		.value = is_up,
	};

	return call(dir, &request);
}

int rms_client_rails(const char *dir, struct rms_client_rails *ret_rails)
{
	struct wire_request request = { .op = WIRE_RAILS };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	struct rms_client_rails rails = { 0 };
	struct reader *body = &reply.reply.body;
	int result = peer_call(dir, &request, &reply);

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

int rms_client_is_sure(const char *dir)
{
	struct wire_request request = { .op = WIRE_VERSION_GET };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	struct reader *body = &reply.reply.body;
	int result = peer_call(dir, &request, &reply);
	uint8_t is_sure;

	if (result < 0)
		return result;
	read_u32(body);
	is_sure = read_u8(body);
	return reader_is_done(body) ? is_sure != 0 : -EPROTO;
}

int rms_client_program_create(const char *dir, int id, uid_t uid, int cpus)
{
	struct wire_request request = {
		.op = WIRE_PRGCREATE,
		.id = id,
		.uid = uid,
		.value = cpus,
	};

	return call(dir, &request);
}

int rms_client_program_destroy(const char *dir, int id)
{
	struct wire_request request = { .op = WIRE_PRGDESTROY, .id = id };

	return call(dir, &request);
}

int rms_client_program_signal(const char *dir, int id, int number)
{
	struct wire_request request = {
		.op = WIRE_PRGSIGNAL,
		.id = id,
		.value = number,
	};

	return call(dir, &request);
}

int rms_client_program_stats(const char *dir, int id,
			     struct rms_prgstats *ret_stats)
{
	struct wire_request request = { .op = WIRE_PRGGETSTATS, .id = id };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	struct reader *body = &reply.reply.body;
	struct rms_prgstats stats;
	int result = peer_call(dir, &request, &reply);

	if (result < 0)
		return result;
	wire_read_stats(body, &stats);
	if (!reader_is_done(body))
		return -EPROTO;
	*ret_stats = stats;
	return 0;
}

int rms_client_program_count(const char *dir, int id)
{
	struct wire_request request = { .op = WIRE_PRGINFO, .id = id };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	struct reader *body = &reply.reply.body;
	int result = peer_call(dir, &request, &reply);
	uint32_t count;

	if (result < 0)
		return result;
	count = read_u32(body);
	return body->failed || count > INT32_MAX ? -EPROTO : (int)count;
}

int rms_client_claim(const char *dir, int id)
{
	struct wire_request request = { .op = WIRE_PRGCLAIM, .id = id };

	return call(dir, &request);
}

int rms_client_cap_count(const char *dir)
{
	struct wire_request request = { .op = WIRE_NCAPS };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	struct reader *body = &reply.reply.body;
	int result = peer_call(dir, &request, &reply);
	uint32_t count;

	if (result < 0)
		return result;
	count = read_u32(body);
	return reader_is_done(body) && count <= RMS_CAPS_MAX ? (int)count
							     : -EPROTO;
}

int rms_client_cap_get(const char *dir, int index,
		       struct elan_capability *ret_cap)
{
	struct wire_request request = { .op = WIRE_GETCAP, .index = index };
	_auto_(peer_reply_fini) struct peer_reply reply = { 0 };
	struct reader *body = &reply.reply.body;
	int result = peer_call(dir, &request, &reply);

	if (result < 0)
		return result;
	return capability_decode(body->at, body->left, ret_cap);
}

int rms_client_cap_set(const char *dir, int index, int context)
{
	struct wire_request request = {
		.op = WIRE_SETCAP,
		.index = index,
		.value = context,
	};

	return call(dir, &request);
}

int rms_client_attach(const char *dir, int rail,
		      const struct elan_capability *cap)
{
	struct wire_request request = {
		.op = WIRE_ATTACH,
		.index = rail,
		.cap = *cap,
	};

	return call(dir, &request);
}

int rms_client_detach(const char *dir, int rail,
		      const struct elan_capability *cap)
{
	struct wire_request request = {
		.op = WIRE_DETACH,
		.index = rail,
		.cap = *cap,
	};

	return call(dir, &request);
}
