/* SPDX-License-Identifier: BSD-3-Clause */
/* One table: which operation is which call of the registry. */
#include "elan/core/dispatch.h"

#include <errno.h>

#include "base/memory.h"

_Static_assert(4 + 8 * PROCESSES_MAX <= RMS_REPLY_MAX - 64,
	       "one packet a list");

static registry_call *const calls[RMS_OP_COUNT] = {
	[RMS_VERSION_GET] = registry_version,
	[RMS_PRGCREATE] = registry_program_create,
	[RMS_PRGDESTROY] = registry_program_destroy,
	[RMS_PRGIDS] = registry_program_ids,
	[RMS_PRGINFO] = registry_program_members,
	[RMS_GETPRGID] = registry_program_of,
	[RMS_ADDPROC] = registry_process_add,
	[RMS_REMOVEPROC] = registry_process_remove,
	[RMS_PRGSIGNAL] = registry_program_signal,
	[RMS_PRGSUSPEND] = registry_program_suspend,
	[RMS_PRGRESUME] = registry_program_suspend,
	[RMS_PRGADDCAP] = registry_cap_add,
	[RMS_SETCAP] = registry_cap_set,
	[RMS_NCAPS] = registry_cap_count,
	[RMS_MYCAP] = registry_cap_mine,
	[RMS_GETCAP] = registry_cap_get,
	[RMS_PREFCAP] = registry_cap_preferred,
	[RMS_ELANINITDONE] = registry_initialised,
	[RMS_PRGELANPIDS] = registry_initialised_list,
	[RMS_PRGGETSTATS] = registry_stats,
	[RMS_SETELANSTATS] = registry_elanstats_set,
	[RMS_SETCOREPATH] = registry_corepath_set,
	[RMS_GETCOREPATH] = registry_corepath_get,
	[RMS_ATTACH] = registry_attach,
	[RMS_DETACH] = registry_detach,
	[RMS_DEPOSIT] = registry_deposit_add,
	[RMS_DEPOSIT_NEXT] = registry_deposit_next,
	[RMS_RAIL] = registry_rail_set,
	[RMS_DEPOSIT_TAKE] = registry_deposit_take,
	[RMS_DEPOSIT_IS] = registry_deposit_is,
	[RMS_RAILS] = registry_rails,
	[RMS_PRGCLAIM] = registry_cap_claim,
	[RMS_OPEN] = registry_attach,
	[RMS_ROUTE] = registry_route,
	[RMS_ADAPTER] = registry_adapter,
};

int dispatch(struct registry *registry, const struct caller *caller,
	     const void *packet, size_t size, struct writer *writer)
{
	struct writer body = { .limit = RMS_REPLY_MAX - 64 };
	struct rms_request request;
	int result = rms_request_decode(packet, size, &request);

	if (result < 0) {
		rms_reply_encode(RMS_NONE, result, writer);
		return result;
	}
	result = calls[request.op](registry, caller, &request, &body);
	if (memory_check(body.result) < 0) {
		result = body.result;
		body.size = 0;
	}
	rms_reply_encode(request.op, result, writer);
	if (body.size > 0)
		write_bytes(writer, body.data, body.size);
	writer_fini(&body);
	return 0;
}
