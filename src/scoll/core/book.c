/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What messages say of nodes: where they are, and which start of them runs.
 *
 * Addresses are kept by the groups, and by the transport for nodes that this
 * one talks to: it gets a child's before the broadcast is sent, and a sender's
 * after the message was verified. Here is only the source of each, so that an
 * older message does not replace a newer one.
 *
 * A message is for one start of its receiver: one that was recorded on its way
 * to an earlier start is worth nothing at a later one, which has seen nothing
 * yet. A sender learns a receiver's start from its refusal, which is sealed and
 * answers this very request, and repeats what was for no start. It keeps the
 * start until discovery knows of a later one, so this happens once. What was
 * for an earlier start is not repeated: that one may have run it. Without an
 * authenticator there are no starts: a recorded message is then no worse than a
 * forged one.
 */
#include "scoll/core/internal.h"

#include <stdlib.h>

#define BOOK_MAX 65536 /* nodes that messages have named; first in out */

struct book_entry {
	scoll_nid_t nid;
	bool has_address;
	struct group_source source; /* of the address */
	uint64_t start;             /* its nonce; 0: none is known */
	uint32_t counter;           /* of discovery, when it was learned */
	UT_hash_handle hh;          /* in the order in which they were added */
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

static struct book_entry *entry_find(const struct scoll_core *core,
				     scoll_nid_t nid)
{
	struct book_entry *entry;

	HASH_FIND(hh, core->book, &nid, sizeof(nid), entry);
	return entry;
}

/* The one that is there, or a new one. NULL: out of memory. */
static struct book_entry *entry_of(struct scoll_core *core, scoll_nid_t nid)
{
	struct book_entry *entry = entry_find(core, nid);

	if (entry != NULL)
		return entry;
	if (HASH_COUNT(core->book) >= BOOK_MAX) {
		if (core->book->has_address)
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

static void address_note(struct scoll_core *core, scoll_nid_t nid,
			 const void *bytes, size_t size,
			 const struct group_source *source)
{
	struct book_entry *entry;

	if (size == 0 || nid == core->options.nid)
		return;
	entry = entry_of(core, nid);
	if (entry == NULL || (entry->has_address &&
			      !group_source_is_newer(source, &entry->source)))
		return;
	entry->has_address = true;
	entry->source = *source;
	/* One that the transport cannot read is unknown: unreachable. */
	learn(core, nid, bytes, size);
}

void book_learn_sender(struct scoll_core *core, const struct wire_bcast *wire)
{
	struct group_source source;

	if (!(wire->flags & WIRE_SENDER) || !is_believing(core))
		return;
	source = group_source_of(core->groups, wire);
	address_note(core, wire->sender, wire->address, wire->address_size,
		     &source);
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
	address_note(core, nid, bytes, size, &group->source);
}

void book_fini(struct scoll_core *core)
{
	struct book_entry *entry, *next;

	HASH_ITER (hh, core->book, entry, next)
		entry_remove(core, entry);
}

/* --- starts --- */

uint64_t start_of(const struct scoll_core *core, scoll_nid_t nid)
{
	const struct book_entry *entry = entry_find(core, nid);

	if (entry == NULL ||
	    entry->counter != discovery_counter(core->options.discovery, nid))
		return 0;
	return entry->start;
}

int start_learn(struct scoll_core *core, scoll_nid_t nid, uint64_t nonce)
{
	struct book_entry *entry = entry_of(core, nid);

	if (entry == NULL)
		return -ENOMEM;
	entry->start = nonce;
	entry->counter = discovery_counter(core->options.discovery, nid);
	return 0;
}

bool start_is_ours(const struct scoll_core *core, uint64_t nonce)
{
	return core->options.authenticator == NULL || nonce == core->nonce;
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
