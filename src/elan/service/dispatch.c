/* SPDX-License-Identifier: BSD-3-Clause */
/* One table: which operation is which call of the registry. */
#include "elan/service/dispatch.h"

#include <errno.h>

_Static_assert(4 + 8 * PROCESSES_MAX <= WIRE_REPLY_MAX - 64,
	       "one packet a list");

struct exchange {
	struct registry *registry;
	const struct caller *caller;
	const struct wire_request *request;
	const struct route *adapter;
	struct writer *body;
};

static int write_number(const struct exchange *exchange, int result,
			int32_t number)
{
	if (result == 0)
		write_u32(exchange->body, (uint32_t)number);
	return result;
}

static int do_version(const struct exchange *exchange)
{
	const struct keeper_seam *keeper = &exchange->registry->keeper;

	write_u32(exchange->body, RMS_MODVERSION);
	write_u8(exchange->body, keeper->ops->is_sure(keeper->ctx));
	return 0;
}

static int do_prgcreate(const struct exchange *exchange)
{
	return registry_program_create(exchange->registry, exchange->caller,
				       exchange->request->id,
				       exchange->request->uid,
				       exchange->request->value);
}

static int do_prgdestroy(const struct exchange *exchange)
{
	return registry_program_destroy(exchange->registry, exchange->caller,
					exchange->request->id);
}

static int do_prgids(const struct exchange *exchange)
{
	registry_program_ids(exchange->registry, exchange->body);
	return 0;
}

static int do_prginfo(const struct exchange *exchange)
{
	return registry_program_members(exchange->registry,
					exchange->request->id, exchange->body);
}

static int do_getprgid(const struct exchange *exchange)
{
	int32_t id = 0;
	int result = registry_program_of(exchange->registry, exchange->caller,
					 exchange->request->value, &id);

	return write_number(exchange, result, id);
}

static int do_addproc(const struct exchange *exchange)
{
	return registry_process_add(exchange->registry, exchange->caller,
				    exchange->request->id,
				    exchange->request->value);
}

static int do_removeproc(const struct exchange *exchange)
{
	return registry_process_remove(exchange->registry, exchange->caller,
				       exchange->request->id,
				       exchange->request->value);
}

static int do_prgsignal(const struct exchange *exchange)
{
	return registry_program_signal(exchange->registry, exchange->caller,
				       exchange->request->id,
				       exchange->request->value);
}

static int do_prgsuspend(const struct exchange *exchange)
{
	return registry_program_suspend(exchange->registry, exchange->caller,
					exchange->request->id, true);
}

static int do_prgresume(const struct exchange *exchange)
{
	return registry_program_suspend(exchange->registry, exchange->caller,
					exchange->request->id, false);
}

static int do_prgaddcap(const struct exchange *exchange)
{
	return registry_cap_add(exchange->registry, exchange->caller,
				exchange->request->id, exchange->request->index,
				&exchange->request->cap);
}

static int do_setcap(const struct exchange *exchange)
{
	return registry_cap_set(exchange->registry, exchange->caller,
				exchange->request->index,
				exchange->request->value);
}

static int do_ncaps(const struct exchange *exchange)
{
	int32_t count = 0;
	int result = registry_cap_count(exchange->registry, exchange->caller,
					&count);

	return write_number(exchange, result, count);
}

static int do_mycap(const struct exchange *exchange)
{
	int32_t index = 0;
	int result =
		registry_cap_mine(exchange->registry, exchange->caller, &index);

	return write_number(exchange, result, index);
}

static int do_getcap(const struct exchange *exchange)
{
	struct elan_capability cap;
	int result = registry_cap_get(exchange->registry, exchange->caller,
				      exchange->request->index, &cap);

	if (result == 0)
		capability_encode_short(&cap, exchange->body);
	return result;
}

static int do_prefcap(const struct exchange *exchange)
{
	int32_t index = 0;
	int result =
		registry_cap_preferred(exchange->registry, exchange->caller,
				       exchange->request->value, &index);

	return write_number(exchange, result, index);
}

static int do_elaninitdone(const struct exchange *exchange)
{
	return registry_initialised(exchange->registry, exchange->caller,
				    exchange->request->value);
}

static int do_prgelanpids(const struct exchange *exchange)
{
	return registry_initialised_list(exchange->registry,
					 exchange->request->id, exchange->body);
}

static int do_prggetstats(const struct exchange *exchange)
{
	struct rms_prgstats stats;
	int result = registry_stats(exchange->registry, exchange->caller,
				    exchange->request->id, &stats);

	if (result == 0)
		wire_write_stats(exchange->body, &stats);
	return result;
}

static int do_setelanstats(const struct exchange *exchange)
{
	return registry_elanstats_set(exchange->registry, exchange->caller,
				      exchange->request->id,
				      &exchange->request->stats);
}

static int do_setcorepath(const struct exchange *exchange)
{
	return registry_corepath_set(exchange->registry, exchange->caller,
				     exchange->request->text);
}

static int do_getcorepath(const struct exchange *exchange)
{
	const char *path = NULL;
	int result = registry_corepath_get(exchange->registry, exchange->caller,
					   exchange->request->value, &path);

	if (result == 0)
		write_text(exchange->body, path);
	return result;
}

static int do_attach(const struct exchange *exchange)
{
	return registry_attach(exchange->registry, exchange->caller,
			       exchange->request->index,
			       &exchange->request->cap);
}

static int do_route(const struct exchange *exchange)
{
	return registry_route(exchange->registry, exchange->caller,
			      exchange->request->grant,
			      exchange->request->value,
			      exchange->request->routes,
			      exchange->request->routes_size);
}

static int do_adapter(const struct exchange *exchange)
{
	route_encode(exchange->adapter, exchange->body);
	return 0;
}

static int do_detach(const struct exchange *exchange)
{
	return registry_detach(exchange->registry, exchange->caller,
			       exchange->request->index,
			       &exchange->request->cap);
}

static int do_deposit(const struct exchange *exchange)
{
	return registry_deposit_add(exchange->registry, exchange->caller,
				    exchange->request->grant,
				    exchange->request->uid,
				    &exchange->request->cap);
}

static int do_take_back(const struct exchange *exchange)
{
	return registry_deposit_take_back(exchange->registry, exchange->caller,
					  exchange->request->grant,
					  exchange->body);
}

static int do_deposit_next(const struct exchange *exchange)
{
	struct deposit deposit;
	uint32_t attached;
	int result = registry_deposit_next(exchange->registry, exchange->caller,
					   exchange->request->grant, &deposit,
					   &attached);

	if (result < 0)
		return result;
	/* What is listed may be printed: no key. */
	deposit.cap.cap_userkey = (struct elan_userkey){ 0 };
	write_u64(exchange->body, deposit.number);
	write_u64(exchange->body, deposit.grant_id);
	write_u32(exchange->body, deposit.uid);
	write_u8(exchange->body, deposit.is_ending);
	write_u32(exchange->body, attached);
	write_u32(exchange->body,
		  (uint32_t)capability_short_size(&deposit.cap));
	capability_encode_short(&deposit.cap, exchange->body);
	return 0;
}

static int do_rail(const struct exchange *exchange)
{
	if (exchange->request->value != 0 && exchange->request->value != 1)
		return -EINVAL;
	return registry_rail_set(exchange->registry, exchange->caller,
				 exchange->request->index,
				 exchange->request->value == 1);
}

static int do_deposit_take(const struct exchange *exchange)
{
	if (exchange->request->value != 0 && exchange->request->value != 1)
		return -EINVAL;
	return registry_deposit_take(exchange->registry, exchange->caller,
				     exchange->request->grant,
				     exchange->request->value == 1,
				     exchange->body);
}

static int do_deposit_is(const struct exchange *exchange)
{
	return registry_deposit_is(exchange->registry, exchange->request->grant,
				   exchange->request->uid);
}

static int do_prgclaim(const struct exchange *exchange)
{
	return registry_cap_claim(exchange->registry, exchange->caller,
				  exchange->request->id);
}

static int do_rails(const struct exchange *exchange)
{
	registry_rails(exchange->registry, exchange->body);
	return 0;
}

static int (*const operations[WIRE_OP_COUNT])(const struct exchange *) = {
	[WIRE_VERSION_GET] = do_version,
	[WIRE_PRGCREATE] = do_prgcreate,
	[WIRE_PRGDESTROY] = do_prgdestroy,
	[WIRE_PRGIDS] = do_prgids,
	[WIRE_PRGINFO] = do_prginfo,
	[WIRE_GETPRGID] = do_getprgid,
	[WIRE_ADDPROC] = do_addproc,
	[WIRE_REMOVEPROC] = do_removeproc,
	[WIRE_PRGSIGNAL] = do_prgsignal,
	[WIRE_PRGSUSPEND] = do_prgsuspend,
	[WIRE_PRGRESUME] = do_prgresume,
	[WIRE_PRGADDCAP] = do_prgaddcap,
	[WIRE_SETCAP] = do_setcap,
	[WIRE_NCAPS] = do_ncaps,
	[WIRE_MYCAP] = do_mycap,
	[WIRE_GETCAP] = do_getcap,
	[WIRE_PREFCAP] = do_prefcap,
	[WIRE_ELANINITDONE] = do_elaninitdone,
	[WIRE_PRGELANPIDS] = do_prgelanpids,
	[WIRE_PRGGETSTATS] = do_prggetstats,
	[WIRE_SETELANSTATS] = do_setelanstats,
	[WIRE_SETCOREPATH] = do_setcorepath,
	[WIRE_GETCOREPATH] = do_getcorepath,
	[WIRE_ATTACH] = do_attach,
	[WIRE_DETACH] = do_detach,
	[WIRE_DEPOSIT] = do_deposit,
	[WIRE_TAKE_BACK] = do_take_back,
	[WIRE_DEPOSIT_NEXT] = do_deposit_next,
	[WIRE_RAIL] = do_rail,
	[WIRE_DEPOSIT_TAKE] = do_deposit_take,
	[WIRE_DEPOSIT_IS] = do_deposit_is,
	[WIRE_RAILS] = do_rails,
	[WIRE_PRGCLAIM] = do_prgclaim,
	[WIRE_OPEN] = do_attach, /* descriptors are the server's part */
	[WIRE_ROUTE] = do_route,
	[WIRE_ADAPTER] = do_adapter,
};

int dispatch(struct registry *registry, const struct caller *caller,
	     const struct route *adapter, const void *packet, size_t size,
	     struct writer *writer)
{
	struct writer body = { .limit = WIRE_REPLY_MAX - 64 };
	struct wire_request request;
	struct exchange exchange = {
		.registry = registry,
		.caller = caller,
		.request = &request,
		.adapter = adapter,
		.body = &body,
	};
	int result = wire_request_decode(packet, size, &request);

	if (result < 0) {
		wire_reply_encode(WIRE_NONE, result, writer);
		return result;
	}
	result = operations[request.op](&exchange);
	if (body.result < 0) {
		result = body.result;
		body.size = 0;
	}
	wire_reply_encode(request.op, result, writer);
	if (body.size > 0)
		write_bytes(writer, body.data, body.size);
	writer_fini(&body);
	return 0;
}
