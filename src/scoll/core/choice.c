/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A choice is ranges: its digest, its size in memory and all times depend on
 * their number. So a choice of the live nodes costs as much as there are dead
 * ones. Equal choices are one struct.
 */
#include "scoll/core/choice.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/bytes.h"

enum form {
	FORM_RANGES = 1,
	FORM_BITMAP = 2,
};

#define RANGE_SIZE 8 /* as bytes */
#define WORD_BITS  64

/* A choice that is being made; nobody else sees it. */
struct draft {
	struct choice *choice;
	uint32_t capacity;
};

static void draft_fini(struct draft *draft)
{
	free(draft->choice);
}

static int draft_grow(struct draft *draft)
{
	uint32_t capacity = draft->capacity > 0 ? draft->capacity * 2 : 1;
	struct choice *choice =
		realloc(draft->choice,
			sizeof(*choice) + capacity * sizeof(choice->ranges[0]));

	if (choice == NULL)
		return -ENOMEM;
	if (draft->choice == NULL)
		*choice = (struct choice){ .reference_count = 1 };
	draft->choice = choice;
	draft->capacity = capacity;
	return 0;
}

/* first is not below the end of what is there; count > 0. -ENOMEM. */
static int draft_add(struct draft *draft, uint32_t first, uint32_t count)
{
	struct choice *choice = draft->choice;
	struct choice_range *last;

	if (choice != NULL) {
		last = &choice->ranges[choice->range_count - 1];
		if (last->first + last->count == first) {
			last->count += count;
			return 0;
		}
	}
	if (choice == NULL || choice->range_count == draft->capacity) {
		if (draft_grow(draft) < 0)
			return -ENOMEM;
		choice = draft->choice;
	}
	choice->ranges[choice->range_count++] = (struct choice_range){
		.first = first,
		.count = count,
	};
	return 0;
}

static void digest_compute(const struct choice *choice,
			   struct wire_digest *ret_digest)
{
	crypto_generichash_state state;
	uint8_t bytes[64 * RANGE_SIZE];
	struct writer writer = {
		.data = bytes,
		.capacity = sizeof(bytes),
		.limit = sizeof(bytes),
	};

	crypto_generichash_init(&state, NULL, 0, WIRE_DIGEST_SIZE);
	for (uint32_t i = 0; i < choice->range_count; i++) {
		if (writer.size == sizeof(bytes)) {
			crypto_generichash_update(&state, bytes, writer.size);
			writer.size = 0;
		}
		write_u32(&writer, choice->ranges[i].first);
		write_u32(&writer, choice->ranges[i].count);
	}
	crypto_generichash_update(&state, bytes, writer.size);
	crypto_generichash_final(&state, ret_digest->bytes, WIRE_DIGEST_SIZE);
}

static int choice_intern(struct membership *membership, struct draft *draft,
			 struct choice **ret_choice)
{
	struct choice *choice = draft->choice;

	HASH_ADD(hh, membership->choices, digest, sizeof(choice->digest),
		 choice);
	if (!hash_was_added(choice))
		return -ENOMEM;
	choice->membership = membership_ref(membership);
	for (uint32_t i = 0; i < choice->range_count; i++) {
		struct choice_range *range = &choice->ranges[i];

		range->position = choice->count;
		range->entity_position = choice->entity_count;
		choice->count += range->count;
		choice->entity_count += membership_entities(
			membership, range->first, range->count);
	}
	if (choice_is_all(choice))
		membership->everybody = choice;
	draft->choice = NULL;
	*ret_choice = choice;
	return 0;
}

/* expected (may be NULL): its digest. -ENOENT: the draft has nobody. */
static int draft_finish(struct membership *membership, struct draft *draft,
			const struct wire_digest *expected,
			struct choice **ret_choice)
{
	struct choice *choice = draft->choice, *known;

	if (choice == NULL)
		return -ENOENT;
	digest_compute(choice, &choice->digest);
	if (expected != NULL && !wire_digest_equals(expected, &choice->digest))
		return -ESTALE;
	known = choice_find(membership, &choice->digest);
	if (known != NULL) {
		*ret_choice = known;
		return 0;
	}
	return choice_intern(membership, draft, ret_choice);
}

struct choice *choice_find(struct membership *membership,
			   const struct wire_digest *digest)
{
	struct choice *choice;

	HASH_FIND(hh, membership->choices, digest, sizeof(*digest), choice);
	return choice != NULL ? choice_ref(choice) : NULL;
}

struct choice *choice_ref(struct choice *choice)
{
	choice->reference_count++;
	return choice;
}

void choice_unref(struct choice *choice)
{
	struct membership *membership;

	if (choice == NULL || --choice->reference_count > 0)
		return;
	membership = choice->membership;
	if (membership->everybody == choice)
		membership->everybody = NULL;
	HASH_DEL(membership->choices, choice);
	free(choice);
	membership_unref(membership);
}

int choice_all(struct membership *membership, struct choice **ret_choice)
{
	_auto_(draft_fini) struct draft draft = { 0 };

	if (membership->everybody != NULL) {
		*ret_choice = choice_ref(membership->everybody);
		return 0;
	}
	if (draft_add(&draft, 0, membership->count) < 0)
		return -ENOMEM;
	return draft_finish(membership, &draft, NULL, ret_choice);
}

static int compare_u32(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

int choice_of_nids(struct membership *membership, const scoll_nid_t *nids,
		   int count, struct choice **ret_choice)
{
	_auto_(draft_fini) struct draft draft = { 0 };
	_auto_(freep) uint32_t *indexes = NULL;

	if (count <= 0)
		return -ENOENT;
	indexes = malloc((size_t)count * sizeof(*indexes));
	if (indexes == NULL)
		return -ENOMEM;
	for (int i = 0; i < count; i++) {
		int index = membership_index(membership, nids[i]);

		if (index < 0)
			return -ENOENT;
		indexes[i] = (uint32_t)index;
	}
	qsort(indexes, (size_t)count, sizeof(*indexes), compare_u32);
	for (int i = 0; i < count; i++)
		if ((i == 0 || indexes[i] != indexes[i - 1]) &&
		    draft_add(&draft, indexes[i], 1) < 0)
			return -ENOMEM;
	return draft_finish(membership, &draft, NULL, ret_choice);
}

/* The first bit from `from` on that is `value`, or end. */
static uint32_t bit_next(const uint64_t *words, bool value, uint32_t from,
			 uint32_t end)
{
	while (from < end) {
		uint64_t word = words[from / WORD_BITS];

		word = (value ? word : ~word) >> from % WORD_BITS;
		if (word != 0) {
			from += (uint32_t)__builtin_ctzll(word);
			return from < end ? from : end;
		}
		from += WORD_BITS - from % WORD_BITS;
	}
	return end;
}

static int draft_add_bits(struct draft *draft, const uint64_t *words,
			  uint32_t first, uint32_t count)
{
	uint32_t end = first + count, from = first;

	while ((from = bit_next(words, true, from, end)) < end) {
		uint32_t to = bit_next(words, false, from, end);

		if (draft_add(draft, from, to - from) < 0)
			return -ENOMEM;
		from = to;
	}
	return 0;
}

int choice_of_bits(struct membership *membership, const uint64_t *words,
		   const struct choice *within, struct choice **ret_choice)
{
	_auto_(draft_fini) struct draft draft = { 0 };
	int result = 0;

	if (within == NULL)
		result = draft_add_bits(&draft, words, 0, membership->count);
	for (uint32_t i = 0;
	     within != NULL && i < within->range_count && result == 0; i++)
		result = draft_add_bits(&draft, words, within->ranges[i].first,
					within->ranges[i].count);
	if (result < 0)
		return result;
	return draft_finish(membership, &draft, NULL, ret_choice);
}

int choice_union(const struct choice *a, const struct choice *b,
		 struct choice **ret_choice)
{
	_auto_(draft_fini) struct draft draft = { 0 };
	uint32_t i = 0, k = 0, end = 0; /* of what is in it by now */

	while (i < a->range_count || k < b->range_count) {
		bool is_a = k == b->range_count ||
			    (i < a->range_count &&
			     a->ranges[i].first <= b->ranges[k].first);
		const struct choice_range *next =
			is_a ? &a->ranges[i++] : &b->ranges[k++];
		uint32_t first = next->first > end ? next->first : end;

		if (next->first + next->count <= end)
			continue;
		end = next->first + next->count;
		if (draft_add(&draft, first, end - first) < 0)
			return -ENOMEM;
	}
	return draft_finish(a->membership, &draft, NULL, ret_choice);
}

/* --- bytes --- */

static size_t bitmap_size(const struct choice *choice)
{
	const struct choice_range *last =
		&choice->ranges[choice->range_count - 1];

	return (last->first + last->count - 1 - choice->ranges[0].first) / 8 +
	       1;
}

size_t choice_encoded_size(const struct choice *choice)
{
	size_t ranges = choice->range_count * (size_t)RANGE_SIZE;
	size_t bitmap = sizeof(uint32_t) + bitmap_size(choice);

	return 1 + (ranges <= bitmap ? ranges : bitmap);
}

static void bitmap_write(struct writer *writer, const struct choice *choice)
{
	uint32_t base = choice->ranges[0].first;
	uint8_t *bits;

	write_u32(writer, base);
	bits = writer->data + writer->size;
	memset(bits, 0, bitmap_size(choice));
	for (uint32_t i = 0; i < choice->range_count; i++) {
		uint32_t at = choice->ranges[i].first - base;

		for (uint32_t k = 0; k < choice->ranges[i].count; k++, at++)
			bits[at / 8] |= (uint8_t)(1u << at % 8);
	}
}

void choice_encode(const struct choice *choice, uint8_t *ret_bytes)
{
	size_t size = choice_encoded_size(choice);
	struct writer writer = {
		.data = ret_bytes,
		.capacity = size,
		.limit = size,
	};
	bool is_ranges = size == 1 + choice->range_count * (size_t)RANGE_SIZE;

	write_u8(&writer, is_ranges ? FORM_RANGES : FORM_BITMAP);
	if (!is_ranges) {
		bitmap_write(&writer, choice);
		return;
	}
	for (uint32_t i = 0; i < choice->range_count; i++) {
		write_u32(&writer, choice->ranges[i].first);
		write_u32(&writer, choice->ranges[i].count);
	}
}

static int ranges_read(struct reader *reader, uint32_t node_count,
		       struct draft *draft)
{
	uint32_t end = 0; /* of the last one, and a gap behind it */

	while (reader->left > 0) {
		uint32_t first = read_u32(reader), count = read_u32(reader);

		if (reader->failed || first < end || first >= node_count ||
		    count == 0 || count > node_count - first)
			return -EBADMSG;
		if (draft_add(draft, first, count) < 0)
			return -ENOMEM;
		end = first + count + 1;
	}
	return 0;
}

static int bitmap_read(struct reader *reader, uint32_t node_count,
		       struct draft *draft)
{
	uint32_t base = read_u32(reader);

	for (uint64_t at = base; reader->left > 0; at += 8) {
		uint8_t byte = read_u8(reader);

		for (unsigned int bit = 0; bit < 8; bit++) {
			if (!(byte & 1u << bit))
				continue;
			if (at + bit >= node_count)
				return -EBADMSG;
			if (draft_add(draft, (uint32_t)at + bit, 1) < 0)
				return -ENOMEM;
		}
	}
	return reader->failed ? -EBADMSG : 0;
}

int choice_decode(struct membership *membership,
		  const struct wire_digest *digest, const void *bytes,
		  size_t size, struct choice **ret_choice)
{
	_auto_(draft_fini) struct draft draft = { 0 };
	struct reader reader = reader_of(bytes, size);
	struct choice *known = choice_find(membership, digest);
	uint8_t form = read_u8(&reader);
	int result = -EBADMSG;

	if (known != NULL) {
		*ret_choice = known;
		return 0;
	}
	if (form == FORM_RANGES)
		result = ranges_read(&reader, membership->count, &draft);
	else if (form == FORM_BITMAP)
		result = bitmap_read(&reader, membership->count, &draft);
	if (result == 0)
		result = draft_finish(membership, &draft, digest, ret_choice);
	return result == -ENOENT ? -EBADMSG : result;
}

/* --- use --- */

/* The range that has the position; position < count. */
static const struct choice_range *range_of(const struct choice *choice,
					   uint32_t position)
{
	uint32_t low = 0, high = choice->range_count;

	while (high - low > 1) {
		uint32_t at = low + (high - low) / 2;

		if (choice->ranges[at].position <= position)
			low = at;
		else
			high = at;
	}
	return &choice->ranges[low];
}

bool choice_covers(const struct choice *choice, const struct choice *part)
{
	uint32_t i = 0;

	for (uint32_t k = 0; k < part->range_count; k++) {
		const struct choice_range *range = &part->ranges[k];

		while (i < choice->range_count &&
		       choice->ranges[i].first + choice->ranges[i].count <=
			       range->first)
			i++;
		/* Ranges are as long as can be: it is in one, or not at all. */
		if (i == choice->range_count ||
		    choice->ranges[i].first > range->first ||
		    choice->ranges[i].first + choice->ranges[i].count <
			    range->first + range->count)
			return false;
	}
	return true;
}

int choice_position(const struct choice *choice, scoll_nid_t nid)
{
	int index = membership_index(choice->membership, nid);
	uint32_t low = 0, high = choice->range_count;

	if (index < 0)
		return -ENOENT;
	while (low < high) {
		uint32_t at = low + (high - low) / 2;
		const struct choice_range *range = &choice->ranges[at];

		if ((uint32_t)index < range->first)
			high = at;
		else if ((uint32_t)index - range->first >= range->count)
			low = at + 1;
		else
			return (int)(range->position + (uint32_t)index -
				     range->first);
	}
	return -ENOENT;
}

uint32_t choice_index(const struct choice *choice, uint32_t position)
{
	const struct choice_range *range;

	assert(position < choice->count);
	range = range_of(choice, position);
	return range->first + (position - range->position);
}

/* Of all positions before this one; position <= count. */
static uint32_t entities_before(const struct choice *choice, uint32_t position)
{
	const struct choice_range *range;

	if (position == choice->count)
		return choice->entity_count;
	range = range_of(choice, position);
	return range->entity_position +
	       membership_entities(choice->membership, range->first,
				   position - range->position);
}

uint32_t choice_entities(const struct choice *choice, uint32_t first,
			 uint32_t count)
{
	assert(first <= choice->count && count <= choice->count - first);
	return entities_before(choice, first + count) -
	       entities_before(choice, first);
}
