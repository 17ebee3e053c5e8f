/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A membership is one block: the struct, then its arrays, the one with the
 * largest alignment first. Nodes are found by binary search, in the list itself
 * where it rises by NID, as most do. What was sent is believed only as far as
 * its length allows: nothing is allocated that the bytes do not cover.
 */
#include "scoll/core/membership.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/bytes.h"
#include "scoll/core/membership_internal.h"

#define RUN_SIZE  6
#define NODE_SIZE 24 /* at least: NID and one tag */

int memberships_create(struct memberships **ret_memberships)
{
	struct memberships *memberships = calloc(1, sizeof(*memberships));

	if (memberships == NULL)
		return -ENOMEM;
	*ret_memberships = memberships;
	return 0;
}

void memberships_destroy(struct memberships *memberships)
{
	if (memberships == NULL)
		return;
	assert(memberships->table == NULL && memberships->addresses == NULL);
	free(memberships);
}

size_t memberships_count(const struct memberships *memberships)
{
	return HASH_COUNT(memberships->table);
}

size_t memberships_size(const struct memberships *memberships)
{
	return memberships->size;
}

struct membership *memberships_find(struct memberships *memberships,
				    const struct wire_digest *digest)
{
	struct membership *membership;

	HASH_FIND(hh, memberships->table, digest, sizeof(*digest), membership);
	return membership != NULL ? membership_ref(membership) : NULL;
}

struct membership *membership_ref(struct membership *membership)
{
	membership->reference_count++;
	return membership;
}

void membership_unref(struct membership *membership)
{
	if (membership == NULL || --membership->reference_count > 0)
		return;
	assert(membership->choices == NULL);
	HASH_DEL(membership->owner->table, membership);
	membership->owner->size -= membership->size;
	free(membership);
}

/* --- making one --- */

int membership_draft(uint32_t count, uint32_t entity_count, bool is_rising,
		     struct membership_draft *ret_draft)
{
	bool is_plain = entity_count == count; /* none has two */
	size_t sum_count = is_plain ? 0 : (size_t)count + 1;
	size_t size = sizeof(struct membership) +
		      count * sizeof(*ret_draft->nids) +
		      entity_count * sizeof(*ret_draft->tags) +
		      sum_count * sizeof(*ret_draft->sums) +
		      (is_rising ? 0 : count * sizeof(*ret_draft->by_nid));
	uint32_t *numbers;
	struct membership *membership = malloc(size);

	if (membership == NULL)
		return -ENOMEM;
	ret_draft->membership = membership;
	ret_draft->nids = (scoll_nid_t *)(membership + 1);
	ret_draft->tags = (scoll_tag_t *)(ret_draft->nids + count);
	numbers = (uint32_t *)(ret_draft->tags + entity_count);
	ret_draft->sums = is_plain ? NULL : numbers;
	ret_draft->by_nid = is_rising ? NULL : numbers + sum_count;
	*membership = (struct membership){
		.count = count,
		.entity_count = entity_count,
		.reference_count = 1,
		.nids = ret_draft->nids,
		.tags = ret_draft->tags,
		.sums = ret_draft->sums,
		.by_nid = ret_draft->by_nid,
		.size = size,
	};
	return 0;
}

bool membership_is_rising(const scoll_nid_t *nids, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (nids[i - 1] >= nids[i])
			return false;
	return true;
}

static int compare_index(const void *left, const void *right, void *ctx)
{
	const scoll_nid_t *nids = ctx;
	scoll_nid_t a = nids[*(const uint32_t *)left];
	scoll_nid_t b = nids[*(const uint32_t *)right];

	return a < b ? -1 : a > b;
}

static int compare_tag(const void *left, const void *right)
{
	return memcmp(left, right, sizeof(scoll_tag_t));
}

/* -EINVAL: one is there twice. Rising lists have none. */
static int nids_sort(struct membership_draft *draft)
{
	uint32_t count = draft->membership->count;

	if (draft->by_nid == NULL)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		draft->by_nid[i] = i;
	qsort_r(draft->by_nid, count, sizeof(*draft->by_nid), compare_index,
		draft->nids);
	for (uint32_t i = 1; i < count; i++)
		if (draft->nids[draft->by_nid[i - 1]] ==
		    draft->nids[draft->by_nid[i]])
			return -EINVAL;
	return 0;
}

static bool tags_repeat(scoll_tag_t *tags, uint32_t count)
{
	qsort(tags, count, sizeof(*tags), compare_tag);
	for (uint32_t i = 1; i < count; i++)
		if (compare_tag(&tags[i - 1], &tags[i]) == 0)
			return true;
	return false;
}

/* Each node's tags, which stay in their order, are different ones. */
static int tags_check(const struct membership *membership)
{
	_auto_(freep) scoll_tag_t *copy = NULL;
	uint32_t most = 0;

	for (uint32_t i = 0; i < membership->count; i++)
		if (membership_entities(membership, i, 1) > most)
			most = membership_entities(membership, i, 1);
	if (most < 2)
		return 0;
	copy = malloc(most * sizeof(*copy));
	if (copy == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < membership->count; i++) {
		uint32_t count = membership_entities(membership, i, 1);

		memcpy(copy,
		       membership->tags + membership_before(membership, i),
		       count * sizeof(*copy));
		if (count > 1 && tags_repeat(copy, count))
			return -EINVAL;
	}
	return 0;
}

static void digest_compute(struct membership *membership)
{
	crypto_generichash_state state;
	uint8_t bytes[10];
	struct writer writer = {
		.data = bytes,
		.capacity = sizeof(bytes),
		.limit = sizeof(bytes),
	};

	crypto_generichash_init(&state, NULL, 0, WIRE_DIGEST_SIZE);
	write_u32(&writer, membership->count);
	crypto_generichash_update(&state, bytes, writer.size);
	for (uint32_t i = 0; i < membership->count; i++) {
		uint32_t count = membership_entities(membership, i, 1);

		writer.size = 0;
		write_u64(&writer, membership->nids[i]);
		write_u16(&writer, (uint16_t)count);
		crypto_generichash_update(&state, bytes, writer.size);
		crypto_generichash_update(
			&state,
			membership->tags[membership_before(membership, i)]
				.bytes,
			count * sizeof(scoll_tag_t));
	}
	crypto_generichash_final(&state, membership->digest.bytes,
				 WIRE_DIGEST_SIZE);
}

static uint32_t run_length(const struct membership *membership, uint32_t first)
{
	uint32_t count = membership_entities(membership, first, 1), end;

	for (end = first + 1; end < membership->count; end++)
		if (membership_entities(membership, end, 1) != count)
			break;
	return end - first;
}

int membership_finish(struct memberships *memberships,
		      struct membership_draft *draft,
		      const struct wire_digest *expected,
		      struct membership **ret_membership)
{
	_auto_(freep) struct membership *membership = draft->membership;
	struct membership *known;
	int result;

	result = nids_sort(draft);
	if (result == 0)
		result = tags_check(membership);
	if (result < 0)
		return result;
	digest_compute(membership);
	if (expected != NULL &&
	    !wire_digest_equals(expected, &membership->digest))
		return -ESTALE;
	known = memberships_find(memberships, &membership->digest);
	if (known != NULL) {
		*ret_membership = known;
		return 0;
	}
	for (uint32_t i = 0; i < membership->count;
	     i += run_length(membership, i))
		membership->run_count++;
	membership->owner = memberships;
	HASH_ADD(hh, memberships->table, digest, sizeof(membership->digest),
		 membership);
	if (!hash_was_added(membership))
		return -ENOMEM;
	memberships->size += membership->size;
	*ret_membership = take_ptr(membership);
	return 0;
}

/* --- bytes --- */

size_t membership_encoded_size(const struct membership *membership)
{
	return sizeof(uint32_t) + membership->run_count * (size_t)RUN_SIZE +
	       membership->count * sizeof(scoll_nid_t) +
	       membership->entity_count * sizeof(scoll_tag_t);
}

void membership_encode(const struct membership *membership, uint8_t *ret_bytes)
{
	size_t size = membership_encoded_size(membership);
	struct writer writer = {
		.data = ret_bytes,
		.capacity = size,
		.limit = size,
	};
	uint32_t length;

	write_u32(&writer, membership->count);
	for (uint32_t i = 0; i < membership->count; i += length) {
		length = run_length(membership, i);
		write_u32(&writer, length);
		write_u16(&writer,
			  (uint16_t)membership_entities(membership, i, 1));
	}
	for (uint32_t i = 0; i < membership->count; i++)
		write_u64(&writer, membership->nids[i]);
	write_bytes(&writer, membership->tags,
		    membership->entity_count * sizeof(scoll_tag_t));
	assert(writer.result == 0 && writer.size == size);
}

const uint8_t *membership_list_get(struct membership *membership)
{
	if (membership->list == NULL) {
		membership->list = malloc(membership_encoded_size(membership));
		if (membership->list == NULL)
			return NULL;
		membership_encode(membership, membership->list);
	}
	membership->list_count++;
	return membership->list;
}

void membership_list_put(struct membership *membership)
{
	if (--membership->list_count > 0)
		return;
	free(membership->list);
	membership->list = NULL;
}

/*
 * Read the runs: entities in all, and how many on each node if sums is not
 * NULL. -EBADMSG, -E2BIG.
 */
static int runs_read(struct reader *reader, uint32_t count,
		     uint32_t *ret_entity_count, uint32_t *ret_sums)
{
	uint64_t sum = 0;
	uint32_t decoded = 0;

	while (decoded < count) {
		uint32_t length = read_u32(reader);
		uint16_t tags = read_u16(reader);

		if (length == 0 || length > count - decoded || tags == 0)
			return -EBADMSG;
		for (uint32_t i = 0; ret_sums != NULL && i < length; i++)
			ret_sums[decoded + i] = (uint32_t)(sum + i * tags);
		decoded += length;
		sum += (uint64_t)length * tags;
		if (sum > MEMBERSHIP_ENTITIES_MAX)
			return -E2BIG;
	}
	if (ret_sums != NULL)
		ret_sums[count] = (uint32_t)sum;
	*ret_entity_count = (uint32_t)sum;
	return 0;
}

/* The list is as long as it says. */
static bool nids_are_rising(struct reader reader, uint32_t count)
{
	scoll_nid_t last = 0;

	for (uint32_t i = 0; i < count; i++) {
		scoll_nid_t nid = read_u64(&reader);

		if (i > 0 && nid <= last)
			return false;
		last = nid;
	}
	return true;
}

static int draft_fill(struct membership_draft *draft, struct reader runs,
		      struct reader rest)
{
	uint32_t count = draft->membership->count;
	uint32_t entity_count = draft->membership->entity_count;

	runs_read(&runs, count, &entity_count, draft->sums);
	for (uint32_t i = 0; i < count; i++) {
		draft->nids[i] = read_u64(&rest);
		if (draft->nids[i] == SCOLL_NID_ANY)
			return -EBADMSG;
	}
	memcpy(draft->tags, rest.at, entity_count * sizeof(scoll_tag_t));
	return 0;
}

int memberships_decode(struct memberships *memberships,
		       const struct wire_digest *digest, const void *bytes,
		       size_t size, struct membership **ret_membership)
{
	struct membership *known = memberships_find(memberships, digest);
	struct reader runs, reader = reader_of(bytes, size);
	struct membership_draft draft;
	uint32_t count, entity_count;
	int result;

	if (known != NULL) {
		*ret_membership = known;
		return 0;
	}
	count = read_u32(&reader);
	if (count == 0 || count > reader.left / NODE_SIZE)
		return -EBADMSG;
	if (count > SCOLL_NODES_MAX)
		return -E2BIG;
	runs = reader;
	result = runs_read(&reader, count, &entity_count, NULL);
	if (result < 0)
		return result;
	if (reader.left !=
	    count * sizeof(scoll_nid_t) + entity_count * sizeof(scoll_tag_t))
		return -EBADMSG;
	result = membership_draft(count, entity_count,
				  nids_are_rising(reader, count), &draft);
	if (result < 0)
		return result;
	result = draft_fill(&draft, runs, reader);
	if (result < 0) {
		free(draft.membership);
		return result;
	}
	result = membership_finish(memberships, &draft, digest, ret_membership);
	return result == -EINVAL ? -EBADMSG : result;
}

/* --- use --- */

int membership_index(const struct membership *membership, scoll_nid_t nid)
{
	uint32_t low = 0, high = membership->count;

	while (low < high) {
		uint32_t at = low + (high - low) / 2;
		uint32_t index = membership->by_nid != NULL
					 ? membership->by_nid[at]
					 : at;

		if (membership->nids[index] == nid)
			return (int)index;
		if (membership->nids[index] < nid)
			low = at + 1;
		else
			high = at;
	}
	return -ENOENT;
}

void membership_target(const struct membership *membership, uint32_t index,
		       scoll_target_t *ret_target)
{
	assert(index < membership->count);
	*ret_target = (scoll_target_t){
		.nid = membership->nids[index],
		.tags = membership->tags + membership_before(membership, index),
		.count = (int)membership_entities(membership, index, 1),
	};
}

bool membership_is(const struct membership *membership,
		   const scoll_target_t *targets, int count)
{
	if (count < 0 || (uint32_t)count != membership->count)
		return false;
	for (uint32_t i = 0; i < membership->count; i++) {
		scoll_target_t own;

		membership_target(membership, i, &own);
		if (own.nid != targets[i].nid ||
		    own.count != targets[i].count ||
		    memcmp(own.tags, targets[i].tags,
			   (size_t)own.count * sizeof(*own.tags)) != 0)
			return false;
	}
	return true;
}
