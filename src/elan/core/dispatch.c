/* SPDX-License-Identifier: BSD-3-Clause */
/* One table: which operation is which call of the registry. */
#include "elan/core/dispatch.h"

#include <errno.h>

#include "base/memory.h"

_Static_assert(4 + 8 * PROCESSES_MAX <= WIRE_REPLY_MAX - 64,
	       "one packet a list");

static registry_call *const calls[WIRE_OP_COUNT] = {
	[WIRE_VERSION_GET] = registry_version,
	[WIRE_PRGCREATE] = registry_program_create,
	[WIRE_PRGDESTROY] = registry_program_destroy,
	[WIRE_PRGIDS] = registry_program_ids,
	[WIRE_PRGINFO] = registry_program_members,
	[WIRE_GETPRGID] = registry_program_of,
	[WIRE_ADDPROC] = registry_process_add,
	[WIRE_REMOVEPROC] = registry_process_remove,
	[WIRE_PRGSIGNAL] = registry_program_signal,
	[WIRE_PRGSUSPEND] = registry_program_suspend,
	[WIRE_PRGRESUME] = registry_program_suspend,
	[WIRE_PRGADDCAP] = registry_cap_add,
	[WIRE_SETCAP] = registry_cap_set,
	[WIRE_NCAPS] = registry_cap_count,
	[WIRE_MYCAP] = registry_cap_mine,
	[WIRE_GETCAP] = registry_cap_get,
	[WIRE_PREFCAP] = registry_cap_preferred,
	[WIRE_ELANINITDONE] = registry_initialised,
	[WIRE_PRGELANPIDS] = registry_initialised_list,
	[WIRE_PRGGETSTATS] = registry_stats,
	[WIRE_SETELANSTATS] = registry_elanstats_set,
	[WIRE_SETCOREPATH] = registry_corepath_set,
	[WIRE_GETCOREPATH] = registry_corepath_get,
	[WIRE_ATTACH] = registry_attach,
	[WIRE_DETACH] = registry_detach,
	[WIRE_DEPOSIT] = registry_deposit_add,
	[WIRE_TAKE_BACK] = registry_deposit_take_back,
	[WIRE_DEPOSIT_NEXT] = registry_deposit_next,
	[WIRE_RAIL] = registry_rail_set,
	[WIRE_DEPOSIT_TAKE] = registry_deposit_take,
	[WIRE_DEPOSIT_IS] = registry_deposit_is,
	[WIRE_RAILS] = registry_rails,
	[WIRE_PRGCLAIM] = registry_cap_claim,
	[WIRE_OPEN] = registry_attach,
	[WIRE_ROUTE] = registry_route,
	[WIRE_ADAPTER] = registry_adapter,
};

int dispatch(struct registry *registry, const struct caller *caller,
	     const void *packet, size_t size, struct writer *writer)
{
	struct writer body = { .limit = WIRE_REPLY_MAX - 64 };
	struct wire_request request;
	int result = wire_request_decode(packet, size, &request);

	if (result < 0) {
		wire_reply_encode(WIRE_NONE, result, writer);
		return result;
	}
	result = calls[request.op](registry, caller, &request, &body);
	if (memory_check(body.result) < 0) {
		result = body.result;
		body.size = 0;
	}
	wire_reply_encode(request.op, result, writer);
	if (body.size > 0)
		write_bytes(writer, body.data, body.size);
	writer_fini(&body);
	return 0;
}
