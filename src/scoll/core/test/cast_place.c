/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where members are, when that matters: a place is a number that rises with
 * each start, and an address is that number over and over. A member reaches
 * those only whose present place it knows.
 */
#include "cast.h"

static size_t place_write(const struct cast *cast, uint32_t place,
			  uint8_t *ret_bytes)
{
	memset(ret_bytes, 0, cast->place_size);
	for (size_t i = 0; i + 5 <= cast->place_size; i += 4)
		memcpy(ret_bytes + i, &place, sizeof(place));
	return cast->place_size;
}

/* 0: there is no such place. */
static uint32_t place_read(const struct cast *cast, const uint8_t *bytes,
			   size_t size)
{
	uint8_t padded[WIRE_ADDRESS_MAX] = { 0 }, again[WIRE_ADDRESS_MAX];
	uint32_t place;

	if (size > cast->place_size || size == 0)
		return 0;
	memcpy(padded, bytes, size);
	memcpy(&place, padded, sizeof(place));
	place_write(cast, place, again);
	return memcmp(padded, again, cast->place_size) == 0 ? place : 0;
}

bool cast_place_reaches(const struct member *member, scoll_nid_t to)
{
	struct cast *cast = member->cast;
	const struct member *other = cast_find(cast, to);

	if (cast->place_size == 0)
		return true;
	return other != NULL &&
	       member->places[other - cast->members] == other->place;
}

int cast_place_get(void *ctx, scoll_nid_t nid, void *ret_bytes, size_t *size)
{
	struct member *member = ctx;
	struct cast *cast = member->cast;
	const struct member *other = cast_find(cast, nid);
	uint32_t place = 0;

	if (nid == SCOLL_NID_ANY)
		place = member->place;
	else if (other != NULL)
		place = member->places[other - cast->members];
	if (place == 0)
		return -ENOENT;
	if (*size < cast->place_size)
		return -ENOSPC;
	*size = place_write(cast, place, ret_bytes);
	return 0;
}

int cast_place_learn(void *ctx, scoll_nid_t nid, const void *bytes, size_t size)
{
	struct member *member = ctx;
	struct cast *cast = member->cast;
	const struct member *other = cast_find(cast, nid);
	uint32_t place = place_read(cast, bytes, size);

	member->lessons++;
	assert_non_null(other);
	if (place == 0)
		return -EINVAL;
	member->places[other - cast->members] = place;
	return 0;
}

void cast_place_tell(struct cast *cast, int to, int of)
{
	cast->members[to].places[of] = cast->members[of].place;
}

int cast_place_count(const struct cast *cast, int index)
{
	int count = 0;

	for (int i = 0; i < cast->count; i++)
		count += cast->members[index].places[i] != 0;
	return count;
}

void cast_init_placed(struct cast *cast, int count, scoll_tree_type_t tree,
		      size_t place_size)
{
	cast_init_sealed(cast, count, tree);
	cast->place_size = place_size;
	for (int i = 0; i < count; i++) {
		cast_kill(cast, i);
		cast_start(cast, i);
	}
	for (int i = 1; i < count; i++)
		cast_place_tell(cast, 0, i);
}
