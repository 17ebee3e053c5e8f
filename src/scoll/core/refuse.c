/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error replies to messages that become no request: the library answers the
 * parent by itself (E-01). There are at most REFUSALS_MAX under way; beyond
 * that, or without memory, the parent's time decides.
 */
#include "scoll/core/internal.h"

static void refuse(struct scoll_core *core, uint64_t now_ns, scoll_nid_t to,
		   struct wire_reply *reply)
{
	struct out *out;

	if (core->loose_count >= REFUSALS_MAX)
		return;
	out = scoll_core_zalloc(core, sizeof(*out));
	if (out == NULL)
		return;
	out->to = to;
	out->tag = reply->tag;
	reply->sender = core->options.nid;
	if (wire_reply_encode(reply, NULL, 0, to, core->options.authenticator,
			      out->head) < 0) {
		scoll_core_release(core, out);
		return;
	}
	action_start(core, &out->action, NULL, ACTION_REPLY, now_ns);
}

void bcast_refuse(struct scoll_core *core, uint64_t now_ns, scoll_nid_t to,
		  uint64_t tag, int status, enum scoll_error_type type,
		  const struct wire_failure *failure)
{
	struct wire_reply reply = {
		.flags = WIRE_REPLY_LAST,
		.tag = tag,
		.status = status_clamp(status),
		.type = (uint8_t)type,
	};

	if (failure != NULL) {
		reply.failure_total = 1;
		reply.failure_count = 1;
		reply.failures[0] = *failure;
	}
	refuse(core, now_ns, to, &reply);
}

void bcast_refuse_start(struct scoll_core *core, uint64_t now_ns,
			scoll_nid_t to, uint64_t tag)
{
	struct wire_reply reply = {
		.flags = WIRE_REPLY_LAST | WIRE_REPLY_START,
		.tag = tag,
		.status = -ESTALE,
		.type = SCOLL_ERROR_PEER_REBOOT,
		.start = core->nonce,
	};

	refuse(core, now_ns, to, &reply);
}
