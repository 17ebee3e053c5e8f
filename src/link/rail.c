/* SPDX-License-Identifier: BSD-3-Clause */
/* One core provider's endpoint: what it sends and takes in for ours. */
#include <stdlib.h>
#include <string.h>

#include "link/endpoint.h"

/* --- frames that go --- */

static struct slab *slab_take(struct rail *rail)
{
	struct slab *slab = rail->free_slabs;

	if (slab != NULL) {
		rail->free_slabs = slab->next;
		return slab;
	}
	slab = malloc(sizeof(*slab));
	if (slab == NULL)
		return NULL;
	slab->op.kind = OP_SEND;
	slab->rail = rail;
	slab->next_made = rail->made_slabs;
	rail->made_slabs = slab;
	return slab;
}

static void slab_put(struct rail *rail, struct slab *slab)
{
	slab->next = rail->free_slabs;
	rail->free_slabs = slab;
}

static void frame_gone(struct rail *rail, struct slab *slab, int error)
{
	struct link_ep *ep = rail->ep;

	if (slab->ends_send && error == 0)
		send_completed(ep, slab->context, slab->flags);
	else if (slab->ends_send)
		send_failed(ep, slab->context, slab->flags, error);
	slab_put(rail, slab);
}

/* Small frames need no buffer any more when the core has taken them. */
static ssize_t slab_send(struct rail *rail, struct slab *slab)
{
	ssize_t result;

	if (slab->size <= rail->inject_size) {
		result = fi_inject(rail->core, slab->bytes, slab->size,
				   slab->to);
		if (result == 0)
			frame_gone(rail, slab, 0);
		return result;
	}
	result = fi_send(rail->core, slab->bytes, slab->size, NULL, slab->to,
			 &slab->op);
	if (result == 0)
		rail->owed++;
	return result;
}

static void pending_flush(struct rail *rail)
{
	while (rail->pending != NULL) {
		struct slab *slab = rail->pending, *next = slab->next;
		ssize_t result = slab_send(rail, slab);
		if (result == -FI_EAGAIN)
			return;
		rail->pending = next;
		if (next == NULL)
			rail->pending_end = &rail->pending;
		if (result != 0)
			frame_gone(rail, slab, (int)-result);
	}
}

int rail_send_frame(struct rail *rail, struct peer *peer, struct frame *frame,
		    const struct iovec *iov, size_t count,
		    const struct frame_end *with, bool must)
{
	struct slab *slab = slab_take(rail);
	ssize_t result;

	if (slab == NULL)
		return -FI_ENOMEM;
	frame->sequence = ++peer->sequence;
	slab->size = frame_encode(frame, slab->bytes);
	for (size_t i = 0; i < count; i++) {
		memcpy(slab->bytes + slab->size, iov[i].iov_base,
		       iov[i].iov_len);
		slab->size += iov[i].iov_len;
	}
	slab->to = peer->cores[rail->index];
	slab->next = NULL;
	slab->ends_send = with != NULL;
	if (with != NULL) {
		slab->context = with->context;
		slab->flags = with->flags;
	}
	/* Within a callback of the core it waits, too. */
	result = rail->pending != NULL || rail->is_polling
			 ? -FI_EAGAIN
			 : slab_send(rail, slab);
	if (result == 0)
		return 0;
	if (result == -FI_EAGAIN && must) {
		*rail->pending_end = slab;
		rail->pending_end = &slab->next;
		return 0;
	}
	peer->sequence--;
	slab_put(rail, slab);
	return (int)result;
}

/* --- frames that come --- */

/* From now on it can tell by itself whose messages are ours. */
static void take_known(struct rail *rail, const struct frame *frame)
{
	struct link_ep *ep = rail->ep;
	struct peer *peer = ep_peer(ep, av_find(ep->av, frame->sender));

	if (peer != NULL)
		peer->is_direct = rail->way == RAIL_SHARED;
}

int rail_take_frame(struct rail *rail, const uint8_t *bytes, size_t size)
{
	struct frame frame;

	if (frame_decode(bytes, size, false, &frame) != 0) {
		link_warn(EP_DATA, "%zu bytes that are no frame: left out\n",
			  size);
		return 0;
	}
	switch (frame.kind) {
	case FRAME_EAGER:
	case FRAME_READY:
		return receive_frame(rail, &frame);
	case FRAME_DONE:
		if (rail->owed > 0)
			rail->owed--;
		send_answered(rail->ep, &frame);
		break;
	case FRAME_KNOWN:
		take_known(rail, &frame);
		break;
	default:
		link_warn(EP_DATA,
			  "a frame of a kind that was not asked for\n");
	}
	return 0;
}

static int slab_post(struct rail *rail, struct slab *slab)
{
	return (int)fi_recv(rail->core, slab->bytes, sizeof(slab->bytes), NULL,
			    FI_ADDR_UNSPEC, &slab->op);
}

static void slabs_post(struct rail *rail)
{
	while (rail->to_post != NULL) {
		struct slab *slab = rail->to_post;
		if (slab_post(rail, slab) != 0)
			return;
		rail->to_post = slab->next;
	}
}

static void slab_used(struct rail *rail, struct slab *slab)
{
	slab->next = rail->to_post;
	rail->to_post = slab;
}

/*
 * Frames in the order in which they came. One for which there is no room waits,
 * and those behind it with it; their buffers are not posted meanwhile, so that
 * senders wait in the end.
 */
static void slabs_take(struct rail *rail)
{
	while (rail->came != NULL) {
		struct slab *slab = rail->came;
		if (rail_take_frame(rail, slab->bytes, slab->size) != 0)
			return;
		rail->came = slab->next;
		slab_used(rail, slab);
	}
}

static void slab_came(struct rail *rail, struct slab *slab, size_t size)
{
	slab->size = size;
	slab->next = NULL;
	if (rail->came == NULL)
		rail->came = slab;
	else
		rail->came_last->next = slab;
	rail->came_last = slab;
	slabs_take(rail);
}

/* --- what the core has completed --- */

/* A peer has written to our memory, and left a word with it. */
static void take_written(struct rail *rail,
			 const struct fi_cq_tagged_entry *entry,
			 fi_addr_t source)
{
	struct link_ep *ep = rail->ep;
	const struct cq_entry written = {
		.tagged = { .flags = entry->flags,
			    .len = entry->len,
			    .data = entry->data },
		.source = rail_source(rail, source),
	};

	if (ep->receive_cq != NULL)
		cq_add(ep->receive_cq, &written);
}

static void take_completion(struct rail *rail,
			    const struct fi_cq_tagged_entry *entry,
			    fi_addr_t source)
{
	struct op *op = entry->op_context;

	if (op == NULL) {
		take_written(rail, entry, source);
		return;
	}
	switch (op->kind) {
	case OP_SEND:
		rail->owed--;
		frame_gone(rail, (struct slab *)op, 0);
		break;
	case OP_SLAB:
		slab_came(rail, (struct slab *)op, entry->len);
		break;
	case OP_RECEIVE:
		shared_received((struct receive *)op, entry, source);
		break;
	case OP_ARRIVAL:
		shared_arrived((struct arrival *)op, entry);
		break;
	case OP_READ:
		reading_ended((struct reading *)op, 0);
		break;
	case OP_ACCESS:
		access_ended((struct access *)op, 0);
		break;
	}
}

static void take_failure(struct rail *rail)
{
	struct fi_cq_err_entry entry = { 0 };
	struct op *op;

	if (fi_cq_readerr(rail->cq, &entry, 0) != 1)
		return;
	op = entry.op_context;
	if (op == NULL) {
		link_warn(EP_DATA, "%s: %s\n",
			  rail->ep->domain->text.rails[rail->index].provider,
			  fi_strerror(entry.err));
		return;
	}
	switch (op->kind) {
	case OP_SEND:
		rail->owed--;
		frame_gone(rail, (struct slab *)op, entry.err);
		break;
	case OP_SLAB:
		slab_used(rail, (struct slab *)op);
		break;
	case OP_RECEIVE:
		shared_failed((struct receive *)op, &entry);
		break;
	case OP_ARRIVAL:
		break;
	case OP_READ:
		reading_ended((struct reading *)op, entry.err);
		break;
	case OP_ACCESS:
		access_ended((struct access *)op, entry.err);
		break;
	}
}

bool rail_poll(struct rail *rail)
{
	struct fi_cq_tagged_entry entries[LINK_POLL_BATCH];
	fi_addr_t sources[LINK_POLL_BATCH];
	ssize_t count;

	slabs_take(rail);
	set_seen(rail->is_polling, true);
	if (rail->late != NULL)
		shared_retry(rail);
	count = fi_cq_readfrom(rail->cq, entries, LINK_POLL_BATCH, sources);
	if (count == -FI_EAVAIL)
		take_failure(rail);
	for (ssize_t i = 0; i < count; i++)
		take_completion(rail, &entries[i], sources[i]);
	set_seen(rail->is_polling, false);
	if (rail->to_post != NULL)
		slabs_post(rail);
	if (rail->pending != NULL)
		pending_flush(rail);
	reading_work(rail);
	return count > 0;
}

/* --- open and close --- */

static int slabs_open(struct rail *rail)
{
	rail->slabs = calloc(LINK_BUFFERS, sizeof(*rail->slabs));
	if (rail->slabs == NULL)
		return -FI_ENOMEM;
	for (unsigned int i = 0; i < LINK_BUFFERS; i++) {
		rail->slabs[i].op.kind = OP_SLAB;
		rail->slabs[i].rail = rail;
		slab_used(rail, &rail->slabs[i]);
	}
	return 0;
}

/* The name of shared memory follows from the endpoint's number. */
static struct fi_info *info_named(struct rail *rail, const struct core *core)
{
	struct fi_info *info = fi_dupinfo(core->info);
	char name[64];

	if (info == NULL || core->way != RAIL_SHARED)
		return info;
	snprintf(name, sizeof(name), "fairlead-%016llx",
		 (unsigned long long)rail->ep->number);
	free(info->src_addr);
	info->src_addr = strdup(name);
	info->src_addrlen = strlen(name) + 1;
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
	return result != 0 ? result : fi_enable(rail->core);
}

int rail_open(struct rail *rail, const struct core *core,
	      struct fid_fabric *fabric)
{
	struct fi_info *info;
	int result;

	rail->way = core->way;
	rail->inject_size = core->info->tx_attr->inject_size;
	rail->is_virtual =
		(core->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
	rail->pending_end = &rail->pending;
	rail->work_end = &rail->work;
	rail->interval = 1;
	link_lock_init(&rail->lock, rail->ep->domain->is_threaded);
	link_lock_init(&rail->working, rail->ep->domain->is_threaded);
	info = info_named(rail, core);
	if (info == NULL)
		return -FI_ENOMEM;
	result = core_open(rail, info, fabric);
	fi_freeinfo(info);
	if (result == 0 && rail->way == RAIL_FRAMED) {
		result = slabs_open(rail);
		slabs_post(rail);
	}
	if (result != 0)
		link_warn(EP_CTRL, "%s: %s\n",
			  rail->ep->domain->text.rails[rail->index].provider,
			  fi_strerror(-result));
	return result;
}

static void close_one(struct fid *fid)
{
	if (fid != NULL)
		fi_close(fid);
}

void rail_close(struct rail *rail)
{
	close_one(rail->core == NULL ? NULL : &rail->core->fid);
	close_one(rail->srx == NULL ? NULL : &rail->srx->fid);
	close_one(rail->av == NULL ? NULL : &rail->av->fid);
	close_one(rail->cq == NULL ? NULL : &rail->cq->fid);
	close_one(rail->domain == NULL ? NULL : &rail->domain->fid);
	for (struct slab *s = rail->made_slabs, *next; s != NULL; s = next) {
		next = s->next_made;
		free(s);
	}
	for (struct reading *r = rail->work, *next; r != NULL; r = next) {
		next = r->next;
		free(r);
	}
	for (struct reading *r = rail->issued, *next; r != NULL; r = next) {
		next = r->after;
		free(r);
	}
	accesses_drop(rail);
	free(rail->late);
	free(rail->slabs);
	free(rail->names);
	link_lock_fini(&rail->lock);
	link_lock_fini(&rail->working);
}
