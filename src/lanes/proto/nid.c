/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The type of network, then the first 48 bits of BLAKE2b-256 over the name.
 * Of 65,536 names two have one NID once in 130,000 clusters; whoever chooses
 * names can find such a pair, so it is looked for.
 */
#include "lanes/proto/nid.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

#define NID_DIGEST_SIZE 32

uint64_t nid_of_node(const char *name)
{
	uint8_t digest[NID_DIGEST_SIZE];
	struct reader reader = reader_of(digest, sizeof(digest));

	crypto_generichash(digest, sizeof(digest), (const uint8_t *)name,
			   strlen(name), NULL, 0);
	return NID_MANAGER | (read_u64(&reader) & (UINT64_MAX >> 16));
}

struct named_nid {
	uint64_t nid;
	size_t index;
};

static int compare(const void *one, const void *other)
{
	const struct named_nid *a = one;
	const struct named_nid *b = other;

	if (a->nid != b->nid)
		return a->nid < b->nid ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

int nid_duplicate(const struct hostlist *list, size_t *ret_other)
{
	_auto_(freep) struct named_nid *nids =
		calloc(list->count + 1, sizeof(*nids));
	size_t found = list->count;
	size_t other = 0;

	if (nids == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++)
		nids[i] = (struct named_nid){
			.nid = nid_of_node(list->names[i]),
			.index = i,
		};
	qsort(nids, list->count, sizeof(*nids), compare);
	for (size_t i = 1; i < list->count; i++) {
		if (nids[i].nid == nids[i - 1].nid && nids[i].index < found) {
			found = nids[i].index;
			other = nids[i - 1].index;
		}
	}
	if (found == list->count)
		return -ENOENT;
	*ret_other = other;
	return (int)found;
}
