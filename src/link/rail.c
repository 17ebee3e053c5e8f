/* SPDX-License-Identifier: BSD-3-Clause */
/* One core provider's endpoint: what it has completed, and how it is opened. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/rail.h"
#include "link/cq.h"
#include "link/direct.h"
#include "link/flow.h"
#include "link/keys.h"
#include "link/many.h"
#include "link/matched.h"
#include "link/names.h"
#include "link/pending.h"
#include "link/presence.h"
#include "link/push.h"
#include "link/reach.h"
#include "link/remembered.h"
#include "link/rma.h"
#include "link/shared.h"
#include "link/slots.h"
#include "link/unlisted.h"

/* --- what the core has completed --- */

/* A peer has written to our memory, with remote data. */
static void take_written(struct rail *rail,
			 const struct fi_cq_tagged_entry *entry,
			 fi_addr_t source)
{
	struct link_ep *ep = rail->ep;
	const struct cq_entry written = {
		.tagged = { .flags = entry->flags,
			    .len = entry->len,
			    .data = entry->data },
		.source = source_address(rail_source(rail, source)),
	};

	if (ep->receive_cq != NULL)
		cq_add(ep->receive_cq, &written);
}

static void take_completion(struct rail *rail,
			    const struct fi_cq_tagged_entry *entry,
			    fi_addr_t source)
{
	struct link_op *op = entry->op_context;

	if (op == NULL) {
		take_written(rail, entry, source);
		return;
	}
	switch (op->kind) {
	case OP_SEND:
		slab_sent(rail, (struct slab *)op, 0);
		break;
	case OP_SLAB:
		slab_came(rail, (struct slab *)op, entry, source);
		break;
	case OP_RECEIVE:
		shared_received(rail, (struct receive *)op, entry, source);
		break;
	case OP_ARRIVAL:
		shared_arrived((struct arrival *)op, entry);
		break;
	case OP_READ:
		reading_ended((struct reading *)op, 0);
		break;
	case OP_PIECE:
		piece_ended((struct piece *)op, 0);
		break;
	case OP_ACCESS:
		access_ended((struct link_access *)op, 0);
		break;
	case OP_GIVEN:
		matched_received((struct receive *)op, entry, source);
		break;
	case OP_CLAIM:
		claim_ended((struct arrival *)op, entry, source);
		break;
	case OP_PASSED:
		passed_ended((struct passed *)op, 0);
		break;
	}
}

/* Each core has its own words for a connection that is no more. */
static int error_of(int core)
{
	switch (abs(core)) {
	case FI_ECANCELED:
	case FI_ECONNREFUSED:
	case FI_ECONNRESET:
	case FI_EHOSTDOWN:
	case FI_EHOSTUNREACH:
	case FI_ENETUNREACH:
	case FI_ENOTCONN:
	case EPIPE:
	case FI_ESHUTDOWN:
	case FI_ETIMEDOUT:
		return LOSS_ERROR;
	default:
		return abs(core);
	}
}

static void take_failure(struct rail *rail)
{
	struct fi_cq_err_entry entry = { 0 };
	struct link_op *op;

	if (fi_cq_readerr(rail->cq, &entry, 0) != 1)
		return;
	op = entry.op_context;
	if (op == NULL) {
		link_warn(EP_DATA, "%s: %s\n", rail->text->provider,
			  fi_strerror(entry.err));
		return;
	}
	switch (op->kind) {
	case OP_SEND:
		slab_sent(rail, (struct slab *)op, error_of(entry.err));
		break;
	case OP_SLAB:
		slab_used(rail, (struct slab *)op);
		break;
	case OP_RECEIVE:
		shared_failed((struct receive *)op, &entry);
		break;
	case OP_ARRIVAL:
		shared_arrival_failed((struct arrival *)op);
		break;
	case OP_READ:
		reading_ended((struct reading *)op, abs(entry.err));
		break;
	case OP_PIECE:
		piece_ended((struct piece *)op, entry.err);
		break;
	case OP_ACCESS:
		access_ended((struct link_access *)op, error_of(entry.err));
		break;
	case OP_GIVEN:
		/* Another result than that it was cancelled. */
		if (entry.err != FI_ECANCELED)
			entry.err = error_of(entry.err);
		matched_failed((struct receive *)op, &entry);
		break;
	case OP_CLAIM:
		entry.err = error_of(entry.err);
		claim_failed((struct arrival *)op, &entry);
		break;
	case OP_PASSED:
		passed_ended((struct passed *)op, error_of(entry.err));
		break;
	}
}

/* Takes in what the core has completed; as fi_cq_read(). */
static inline ssize_t rail_read(struct rail *rail)
{
	struct fi_cq_tagged_entry entries[LINK_POLL_BATCH];
	fi_addr_t sources[LINK_POLL_BATCH];
	ssize_t count;

	set_seen(rail->is_polling, true);
	if (rail->late != NULL || rail->kept != NULL)
		shared_retry(rail);
	count = fi_cq_readfrom(rail->cq, entries, LINK_POLL_BATCH, sources);
	if (count == -FI_EAVAIL)
		take_failure(rail);
	for (ssize_t i = 0; i < count; i++)
		take_completion(rail, &entries[i], sources[i]);
	set_seen(rail->is_polling, false);
	return count;
}

bool rail_drain(struct rail *rail)
{
	rail->has_refused = false;
	return rail_read(rail) == -FI_EAGAIN && !rail->has_refused &&
	       rail->late == NULL && rail->kept == NULL;
}

bool rail_poll(struct rail *rail)
{
	ssize_t count;

	/*
	 * Not as soon as they are free: the program has what came in them
	 * first.
	 */
	if (rail->came != NULL)
		slabs_take(rail);
	if (rail->to_post != NULL)
		slabs_post(rail);
	if (peek_at(rail->is_starved))
		many_retry(rail);
	count = rail_read(rail);
	if (rail->pending != NULL)
		pending_flush(rail);
	if (rail->answers != NULL)
		reached_answer(rail);
	if (rail->forgets != NULL)
		forgets_send(rail);
	reading_work(rail);
	if (rail->again != NULL)
		accesses_again(rail);
	if (rail->pushes != NULL)
		push_work(rail);
	if (loss_is_due(&rail->loss))
		loss_look(rail);
	if (has_flows(rail))
		flows_go_on(rail->ep, count != -FI_EAGAIN);
	if (rail->way == RAIL_MATCHED)
		matched_work(rail);
	return count > 0;
}

/* --- open and close --- */

/*
 * The name of shared memory follows from the endpoint's number; the place of
 * the first fabric rail is that of the endpoint's name, if it has one.
 */
static struct fi_info *info_named(struct rail *rail,
				  const struct link_core *core)
{
	struct fi_info *info = fi_dupinfo(core->info);
	const struct rail_address *place = &rail->ep->place;
	char name[PRESENCE_NAME_MAX];
	const void *bytes = name;
	size_t size = place->size;

	if (info == NULL || (core->way != RAIL_SHARED &&
			     (size == 0 || rail != name_rail(rail->ep))))
		return info;
	if (core->way == RAIL_SHARED) {
		presence_name(rail->ep->number, name);
		size = strlen(name) + 1;
	} else {
		bytes = place->bytes;
	}
	free(info->src_addr);
	info->src_addrlen = size;
	info->src_addr = malloc(size);
	if (info->src_addr == NULL) {
		fi_freeinfo(info);
		return NULL;
	}
	memcpy(info->src_addr, bytes, size);
	return info;
}

static int core_open(struct rail *rail, struct fi_info *info,
		     struct fid_fabric *fabric)
{
	struct fi_cq_attr cq_attr = { .size = LINK_CORE_CQ_SIZE,
				      .format = FI_CQ_FORMAT_TAGGED,
				      .wait_obj = FI_WAIT_NONE };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	int result = fi_domain(fabric, info, &rail->domain, NULL);

	if (result == 0)
		result = fi_cq_open(rail->domain, &cq_attr, &rail->cq, NULL);
	if (result == 0)
		result = fi_av_open(rail->domain, &av_attr, &rail->av, NULL);
	if (result == 0)
		result = fi_endpoint(rail->domain, info, &rail->core, NULL);
	if (result == 0)
		result = fi_ep_bind(rail->core, &rail->cq->fid,
				    FI_TRANSMIT | FI_RECV);
	if (result == 0)
		result = fi_ep_bind(rail->core, &rail->av->fid, 0);
	if (result == 0 && rail->way == RAIL_SHARED)
		result = shared_open(rail);
	if (result == 0)
		result = fi_enable(rail->core);
	rail->is_core_enabled = result == 0;
	return result;
}

/* What goes by it in which way; what comes may be larger at any other end. */
static void rail_measure(struct rail *rail, const struct fi_info *info)
{
	size_t frame = rail->way == RAIL_SHARED
			       ? info->tx_attr->inject_size
			       : frame_max(rail->text->provider);

	rail->inject_size = info->tx_attr->inject_size;
	rail->eager_size = frame - FRAME_EAGER_SIZE;
	rail->direct_size = rail->way == RAIL_SHARED ? rail->inject_size
						     : direct_max(rail, info);
	rail->slab_size = rail->direct_size > LINK_FRAME_SIZE
				  ? rail->direct_size
				  : LINK_FRAME_SIZE;
}

int rail_open(struct rail *rail, const struct link_core *core,
	      struct fid_fabric *fabric)
{
	struct fi_info *info;
	int result;

	set_seen(rail->due, 0);
	rail->mr_mode = (uint64_t)core->info->domain_attr->mr_mode;
	rail_measure(rail, core->info);
	rail->is_virtual = (rail->mr_mode & FI_MR_VIRT_ADDR) != 0;
	rail->has_other_keys =
		(rail->mr_mode & (FI_MR_VIRT_ADDR | FI_MR_PROV_KEY)) != 0 ||
		rail->ep->domain->is_virtual;
	rail->loss.probe = -1;
	rail->work_end = &rail->work;
	rail->answers_end = &rail->answers;
	info = info_named(rail, core);
	if (info == NULL)
		return -FI_ENOMEM;
	result = core_open(rail, info, fabric);
	fi_freeinfo(info);
	if (result == 0 && rail->way == RAIL_SHARED) {
		result = slots_open(rail);
	} else if (result == 0) {
		result = slabs_open(rail);
		if (result == 0)
			slabs_post(rail);
	}
	if (rail->way == RAIL_MATCHED)
		matched_open(rail, core->info);
	if (result != 0)
		link_warn(EP_CTRL, "%s: %s\n", rail->text->provider,
			  fi_strerror(-result));
	return result;
}

static void close_one(struct fid *fid)
{
	if (fid != NULL)
		fi_close(fid);
}

/*
 * A read that a rail never ended may be half there: tcp and net of 1.17 free it
 * twice when they are closed. And shm frees the receive context, which is ours,
 * when it was not enabled.
 */
static const char *why_it_stays(const struct rail *rail)
{
	if (rail->pieces != NULL)
		return "it has not ended what it reads";
	return rail->way == RAIL_SHARED && rail->core != NULL &&
			       !rail->is_core_enabled
		       ? "it could not be enabled"
		       : NULL;
}

static void core_close(struct rail *rail)
{
	const char *why = why_it_stays(rail);

	if (why != NULL) {
		link_warn(EP_CTRL, "%s: left open, since %s\n",
			  rail->pieces != NULL ? rail->name
					       : rail->text->provider,
			  why);
		return;
	}
	close_one(rail->core == NULL ? NULL : &rail->core->fid);
	close_one(rail->srx == NULL ? NULL : &rail->srx->fid);
	close_one(rail->av == NULL ? NULL : &rail->av->fid);
	close_one(rail->cq == NULL ? NULL : &rail->cq->fid);
	close_one(rail->domain == NULL ? NULL : &rail->domain->fid);
}

/* What went by which rail. */
static void rail_tell(const struct rail *rail)
{
	const struct rail_text *text = rail->text;

	link_info(EP_CTRL, "%s%s%s has sent %llu messages of %llu bytes\n",
		  text->provider, text->domain[0] == '\0' ? "" : ":",
		  text->domain, (unsigned long long)rail->messages,
		  (unsigned long long)rail->bytes);
}

void rail_unregister(struct rail *rail)
{
	accesses_give_back(rail);
	for (struct slab *s = rail->made_slabs; s != NULL; s = s->next_made)
		for (unsigned int i = 0; i < RAILS_MAX; i++)
			close_one(s->mrs[i] == NULL ? NULL : &s->mrs[i]->fid);
	for (struct reading *r = rail->issued; r != NULL; r = r->after)
		rail_give_back(&r->lent);
	close_one(rail->slabs_mr == NULL ? NULL : &rail->slabs_mr->fid);
}

void rail_close(struct rail *rail)
{
	if (rail->core != NULL)
		rail_tell(rail);
	if (rail->loss.probe >= 0)
		close(rail->loss.probe);
	core_close(rail);
	for (struct slab *s = rail->made_slabs, *next; s != NULL; s = next) {
		next = s->next_made;
		free(s);
	}
	push_drop_all(rail);
	readings_drop(rail);
	accesses_drop(rail);
	answers_drop(rail);
	forgets_drop(rail);
	keys_drop(rail);
	unlisted_drop_all(rail);
	remembered_drop(rail);
	shared_drop(rail);
	passed_drop(rail);
	claims_drop(rail);
	free(rail->late);
	free(rail->slots);
	free(rail->slabs);
	free(rail->sources);
}
