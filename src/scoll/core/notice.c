/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short messages from a parent about a request: how much of the bulk data is
 * there, that it was aborted, that buffers for reports are posted. They come
 * without order; one that overtakes its broadcast waits in a small table.
 */
#include "scoll/core/internal.h"

int bcast_notice_send(struct child *child, uint64_t now_ns, enum wire_kind kind,
		      int status, uint64_t amount, struct notice **ret_notice)
{
	struct bcast *bcast = child->bcast;
	struct scoll_core *core = bcast->core;
	struct wire_notice wire = {
		.root = bcast->root,
		.root_nonce = bcast->root_nonce,
		.number = bcast->number,
		.sender = core->options.nid,
		.status = status,
		.amount = amount,
		.start = start_of(core, child->node->nid),
	};
	struct notice *notice = scoll_core_alloc(core, sizeof(*notice));
	int size;

	if (notice == NULL)
		return -ENOMEM;
	size = wire_notice_encode(kind, &wire, child->node->nid,
				  core->options.authenticator, notice->bytes);
	if (size < 0) {
		scoll_core_release(core, notice);
		return size;
	}
	memset(notice, 0, offsetof(struct notice, size));
	notice->child = child;
	notice->kind = kind;
	notice->size = (size_t)size;
	if (ret_notice != NULL)
		*ret_notice = notice;
	action_start(core, &notice->action, bcast, ACTION_NOTICE, now_ns);
	return 0;
}

void bcast_notice_ended(struct notice *notice, uint64_t now_ns, int result)
{
	struct child *child = notice->child;
	bool is_bulk = child->bulk_notice == notice;

	scoll_core_release(child->bcast->core, notice);
	if (!is_bulk)
		return;
	child->bulk_notice = NULL;
	bulk_announce(child, now_ns);
}

static void apply(struct bcast *bcast, uint64_t now_ns, enum wire_kind kind,
		  int status, uint64_t amount)
{
	switch (kind) {
	case WIRE_BULK_READY:
		bulk_parent_has(bcast, now_ns, amount, status);
		break;
	case WIRE_ABORT:
		bcast_abort(bcast, now_ns, status, true);
		break;
	case WIRE_REPORTS_WANTED:
		bcast_reports_start(bcast, now_ns, amount);
		break;
	case WIRE_BCAST:
	case WIRE_REPLY:
	case WIRE_REPORT:
		break;
	}
}

static void keep(struct scoll_core *core, const struct wire_message *message)
{
	const struct wire_notice *notice = &message->notice;
	enum replay_result seen = replay_check(
		core->replay, notice->root, notice->root_nonce, notice->number);

	if (message->kind == WIRE_REPORTS_WANTED || seen == REPLAY_SEEN ||
	    seen == REPLAY_OLD)
		return;
	if (core->early == NULL) {
		core->early = scoll_core_zalloc(
			core, EARLY_MAX * sizeof(*core->early));
		if (core->early == NULL)
			return;
	}
	core->early[core->early_next++ % EARLY_MAX] = (struct early){
		.root = notice->root,
		.nonce = notice->root_nonce,
		.number = notice->number,
		.sender = notice->sender,
		.amount = notice->amount,
		.status = notice->status,
		.kind = (uint8_t)message->kind,
	};
}

void bcast_notice_receive(struct scoll_core *core, uint64_t now_ns,
			  const struct wire_message *message)
{
	const struct wire_notice *notice = &message->notice;
	struct bcast *bcast;

	if (!start_is_ours(core, notice->start)) {
		/* 0: the sender will learn of it. */
		core->stats.messages_refused += notice->start != 0;
		return;
	}
	bcast = bcast_find(core, notice->root, notice->root_nonce,
			   notice->number);
	if (bcast == NULL) {
		keep(core, message);
		return;
	}
	if (bcast->parent != notice->sender) {
		core->stats.messages_refused++;
		return;
	}
	apply(bcast, now_ns, message->kind, notice->status, notice->amount);
	bcast_touch(bcast);
}

void bcast_early_apply(struct bcast *bcast, uint64_t now_ns)
{
	struct scoll_core *core = bcast->core;

	for (uint32_t i = 0; core->early != NULL && i < EARLY_MAX; i++) {
		struct early *early = &core->early[i];

		if (early->kind == 0 || early->root != bcast->root ||
		    early->nonce != bcast->root_nonce ||
		    early->number != bcast->number)
			continue;
		if (early->sender == bcast->parent)
			apply(bcast, now_ns, (enum wire_kind)early->kind,
			      early->status, early->amount);
		early->kind = 0;
	}
}
