/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries are found by a digest of the outcome, so that a thousand nodes with
 * a thousand outputs are not compared with each other. A node is in one entry,
 * so their number is bounded by the nodes'. Beyond EXEC_OUTPUTS_MAX bytes of
 * output an outcome keeps its kind and code only.
 */
#include "results.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

#define VERSION     1
#define HEAD_BYTES  3 /* of a part */
#define ENTRY_HEAD  14
#define RANGE_BYTES 8

struct exec_entry {
	uint8_t digest[EXEC_ID_BYTES];
	struct outcome outcome; /* its output is `output` */
	struct idset *nodes;
	UT_hash_handle hh;
	uint8_t output[];
};

struct results {
	struct exec_entry *entries;
	struct exec_entry *taken; /* by results_next */
	struct idset *known;
	uint32_t node_count;
	size_t output_bytes; /* of all entries that were ever in it */
};

struct results *results_create(uint32_t node_count)
{
	struct results *results;

	if (node_count == 0 || node_count > EXEC_NODES_MAX)
		return NULL;
	results = memory_alloc(sizeof(*results));
	memory_check(idset_create(node_count, &results->known));
	results->node_count = node_count;
	return results;
}

static void entry_destroy(struct exec_entry *entry)
{
	if (entry != NULL)
		idset_destroy(entry->nodes);
	free(entry);
}

static struct exec_entry *entry_unlink(struct results *results,
				       struct exec_entry *entry)
{
	HASH_DEL(results->entries, entry);
	return entry;
}

void results_destroy(struct results *results)
{
	struct exec_entry *entry, *next;

	if (results == NULL)
		return;
	HASH_ITER (hh, results->entries, entry, next) {
		entry_destroy(entry_unlink(results, entry));
	}
	entry_destroy(results->taken);
	idset_destroy(results->known);
	free(results);
}

static void digest_of(const struct outcome *outcome,
		      uint8_t ret_digest[EXEC_ID_BYTES])
{
	crypto_generichash_state state;
	uint8_t head[] = {
		outcome->kind,
		outcome->flags,
		(uint8_t)outcome->code,
		(uint8_t)(outcome->code >> 8),
		(uint8_t)(outcome->code >> 16),
		(uint8_t)(outcome->code >> 24),
	};

	crypto_generichash_init(&state, NULL, 0, EXEC_ID_BYTES);
	crypto_generichash_update(&state, head, sizeof(head));
	crypto_generichash_update(&state, outcome->output, outcome->size);
	crypto_generichash_final(&state, ret_digest, EXEC_ID_BYTES);
}

static bool is_outcome(const struct outcome *outcome)
{
	return outcome->kind >= OUTCOME_EXITED &&
	       outcome->kind < OUTCOME_KIND_END &&
	       (outcome->flags & ~OUTCOME_FLAGS) == 0 &&
	       outcome->size <= EXEC_OUTPUT_MAX &&
	       (outcome->size == 0 || (outcome->flags & OUTCOME_OMITTED) == 0);
}

static struct exec_entry *entry_of(struct results *results,
				   struct outcome outcome)
{
	uint8_t digest[EXEC_ID_BYTES];
	struct exec_entry *entry;

	digest_of(&outcome, digest);
	HASH_FIND(hh, results->entries, digest, sizeof(digest), entry);
	if (entry != NULL)
		return entry;
	if (outcome.size > EXEC_OUTPUTS_MAX - results->output_bytes) {
		outcome.size = 0;
		outcome.flags = OUTCOME_OMITTED;
		return entry_of(results, outcome);
	}
	entry = memory_alloc(sizeof(*entry) + outcome.size);
	memory_check(idset_create(results->node_count, &entry->nodes));
	memcpy(entry->digest, digest, sizeof(digest));
	if (outcome.size > 0)
		memcpy(entry->output, outcome.output, outcome.size);
	entry->outcome = outcome;
	entry->outcome.output = entry->output;
	HASH_ADD(hh, results->entries, digest, sizeof(entry->digest), entry);
	if (!hash_was_added(entry))
		memory_end();
	results->output_bytes += outcome.size;
	return entry;
}

/* *entry: the outcome's; NULL: search for it when the node is new. */
static bool node_add(struct results *results, uint32_t node,
		     const struct outcome *outcome, struct exec_entry **entry)
{
	if (idset_has(results->known, node))
		return false;
	if (*entry == NULL)
		*entry = entry_of(results, *outcome);
	idset_add((*entry)->nodes, node);
	idset_add(results->known, node);
	return true;
}

int results_add(struct results *results, uint32_t node,
		const struct outcome *outcome)
{
	struct exec_entry *entry = NULL;

	if (node >= results->node_count || !is_outcome(outcome))
		return -EINVAL;
	return node_add(results, node, outcome, &entry) ? 0 : -EALREADY;
}

/* --- parts --- */

static void read_outcome(struct reader *reader, struct outcome *ret_outcome)
{
	ret_outcome->kind = read_u8(reader);
	ret_outcome->code = read_u32(reader);
	ret_outcome->flags = read_u8(reader);
	ret_outcome->output =
		read_blob(reader, EXEC_OUTPUT_MAX, &ret_outcome->size);
}

/* Add the ranges of an entry, or only check them: how many nodes were new. */
static int read_ranges(struct results *results, struct reader *reader,
		       const struct outcome *outcome, bool is_check)
{
	uint32_t count = read_u32(reader);
	struct exec_entry *entry = NULL;
	uint64_t next = 0;
	int added = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t first = read_u32(reader);
		uint32_t length = read_u32(reader);

		if (reader->failed || length == 0 || (i > 0 && first <= next) ||
		    (uint64_t)first + length > results->node_count)
			return -EBADMSG;
		next = (uint64_t)first + length;
		for (uint32_t node = first; !is_check && node < next; node++)
			added += node_add(results, node, outcome, &entry);
	}
	return count == 0 ? -EBADMSG : added;
}

static int read_part(struct results *results, const void *part, size_t size,
		     bool is_check)
{
	struct reader reader = reader_of(part, size);
	uint8_t version = read_u8(&reader);
	uint16_t count = read_u16(&reader);
	int added = 0;

	if (reader.failed || version != VERSION || count == 0)
		return -EBADMSG;
	for (uint16_t i = 0; i < count; i++) {
		struct outcome outcome;
		int result;

		read_outcome(&reader, &outcome);
		if (reader.failed || !is_outcome(&outcome))
			return -EBADMSG;
		result = read_ranges(results, &reader, &outcome, is_check);
		if (result < 0)
			return result;
		added += result;
	}
	return reader_is_done(&reader) ? added : -EBADMSG;
}

int results_merge(struct results *results, const void *part, size_t size)
{
	int result = read_part(results, part, size, true);

	return result < 0 ? result : read_part(results, part, size, false);
}

/* Members of the set that follow each other from `first` on. */
static uint32_t range_length(const struct idset *nodes, uint32_t first)
{
	uint32_t length = 1;

	while (idset_has(nodes, first + length))
		length++;
	return length;
}

static uint32_t range_count(const struct idset *nodes)
{
	uint32_t count = 0;

	idset_foreach (node, nodes) {
		node += range_length(nodes, node) - 1;
		count++;
	}
	return count;
}

static void entry_write(const struct exec_entry *entry, uint32_t ranges,
			struct writer *writer)
{
	write_u8(writer, entry->outcome.kind);
	write_u32(writer, entry->outcome.code);
	write_u8(writer, entry->outcome.flags);
	write_blob(writer, entry->output, entry->outcome.size);
	write_u32(writer, ranges);
	idset_foreach (node, entry->nodes) {
		uint32_t length = range_length(entry->nodes, node);

		write_u32(writer, node);
		write_u32(writer, length);
		node += length - 1;
	}
}

/* Of a node in the worst case: an entry of its own, or a range in another. */
#define NODE_BYTES (ENTRY_HEAD + EXEC_OUTPUT_MAX + RANGE_BYTES)
/* The largest entry: every second node. */
#define ENTRY_MAX \
	(ENTRY_HEAD + EXEC_OUTPUT_MAX + EXEC_NODES_MAX / 2 * RANGE_BYTES)

static_assert(HEAD_BYTES + ENTRY_MAX < EXEC_FRAME_MAX,
	      "each entry fits in a frame for the client");

size_t results_part_bytes(uint32_t nodes)
{
	size_t bytes = HEAD_BYTES + (size_t)nodes * NODE_BYTES;

	return bytes < EXEC_PART_BYTES ? bytes : EXEC_PART_BYTES;
}

/* A part is full when the largest entry does not fit in the rest of it. */
int results_part_count(uint32_t nodes)
{
	const size_t least = EXEC_PART_BYTES - HEAD_BYTES - ENTRY_MAX;
	size_t bytes =
		EXEC_OUTPUTS_MAX + (size_t)nodes * (ENTRY_HEAD + RANGE_BYTES);

	return results_part_bytes(nodes) < EXEC_PART_BYTES
		       ? 1
		       : (int)(bytes / least) + 1;
}

int results_take(struct results *results, size_t capacity,
		 struct writer *writer)
{
	_auto_(writer_fini) struct writer body = { 0 };
	struct exec_entry *entry, *next;
	uint16_t count = 0;

	HASH_ITER (hh, results->entries, entry, next) {
		uint32_t ranges = range_count(entry->nodes);
		size_t size = ENTRY_HEAD + entry->outcome.size +
			      (size_t)ranges * RANGE_BYTES;

		if (HEAD_BYTES + body.size + size > capacity ||
		    count == UINT16_MAX)
			continue;
		entry_write(entry, ranges, &body);
		entry_destroy(entry_unlink(results, entry));
		count++;
	}
	if (count == 0)
		return 0;
	write_u8(writer, VERSION);
	write_u16(writer, count);
	write_bytes(writer, body.data, body.size);
	memory_check(body.result);
	memory_check(writer->result);
	return count;
}

bool results_next(struct results *results, struct outcome *ret_outcome,
		  const struct idset **ret_nodes)
{
	struct exec_entry *entry = results->entries;

	entry_destroy(results->taken);
	results->taken = entry;
	if (entry == NULL)
		return false;
	entry_unlink(results, entry);
	*ret_outcome = entry->outcome;
	*ret_nodes = entry->nodes;
	return true;
}

static int by_first_node(const struct exec_entry *a, const struct exec_entry *b)
{
	uint32_t left = idset_next(a->nodes, 0),
		 right = idset_next(b->nodes, 0);

	return left < right ? -1 : left > right;
}

void results_sort(struct results *results)
{
	HASH_SORT(results->entries, by_first_node);
}

const struct idset *results_known(const struct results *results)
{
	return results->known;
}

bool results_is_empty(const struct results *results)
{
	return results->entries == NULL;
}
