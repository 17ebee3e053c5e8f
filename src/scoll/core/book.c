/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where nodes are, as messages say. The addresses themselves are kept by the
 * groups, and by the transport of those nodes that we have to do with: a child
 * is told to it just before it is sent to, the sender of a message when the
 * message was verified. Here it is only remembered whose word that was, so that
 * an old one does not come in the place of a newer one.
 */
#include "scoll/core/internal.h"

#include <stdlib.h>

#define BOOK_MAX 65536 /* nodes that are known from messages; first in out */

struct book_entry {
	scoll_nid_t nid;
	struct group_source source;
	UT_hash_handle hh; /* in the order in which they were learned */
};

static bool is_believing(const struct scoll_core *core)
{
	return core->options.authenticator != NULL &&
	       core->options.transport.ops->address_learn != NULL;
}

static int learn(struct scoll_core *core, scoll_nid_t nid, const void *bytes,
		 size_t size)
{
	const struct transport_seam *net = &core->options.transport;

	return net->ops->address_learn(net->ctx, nid, bytes, size);
}

static void entry_remove(struct scoll_core *core, struct book_entry *entry)
{
	HASH_DEL(core->book, entry);
	free(entry);
}

/* NULL: it is not to be remembered. */
static struct book_entry *entry_add(struct scoll_core *core, scoll_nid_t nid)
{
	struct book_entry *entry;

	if (HASH_COUNT(core->book) >= BOOK_MAX) {
		learn(core, core->book->nid, NULL, 0);
		entry_remove(core, core->book);
	}
	entry = calloc(1, sizeof(*entry));
	if (entry == NULL)
		return NULL;
	entry->nid = nid;
	HASH_ADD(hh, core->book, nid, sizeof(entry->nid), entry);
	if (!hash_was_added(entry)) {
		free(entry);
		return NULL;
	}
	return entry;
}

static void hear(struct scoll_core *core, scoll_nid_t nid, const void *bytes,
		 size_t size, const struct group_source *source)
{
	struct book_entry *entry;

	if (size == 0 || nid == core->options.nid)
		return;
	HASH_FIND(hh, core->book, &nid, sizeof(nid), entry);
	if (entry != NULL && !group_source_is_newer(source, &entry->source))
		return;
	if (entry == NULL)
		entry = entry_add(core, nid);
	if (entry == NULL)
		return;
	entry->source = *source;
	/* What it cannot read it does not know: the node is unreachable. */
	learn(core, nid, bytes, size);
}

void book_hear_sender(struct scoll_core *core, const struct wire_bcast *wire)
{
	struct group_source source;

	if (!(wire->flags & WIRE_SENDER) || !is_believing(core))
		return;
	source = group_source_of(core->groups, wire);
	hear(core, wire->sender, wire->address, wire->address_size, &source);
}

void book_look_up(struct scoll_core *core, const struct scoll_group *group,
		  scoll_nid_t nid)
{
	const uint8_t *bytes;
	size_t size;
	int index;

	if (group->addresses == NULL || group->is_handle || !is_believing(core))
		return;
	index = membership_index(group->membership, nid);
	if (index < 0)
		return;
	size = addresses_at(group->addresses, (uint32_t)index, &bytes);
	hear(core, nid, bytes, size, &group->source);
}

void book_fini(struct scoll_core *core)
{
	struct book_entry *entry, *next;

	HASH_ITER (hh, core->book, entry, next)
		entry_remove(core, entry);
}

/* --- at the root --- */

static int look_up(void *ctx, scoll_nid_t nid,
		   uint8_t ret_bytes[WIRE_ADDRESS_MAX])
{
	const struct scoll_core *core = ctx;
	const struct transport_seam *net = &core->options.transport;
	size_t size = WIRE_ADDRESS_MAX;
	int result;

	if (nid == core->options.nid)
		nid = SCOLL_NID_ANY;
	result = net->ops->address_get(net->ctx, nid, ret_bytes, &size);
	if (result == -ENOENT)
		return 0;
	return result < 0 ? result : (int)address_trim(ret_bytes, size);
}

int book_share(struct scoll_core *core, struct scoll_group *group)
{
	_auto_(addresses_unrefp) struct addresses *addresses = NULL;
	int result;

	if (!core->options.share_addresses || !group->is_handle ||
	    group->id.is_oob)
		return 0;
	result =
		addresses_collect(group->membership, look_up, core, &addresses);
	if (result == 0)
		group_addresses_set(group, addresses);
	return result;
}

uint8_t book_own(struct scoll_core *core, uint8_t ret_bytes[WIRE_ADDRESS_MAX])
{
	int size = 0;

	if (core->options.transport.ops->address_get != NULL)
		size = look_up(core, core->options.nid, ret_bytes);
	return size > 0 ? (uint8_t)size : 0;
}
