/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Little-endian: u8 1, u32 places, u8 sets, then of each set: u32 key id,
 * u8[32] tag, u32 ranges, of each range u32 first and u32 count, in rising
 * order and apart from each other; then u32 confirmations, each as a blob.
 */
#include "lanes/proto/combined.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/memory.h"

#define COMBINED_VERSION 1

/* Sizes of the head, of each set, and of each of its ranges. */
#define COMBINED_HEAD_SIZE  (1 + 4 + 1 + 4)
#define COMBINED_SET_SIZE   (4 + MAC_SIZE + 4)
#define COMBINED_RANGE_SIZE (4 + 4)

int combined_init(struct combined *combined, uint32_t place_count)
{
	if (place_count == 0 || place_count > COMBINED_NODES_MAX)
		return -EINVAL;
	*combined = (struct combined){ .place_count = place_count };
	return 0;
}

void combined_fini(struct combined *combined)
{
	for (size_t i = 0; i < combined->set_count; i++)
		idset_destroy(combined->sets[i].places);
	writer_fini(&combined->carried);
	*combined = (struct combined){ 0 };
}

static bool has_place(const struct combined *combined, uint32_t place)
{
	for (size_t i = 0; i < combined->set_count; i++)
		if (idset_has(combined->sets[i].places, place))
			return true;
	return false;
}

/* The set of a key, made if need be. NULL: there are too many. */
static struct combined_set *set_get(struct combined *combined, uint32_t key_id)
{
	struct combined_set *set;

	for (size_t i = 0; i < combined->set_count; i++)
		if (combined->sets[i].key_id == key_id)
			return &combined->sets[i];
	if (combined->set_count == KEYS_MAX)
		return NULL;
	set = &combined->sets[combined->set_count++];
	*set = (struct combined_set){ .key_id = key_id };
	memory_check(idset_create(combined->place_count, &set->places));
	return set;
}

static void carry(struct combined *combined, const void *confirm, size_t size)
{
	write_blob(&combined->carried, confirm, size);
	memory_check(combined->carried.result);
	combined->carried_count++;
}

int combined_add(struct combined *combined, uint32_t place, const void *bytes,
		 size_t size)
{
	struct combined_set *set;
	struct confirm confirm;
	uint8_t tag[MAC_SIZE];
	uint32_t key_id;
	bool is_plain;
	int result;

	if (place >= combined->place_count)
		return -EINVAL;
	result = memory_check(confirm_read(bytes, size, &confirm, tag));
	if (result < 0)
		return result;
	is_plain = confirm.result == 0 && confirm.reason[0] == 0 &&
		   confirm.answer_size == 0;
	key_id = confirm.key_id;
	confirm_fini(&confirm);
	if (is_plain && has_place(combined, place))
		return -EEXIST;
	set = is_plain ? set_get(combined, key_id) : NULL;
	if (set == NULL) {
		carry(combined, bytes, size);
		return 0;
	}
	idset_add(set->places, place);
	mac_combine(set->tag, tag);
	return 0;
}

int combined_carry(struct combined *combined, const void *bytes, size_t size)
{
	struct confirm confirm;
	uint8_t tag[MAC_SIZE];
	int result = memory_check(confirm_read(bytes, size, &confirm, tag));

	if (result < 0)
		return result;
	confirm_fini(&confirm);
	carry(combined, bytes, size);
	return 0;
}

/* --- encoding --- */

static uint32_t range_end(const struct idset *places, uint32_t first)
{
	uint32_t end = first + 1;

	while (idset_has(places, end))
		end++;
	return end;
}

static uint32_t range_count(const struct idset *places)
{
	uint32_t count = 0;

	for (uint32_t id = idset_next(places, 0); id != IDSET_NONE;
	     id = idset_next(places, range_end(places, id)))
		count++;
	return count;
}

static void write_set(struct writer *writer, const struct combined_set *set)
{
	uint32_t end;

	write_u32(writer, set->key_id);
	write_bytes(writer, set->tag, sizeof(set->tag));
	write_u32(writer, range_count(set->places));
	for (uint32_t id = idset_next(set->places, 0); id != IDSET_NONE;
	     id = idset_next(set->places, end)) {
		end = range_end(set->places, id);
		write_u32(writer, id);
		write_u32(writer, end - id);
	}
}

int combined_encode(const struct combined *combined, struct writer *writer)
{
	write_u8(writer, COMBINED_VERSION);
	write_u32(writer, combined->place_count);
	write_u8(writer, (uint8_t)combined->set_count);
	for (size_t i = 0; i < combined->set_count; i++)
		write_set(writer, &combined->sets[i]);
	write_u32(writer, combined->carried_count);
	write_bytes(writer, combined->carried.data, combined->carried.size);
	return writer->result;
}

size_t combined_encoded_size(const struct combined *combined)
{
	size_t size = COMBINED_HEAD_SIZE + combined->carried.size;

	for (size_t i = 0; i < combined->set_count; i++)
		size += COMBINED_SET_SIZE +
			range_count(combined->sets[i].places) *
				COMBINED_RANGE_SIZE;
	return size;
}

bool combined_is_empty(const struct combined *combined)
{
	return combined_encoded_size(combined) == COMBINED_HEAD_SIZE;
}

/* --- decoding --- */

/* Ranges rise and do not touch; at least one. No place is in two sets. */
static int read_places(struct reader *reader, const struct combined *combined,
		       struct idset *places)
{
	uint32_t place_count = combined->place_count;
	uint32_t range_count = read_u32(reader);
	uint32_t next = 0;

	if (range_count == 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < range_count; i++) {
		uint32_t first = read_u32(reader);
		uint32_t count = read_u32(reader);

		if (reader->failed || first < next || count == 0 ||
		    first >= place_count || count > place_count - first)
			return -EBADMSG;
		for (uint32_t id = first; id < first + count; id++) {
			if (has_place(combined, id))
				return -EBADMSG;
			idset_add(places, id);
		}
		next = first + count + 1;
	}
	return 0;
}

static int read_sets(struct reader *reader, struct combined *combined)
{
	size_t count = read_u8(reader);

	if (count > KEYS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < count; i++) {
		struct combined_set *set;
		uint32_t key_id = read_u32(reader);
		const uint8_t *tag = read_bytes(reader, MAC_SIZE);
		int result;

		if (tag == NULL)
			return -EBADMSG;
		set = set_get(combined, key_id);
		if (combined->set_count != i + 1)
			return -EBADMSG;
		memcpy(set->tag, tag, MAC_SIZE);
		result = read_places(reader, combined, set->places);
		if (result < 0)
			return result;
	}
	return 0;
}

static int read_carried(struct reader *reader, struct combined *combined)
{
	uint32_t count = read_u32(reader);

	for (uint32_t i = 0; i < count && !reader->failed; i++) {
		size_t size;
		const uint8_t *bytes = read_blob(reader, UINT32_MAX, &size);

		if (bytes == NULL)
			return -EBADMSG;
		carry(combined, bytes, size);
	}
	return reader_is_done(reader) ? 0 : -EBADMSG;
}

int combined_decode(const void *bytes, size_t size, uint32_t place_count,
		    struct combined *ret_combined)
{
	struct reader reader = reader_of(bytes, size);
	int result;

	*ret_combined = (struct combined){ 0 };
	if (read_u8(&reader) != COMBINED_VERSION ||
	    read_u32(&reader) != place_count ||
	    combined_init(ret_combined, place_count) < 0)
		return -EBADMSG;
	result = read_sets(&reader, ret_combined);
	return result < 0 ? result : read_carried(&reader, ret_combined);
}

/* --- merging --- */

static int merge_check(const struct combined *combined,
		       const struct combined *other)
{
	size_t key_count = combined->set_count;

	for (size_t i = 0; i < other->set_count; i++) {
		bool is_known = false;

		idset_foreach (place, other->sets[i].places)
			if (has_place(combined, place))
				return -EEXIST;
		for (size_t j = 0; j < combined->set_count; j++)
			is_known |= combined->sets[j].key_id ==
				    other->sets[i].key_id;
		key_count += !is_known;
	}
	return key_count > KEYS_MAX ? -E2BIG : 0;
}

static void merge_do(struct combined *combined, const struct combined *other)
{
	write_bytes(&combined->carried, other->carried.data,
		    other->carried.size);
	memory_check(combined->carried.result);
	combined->carried_count += other->carried_count;
	for (size_t i = 0; i < other->set_count; i++) {
		struct combined_set *set =
			set_get(combined, other->sets[i].key_id);

		idset_unite(set->places, other->sets[i].places);
		mac_combine(set->tag, other->sets[i].tag);
	}
}

int combined_merge(struct combined *combined, const void *bytes, size_t size)
{
	struct combined other = { 0 };
	int result =
		combined_decode(bytes, size, combined->place_count, &other);

	if (result == 0)
		result = merge_check(combined, &other);
	if (result == 0)
		merge_do(combined, &other);
	combined_fini(&other);
	return result;
}

/* --- at the manager --- */

static const struct node_master *master_find(const struct node_master *masters,
					     size_t count, uint32_t key_id)
{
	for (size_t i = 0; i < count; i++)
		if (masters[i].id == key_id)
			return &masters[i];
	return NULL;
}

/* One node's tag over "done", as the manager makes it. */
static int done_tag(const struct node_master *master,
		    const struct command *command, struct combined_node node,
		    uint8_t ret_tag[MAC_SIZE])
{
	struct writer writer = { 0 };
	struct confirm confirm;
	struct node_key key;
	int result;

	confirm_answer(command, node.name, node.incarnation, 0, &confirm);
	node_key_derive(master, node.name, &key);
	result = memory_check(confirm_encode(&confirm, &key, &writer));
	if (result == 0)
		memcpy(ret_tag, writer.data + writer.size - MAC_SIZE, MAC_SIZE);
	node_key_fini(&key);
	writer_fini(&writer);
	return result;
}

int combined_verify(const struct combined_set *set,
		    const struct command *command,
		    const struct node_master *masters, size_t master_count,
		    combined_node_fn *node_of, void *ctx)
{
	const struct node_master *master =
		master_find(masters, master_count, set->key_id);
	uint8_t all[MAC_SIZE] = { 0 };
	uint8_t tag[MAC_SIZE];

	if (master == NULL)
		return -ENOKEY;
	idset_foreach (place, set->places) {
		int result =
			done_tag(master, command, node_of(ctx, place), tag);

		if (result < 0)
			return result;
		mac_combine(all, tag);
	}
	return sodium_memcmp(all, set->tag, MAC_SIZE) == 0 ? 0 : -EKEYREJECTED;
}

bool combined_carried_next(const struct combined *combined, size_t *cursor,
			   const uint8_t **ret_confirm, size_t *ret_size)
{
	struct reader reader;

	if (*cursor == combined->carried.size)
		return false;
	reader = reader_of(combined->carried.data + *cursor,
			   combined->carried.size - *cursor);
	*ret_confirm = read_blob(&reader, UINT32_MAX, ret_size);
	*cursor = combined->carried.size - reader.left;
	return *ret_confirm != NULL;
}
