/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Little-endian: u8 1, u32 places, u8 sets, then of each set: u32 key id,
 * u8[32] tag, u32 ranges, of each range u32 first and u32 count, in rising
 * order and apart from each other; then u32 confirmations, each as a blob.
 */
#include "lanes/proto/gather.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#define GATHER_VERSION 1

/* What stands once, for each set, and for each of its ranges. */
#define GATHER_HEAD_SIZE  (1 + 4 + 1 + 4)
#define GATHER_SET_SIZE   (4 + MAC_SIZE + 4)
#define GATHER_RANGE_SIZE (4 + 4)

int gather_init(struct gather *gather, uint32_t place_count)
{
	if (place_count == 0 || place_count > GATHER_PLACES_MAX)
		return -EINVAL;
	*gather = (struct gather){ .place_count = place_count };
	return 0;
}

void gather_fini(struct gather *gather)
{
	for (size_t i = 0; i < gather->set_count; i++)
		idset_destroy(gather->sets[i].places);
	writer_fini(&gather->carried);
	*gather = (struct gather){ 0 };
}

static bool has_place(const struct gather *gather, uint32_t place)
{
	for (size_t i = 0; i < gather->set_count; i++)
		if (idset_has(gather->sets[i].places, place))
			return true;
	return false;
}

/* The set of a key, made if need be. -E2BIG, -ENOMEM. */
static int set_get(struct gather *gather, uint32_t key_id,
		   struct gather_set **ret_set)
{
	struct gather_set *set;
	int result;

	for (size_t i = 0; i < gather->set_count; i++) {
		if (gather->sets[i].key_id == key_id) {
			*ret_set = &gather->sets[i];
			return 0;
		}
	}
	if (gather->set_count == KEYS_MAX)
		return -E2BIG;
	set = &gather->sets[gather->set_count];
	*set = (struct gather_set){ .key_id = key_id };
	result = idset_create(gather->place_count, &set->places);
	if (result < 0)
		return result;
	gather->set_count++;
	*ret_set = set;
	return 0;
}

static int carry(struct gather *gather, const void *confirm, size_t size)
{
	size_t before = gather->carried.size;
	int result;

	write_blob(&gather->carried, confirm, size);
	result = gather->carried.result;
	if (result < 0) {
		gather->carried.size = before;
		gather->carried.result = 0;
		return result;
	}
	gather->carried_count++;
	return 0;
}

int gather_add(struct gather *gather, uint32_t place, const void *bytes,
	       size_t size)
{
	struct gather_set *set;
	struct confirm confirm;
	uint8_t tag[MAC_SIZE];
	uint32_t key_id;
	bool is_plain;
	int result;

	if (place >= gather->place_count)
		return -EINVAL;
	result = confirm_read(bytes, size, &confirm, tag);
	if (result < 0)
		return result;
	is_plain = confirm.result == 0 && confirm.reason[0] == 0 &&
		   confirm.answer_size == 0;
	key_id = confirm.key_id;
	confirm_fini(&confirm);
	if (!is_plain)
		return carry(gather, bytes, size);
	if (has_place(gather, place))
		return -EEXIST;
	result = set_get(gather, key_id, &set);
	if (result == -E2BIG)
		return carry(gather, bytes, size);
	if (result < 0)
		return result;
	idset_add(set->places, place);
	mac_combine(set->tag, tag);
	return 0;
}

int gather_carry(struct gather *gather, const void *bytes, size_t size)
{
	struct confirm confirm;
	uint8_t tag[MAC_SIZE];
	int result = confirm_read(bytes, size, &confirm, tag);

	if (result < 0)
		return result;
	confirm_fini(&confirm);
	return carry(gather, bytes, size);
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

static void write_set(struct writer *writer, const struct gather_set *set)
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

int gather_encode(const struct gather *gather, struct writer *writer)
{
	uint8_t set_count = 0;

	/* Memory may have run out just after a set was made. */
	for (size_t i = 0; i < gather->set_count; i++)
		if (idset_count(gather->sets[i].places) > 0)
			set_count++;
	write_u8(writer, GATHER_VERSION);
	write_u32(writer, gather->place_count);
	write_u8(writer, set_count);
	for (size_t i = 0; i < gather->set_count; i++)
		if (idset_count(gather->sets[i].places) > 0)
			write_set(writer, &gather->sets[i]);
	write_u32(writer, gather->carried_count);
	write_bytes(writer, gather->carried.data, gather->carried.size);
	return writer->result;
}

size_t gather_encoded_size(const struct gather *gather)
{
	size_t size = GATHER_HEAD_SIZE + gather->carried.size;

	for (size_t i = 0; i < gather->set_count; i++)
		if (idset_count(gather->sets[i].places) > 0)
			size += GATHER_SET_SIZE +
				range_count(gather->sets[i].places) *
					GATHER_RANGE_SIZE;
	return size;
}

bool gather_is_empty(const struct gather *gather)
{
	return gather_encoded_size(gather) == GATHER_HEAD_SIZE;
}

/* --- decoding --- */

/* Ranges rise and do not touch; at least one. */
static int read_places(struct reader *reader, struct idset *places,
		       uint32_t place_count)
{
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
		for (uint32_t id = first; id < first + count; id++)
			idset_add(places, id);
		next = first + count + 1;
	}
	return 0;
}

static int read_sets(struct reader *reader, struct gather *gather)
{
	size_t count = read_u8(reader);

	if (count > KEYS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < count; i++) {
		struct gather_set *set;
		uint32_t key_id = read_u32(reader);
		const uint8_t *tag = read_bytes(reader, MAC_SIZE);
		int result;

		if (tag == NULL)
			return -EBADMSG;
		result = set_get(gather, key_id, &set);
		if (result < 0)
			return result;
		if (gather->set_count != i + 1)
			return -EBADMSG;
		memcpy(set->tag, tag, MAC_SIZE);
		result = read_places(reader, set->places, gather->place_count);
		if (result < 0)
			return result;
	}
	return 0;
}

static int read_carried(struct reader *reader, struct gather *gather)
{
	uint32_t count = read_u32(reader);

	for (uint32_t i = 0; i < count && !reader->failed; i++) {
		size_t size;
		const uint8_t *bytes = read_blob(reader, UINT32_MAX, &size);
		int result =
			bytes == NULL ? -EBADMSG : carry(gather, bytes, size);

		if (result < 0)
			return result;
	}
	return reader_is_done(reader) ? 0 : -EBADMSG;
}

/* -EBADMSG, -ENOMEM; `gather` is to be finished in any case. */
static int gather_decode(const void *bytes, size_t size, uint32_t place_count,
			 struct gather *gather)
{
	struct reader reader = reader_of(bytes, size);
	int result = gather_init(gather, place_count);

	if (result < 0)
		return result;
	if (read_u8(&reader) != GATHER_VERSION ||
	    read_u32(&reader) != place_count)
		return -EBADMSG;
	result = read_sets(&reader, gather);
	return result < 0 ? result : read_carried(&reader, gather);
}

/* --- merging --- */

static int merge_check(const struct gather *gather, const struct gather *other)
{
	size_t key_count = gather->set_count;

	for (size_t i = 0; i < other->set_count; i++) {
		bool is_known = false;

		idset_foreach (place, other->sets[i].places)
			if (has_place(gather, place))
				return -EEXIST;
		for (size_t j = 0; j < gather->set_count; j++)
			is_known |=
				gather->sets[j].key_id == other->sets[i].key_id;
		/* Within the message, no place is in two sets. */
		for (size_t j = 0; j < i; j++)
			idset_foreach (place, other->sets[i].places)
				if (idset_has(other->sets[j].places, place))
					return -EBADMSG;
		key_count += !is_known;
	}
	return key_count > KEYS_MAX ? -E2BIG : 0;
}

static int merge_do(struct gather *gather, const struct gather *other)
{
	struct gather_set *sets[KEYS_MAX];
	size_t before = gather->carried.size;
	int result;

	for (size_t i = 0; i < other->set_count; i++) {
		result = set_get(gather, other->sets[i].key_id, &sets[i]);
		if (result < 0)
			return result;
	}
	write_bytes(&gather->carried, other->carried.data, other->carried.size);
	result = gather->carried.result;
	if (result < 0) {
		gather->carried.size = before;
		gather->carried.result = 0;
		return result;
	}
	gather->carried_count += other->carried_count;
	for (size_t i = 0; i < other->set_count; i++) {
		idset_unite(sets[i]->places, other->sets[i].places);
		mac_combine(sets[i]->tag, other->sets[i].tag);
	}
	return 0;
}

int gather_merge(struct gather *gather, const void *bytes, size_t size)
{
	struct gather other = { 0 };
	int result = gather_decode(bytes, size, gather->place_count, &other);

	if (result == 0)
		result = merge_check(gather, &other);
	if (result == 0)
		result = merge_do(gather, &other);
	gather_fini(&other);
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

/* One node's tag over "done", made anew. */
static int done_tag(const struct node_master *master,
		    const struct command *command, struct gather_node node,
		    uint8_t ret_tag[MAC_SIZE])
{
	struct writer writer = { 0 };
	struct confirm confirm;
	struct node_key key;
	int result;

	confirm_answer(command, node.name, node.incarnation, 0, &confirm);
	node_key_derive(master, node.name, &key);
	result = confirm_encode(&confirm, &key, &writer);
	if (result == 0)
		memcpy(ret_tag, writer.data + writer.size - MAC_SIZE, MAC_SIZE);
	node_key_fini(&key);
	writer_fini(&writer);
	return result;
}

int gather_verify(const struct gather_set *set, const struct command *command,
		  const struct node_master *masters, size_t master_count,
		  gather_node_fn *node_of, void *ctx)
{
	const struct node_master *master =
		master_find(masters, master_count, set->key_id);
	uint8_t combined[MAC_SIZE] = { 0 };
	uint8_t tag[MAC_SIZE];

	if (master == NULL)
		return -ENOKEY;
	idset_foreach (place, set->places) {
		int result =
			done_tag(master, command, node_of(ctx, place), tag);

		if (result < 0)
			return result;
		mac_combine(combined, tag);
	}
	return sodium_memcmp(combined, set->tag, MAC_SIZE) == 0 ? 0
								: -EKEYREJECTED;
}

bool gather_carried_next(const struct gather *gather, size_t *cursor,
			 const uint8_t **ret_confirm, size_t *ret_size)
{
	struct reader reader = reader_of(gather->carried.data + *cursor,
					 gather->carried.size - *cursor);

	if (*cursor == gather->carried.size)
		return false;
	*ret_confirm = read_blob(&reader, UINT32_MAX, ret_size);
	*cursor = gather->carried.size - reader.left;
	return *ret_confirm != NULL;
}
