/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which messages are sent without a frame. A core with a rendezvous of its own
 * completes a large message after small ones that were sent later: there a
 * direct message is never larger than what the core sends at once.
 */
#include <string.h>

#include "link/direct.h"
#include "link/iov.h"
#include "link/memory.h"
#include "link/receive.h"
#include "link/wire/reach.h"

/* Cores that send all of a message before the next one. */
static bool is_stream(const struct rail *rail)
{
	return strcmp(rail->text->provider, "net") == 0 ||
	       strcmp(rail->text->provider, "tcp") == 0;
}

/* What users may set for all of a job's processes. */
size_t frame_max(const char *provider)
{
	uint64_t size = LINK_FRAME_SIZE;

	if (strcasestr(provider, "ofi_rxm") != NULL)
		size = setting_number("FI_OFI_RXM_BUFFER_SIZE", size);
	return size > LINK_FRAME_SIZE ? LINK_FRAME_SIZE : (size_t)size;
}

/* What would not go at once could be overtaken by the next one. */
size_t atomic_max(const struct core_set *set)
{
	const size_t head = FRAME_REACH_SIZE + REACH_ATOMIC_HEAD_MAX;
	size_t least = REACH_DATA_MAX;

	for (unsigned int i = 0; i < set->count; i++) {
		const struct link_core *core = &set->cores[i];
		if (core->way == RAIL_SHARED)
			continue;
		size_t frame = frame_max(core->info->fabric_attr->prov_name);
		if (frame - head < least)
			least = frame - head;
	}
	return least;
}

size_t direct_max(const struct rail *rail, const struct fi_info *info)
{
	const struct core_set *cores = &rail->ep->domain->cores;
	unsigned int fabrics =
		cores->count - (cores->cores[0].way == RAIL_SHARED ? 1 : 0);

	if (fabrics > 1 || rail->way != RAIL_FRAMED ||
	    (info->caps & FI_SOURCE) == 0 ||
	    info->domain_attr->cq_data_size < sizeof(uint64_t))
		return 0;
	return is_stream(rail) && (rail->mr_mode & FI_MR_LOCAL) == 0
		       ? LINK_STREAM_SIZE
		       : frame_max(rail->text->provider);
}

static ssize_t inject(struct rail *rail, struct peer *peer,
		      const struct link_message *m)
{
	uint8_t buffer[LINK_INJECT_SIZE];
	ssize_t result =
		fi_injectdata(rail->core, iov_one(m->iov, m->count, buffer),
			      m->size, m->tag, peer->cores[rail->index]);

	if (result != 0)
		return result;
	peer->under_way++;
	peer->unreported++;
	send_completed(rail->ep, m->context, m->flags);
	return 0;
}

/* What may change at once, is in parts or has to be registered is copied. */
static ssize_t issue(struct rail *rail, struct slab *slab,
		     const struct link_message *m)
{
	bool is_copied = (m->flags & FI_INJECT) != 0 || m->count != 1 ||
			 (rail->mr_mode & FI_MR_LOCAL) != 0;
	const void *data = slab->bytes;
	void *desc = NULL;
	int result = 0;

	if (is_copied) {
		iov_flatten(m->iov, m->count, slab->bytes);
		result = rail_slab_desc(rail, slab, &desc);
	} else {
		data = m->iov[0].iov_base;
	}
	return result != 0 ? result
			   : fi_senddata(rail->core, data, m->size, desc,
					 m->tag, slab->to, &slab->op);
}

ssize_t direct_send(struct rail *rail, struct peer *peer,
		    const struct link_message *m)
{
	size_t small = rail->inject_size < LINK_INJECT_SIZE ? rail->inject_size
							    : LINK_INJECT_SIZE;
	struct slab *slab;
	ssize_t result;

	if (peer->under_way >= LINK_SENDS_MAX)
		return -FI_EAGAIN;
	if (m->size <= small && peer->unreported < LINK_SENDS_UNREPORTED)
		return inject(rail, peer, m);
	slab = slab_take(rail);
	if (slab == NULL)
		return -FI_ENOMEM;
	slab->flow = NULL;
	slab->peer = peer;
	slab->needs_completion = false;
	slab->to = peer->cores[rail->index];
	slab->ends_send = true;
	slab->context = m->context;
	slab->flags = m->flags;
	slab->size = m->size;
	result = issue(rail, slab, m);
	if (result == 0)
		slab_taken(rail, slab);
	else
		slab_put(rail, slab);
	return result;
}

int direct_take(struct rail *rail, const struct slab *slab)
{
	fi_addr_t source = rail_source(rail, slab->core);
	struct coming coming = {
		.end = { .size = slab->size,
			 .tag = slab->tag & ~LINK_UNTAGGED },
		.source = source == FI_ADDR_NOTAVAIL ? SOURCE_UNKNOWN : source,
		.is_tagged = (slab->tag & LINK_UNTAGGED) == 0,
		.payload = slab->bytes,
	};

	return receive_message(rail, &coming);
}
