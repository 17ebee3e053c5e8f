/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bit id % 64 of word id / 64 says that id is a member. Bits at and over the
 * limit are always 0, so that whole words can be counted, searched and
 * compared.
 */
#include "base/idset.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

#define WORD_BITS 64u

struct idset {
	uint32_t limit;
	uint32_t count;
	uint64_t words[];
};

static size_t word_count(uint32_t limit)
{
	return (limit + WORD_BITS - 1) / WORD_BITS;
}

static uint64_t bit(uint32_t id)
{
	return UINT64_C(1) << (id % WORD_BITS);
}

int idset_create(uint32_t limit, struct idset **ret_set)
{
	struct idset *set;

	if (limit > IDSET_LIMIT_MAX)
		return -EINVAL;
	set = calloc(1, sizeof(*set) + word_count(limit) * sizeof(uint64_t));
	if (set == NULL)
		return -ENOMEM;
	set->limit = limit;
	*ret_set = set;
	return 0;
}

int idset_clone(const struct idset *set, struct idset **ret_set)
{
	size_t size = sizeof(*set) + word_count(set->limit) * sizeof(uint64_t);
	struct idset *clone = malloc(size);

	if (clone == NULL)
		return -ENOMEM;
	memcpy(clone, set, size);
	*ret_set = clone;
	return 0;
}

void idset_destroy(struct idset *set)
{
	free(set);
}

uint32_t idset_count(const struct idset *set)
{
	return set->count;
}

bool idset_has(const struct idset *set, uint32_t id)
{
	return id < set->limit && (set->words[id / WORD_BITS] & bit(id)) != 0;
}

void idset_add(struct idset *set, uint32_t id)
{
	assert(id < set->limit);
	if (!idset_has(set, id)) {
		set->words[id / WORD_BITS] |= bit(id);
		set->count++;
	}
}

void idset_remove(struct idset *set, uint32_t id)
{
	assert(id < set->limit);
	if (idset_has(set, id)) {
		set->words[id / WORD_BITS] &= ~bit(id);
		set->count--;
	}
}

uint32_t idset_next(const struct idset *set, uint32_t from)
{
	size_t end = word_count(set->limit);
	size_t at = from / WORD_BITS;
	uint64_t word;

	if (from >= set->limit)
		return IDSET_NONE;
	word = set->words[at] & (UINT64_MAX << (from % WORD_BITS));
	while (word == 0) {
		if (++at == end)
			return IDSET_NONE;
		word = set->words[at];
	}
	return (uint32_t)at * WORD_BITS + (uint32_t)__builtin_ctzll(word);
}

/* The lowest number >= from that is no member; limit when all are. */
static uint32_t next_absent(const struct idset *set, uint32_t from)
{
	size_t end = word_count(set->limit);
	size_t at = from / WORD_BITS;
	uint64_t word;

	if (from >= set->limit)
		return set->limit;
	word = ~set->words[at] & (UINT64_MAX << (from % WORD_BITS));
	while (word == 0) {
		if (++at == end)
			return set->limit;
		word = ~set->words[at];
	}
	/* At most the limit: what lies over it is absent. */
	return (uint32_t)at * WORD_BITS + (uint32_t)__builtin_ctzll(word);
}

static void recount(struct idset *set)
{
	uint32_t count = 0;

	for (size_t i = 0; i < word_count(set->limit); i++)
		count += (uint32_t)__builtin_popcountll(set->words[i]);
	set->count = count;
}

void idset_unite(struct idset *set, const struct idset *other)
{
	assert(set->limit == other->limit);
	for (size_t i = 0; i < word_count(set->limit); i++)
		set->words[i] |= other->words[i];
	recount(set);
}

void idset_subtract(struct idset *set, const struct idset *other)
{
	assert(set->limit == other->limit);
	for (size_t i = 0; i < word_count(set->limit); i++)
		set->words[i] &= ~other->words[i];
	recount(set);
}

void idset_intersect(struct idset *set, const struct idset *other)
{
	assert(set->limit == other->limit);
	for (size_t i = 0; i < word_count(set->limit); i++)
		set->words[i] &= other->words[i];
	recount(set);
}

bool idset_equal(const struct idset *set, const struct idset *other)
{
	return set->limit == other->limit && set->count == other->count &&
	       memcmp(set->words, other->words,
		      word_count(set->limit) * sizeof(uint64_t)) == 0;
}

static void add_word(struct idset *set, size_t at, uint64_t word)
{
	set->count += (uint32_t)__builtin_popcountll(word & ~set->words[at]);
	set->words[at] |= word;
}

/* Add first..last: of a set with millions of ids, no more than these are read. */
static void fill(struct idset *set, uint32_t first, uint32_t last)
{
	size_t at = first / WORD_BITS;
	size_t end = last / WORD_BITS;
	uint64_t head = UINT64_MAX << (first % WORD_BITS);
	uint64_t tail = UINT64_MAX >> (WORD_BITS - 1 - last % WORD_BITS);

	if (at == end) {
		add_word(set, at, head & tail);
		return;
	}
	add_word(set, at, head);
	while (++at < end)
		add_word(set, at, UINT64_MAX);
	add_word(set, end, tail);
}

/* A number below limit, and move past it. */
static int number_parse(const char **at, uint32_t limit, uint32_t *ret_number)
{
	const char *digit = *at;
	uint32_t number = 0;

	for (; *digit >= '0' && *digit <= '9'; digit++) {
		/* Under IDSET_LIMIT_MAX * 10 + 9: no overflow. */
		number = number * 10 + (uint32_t)(*digit - '0');
		if (number >= limit)
			return -ERANGE;
	}
	if (digit == *at)
		return -EINVAL;
	*at = digit;
	*ret_number = number;
	return 0;
}

/* One "number" or "first-last", up to a comma or the end. */
static int range_parse(const char **at, struct idset *set,
		       struct fairlead_error *ret_error)
{
	const char *start = *at;
	int size = (int)strnlen(start, 64);
	uint32_t first, last;
	int result;

	if (memchr(start, ',', (size_t)size) != NULL)
		size = (int)((const char *)memchr(start, ',', (size_t)size) -
			     start);
	result = number_parse(at, set->limit, &first);
	last = first;
	if (result == 0 && **at == '-') {
		(*at)++;
		result = number_parse(at, set->limit, &last);
	}
	if (result == -ERANGE)
		return error_set(ret_error, -EINVAL,
				 "number in '%.*s' is not below %" PRIu32, size,
				 start, set->limit);
	if (result < 0 || (**at != ',' && **at != 0))
		return error_set(ret_error, -EINVAL, "bad id range '%.*s'",
				 size, start);
	if (first > last)
		return error_set(ret_error, -EINVAL,
				 "id range '%.*s' runs backwards", size, start);
	fill(set, first, last);
	return 0;
}

int idset_parse(const char *text, uint32_t limit, struct idset **ret_set,
		struct fairlead_error *ret_error)
{
	_auto_(idset_destroyp) struct idset *set = NULL;
	int result = idset_create(limit, &set);

	if (result < 0)
		return error_set(ret_error, result,
				 "no id set below %" PRIu32 ": %s", limit,
				 strerror(-result));
	while (*text != 0) {
		result = range_parse(&text, set, ret_error);
		if (result < 0)
			return result;
		if (*text == ',' && *++text == 0)
			return error_set(ret_error, -EINVAL,
					 "id set ends in a comma");
	}
	*ret_set = take_ptr(set);
	return 0;
}

char *idset_format(const struct idset *set)
{
	struct writer writer = { 0 };
	uint32_t first = idset_next(set, 0);

	while (first != IDSET_NONE) {
		uint32_t end = next_absent(set, first);
		char range[32];
		int size = snprintf(range, sizeof(range), "%s%" PRIu32,
				    writer.size > 0 ? "," : "", first);

		write_bytes(&writer, range, (size_t)size);
		if (end - first > 1) {
			size = snprintf(range, sizeof(range), "-%" PRIu32,
					end - 1);
			write_bytes(&writer, range, (size_t)size);
		}
		first = idset_next(set, end);
	}
	write_u8(&writer, 0);
	return (char *)writer_take(&writer, NULL);
}
