/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/wire/reach.h"

#include <errno.h>
#include <string.h>

#include "base/le.h"

#define FIXED_SIZE 88

size_t reach_value_size(const struct reach *r)
{
	return r->kind <= REACH_WRITE ? 1 : atomic_size(r->type);
}

size_t reach_size(const struct reach *r)
{
	size_t count = 0;

	for (unsigned int i = 0; i < r->range_count; i++)
		count += (size_t)r->ranges[i].count;
	return count * reach_value_size(r);
}

size_t reach_result_size(const struct reach *r)
{
	if (r->kind == REACH_KEY)
		return REACH_KEY_SIZE;
	if (r->kind == REACH_READ && r->rail_count > 0)
		return (size_t)r->range_count * r->rail_count *
		       REACH_WHERE_SIZE;
	if (r->kind == REACH_WRITE || r->kind == REACH_ATOMIC ||
	    r->place_count > 0)
		return 0;
	return reach_size(r);
}

/* Of the rails of a READ there is nothing to say. */
static unsigned int rails_listed(const struct reach *r)
{
	return r->kind == REACH_WRITE ? r->rail_count : 0;
}

static size_t head_size(const struct reach *r)
{
	return FIXED_SIZE + 24 * (size_t)r->range_count +
	       16 * (size_t)r->place_count + 16 * (size_t)rails_listed(r);
}

size_t reach_encode(const struct reach *r, uint8_t *bytes)
{
	uint8_t *at = bytes + FIXED_SIZE;

	bytes[0] = (uint8_t)r->kind;
	bytes[1] = (uint8_t)r->type;
	bytes[2] = (uint8_t)r->op;
	bytes[3] = (uint8_t)r->range_count;
	bytes[4] = (uint8_t)r->place_count;
	bytes[5] = (uint8_t)r->flags;
	bytes[6] = (uint8_t)r->rail_count;
	bytes[7] = 0;
	le_put64(bytes + 8, r->data);
	memcpy(bytes + 16, r->from, sizeof(r->from));
	le_put64(bytes + 80, r->process);
	for (unsigned int i = 0; i < r->range_count; i++, at += 24) {
		le_put64(at, r->ranges[i].address);
		le_put64(at + 8, r->ranges[i].count);
		le_put64(at + 16, r->ranges[i].key);
	}
	for (unsigned int i = 0; i < r->place_count; i++, at += 16) {
		le_put64(at, r->places[i].address);
		le_put64(at + 8, r->places[i].size);
	}
	for (unsigned int i = 0; i < rails_listed(r); i++, at += 16) {
		le_put64(at, r->rails[i].address);
		le_put64(at + 8, r->rails[i].key);
	}
	return head_size(r);
}

static bool operation_is_sound(const struct reach *r)
{
	switch (r->kind) {
	case REACH_READ:
	case REACH_WRITE:
	case REACH_KEY:
		return r->type == 0 && r->op == 0;
	case REACH_ATOMIC:
		return atomic_is_valid(ATOMIC_BASE, r->type, r->op);
	case REACH_FETCH:
		return atomic_is_valid(ATOMIC_FETCH, r->type, r->op);
	case REACH_COMPARE:
		return atomic_is_valid(ATOMIC_COMPARE, r->type, r->op);
	}
	return false;
}

/* Whether the sum of two is one that there can be in memory. */
static bool add(size_t *sum, uint64_t more)
{
	if (more > SIZE_MAX / ATOMIC_SIZE_MAX ||
	    *sum > SIZE_MAX / ATOMIC_SIZE_MAX - more)
		return false;
	*sum += (size_t)more;
	return true;
}

/* How many bytes of operands there have to be. */
static size_t operands_wanted(const struct reach *r)
{
	switch (r->kind) {
	case REACH_READ:
	case REACH_KEY:
		return 0;
	case REACH_FETCH:
		return r->op == ATOMIC_READ ? 0 : reach_size(r);
	case REACH_COMPARE:
		return 2 * reach_size(r);
	default:
		return r->place_count + r->rail_count > 0 ? 0 : reach_size(r);
	}
}

static bool sizes_are_sound(const struct reach *r)
{
	size_t values = 0, near = 0;

	if (r->kind == REACH_KEY &&
	    (r->range_count != 1 || r->ranges[0].count != 0 || r->flags != 0 ||
	     r->data != 0))
		return false;
	if (r->rail_count > 0 && (r->kind > REACH_WRITE || r->place_count > 0))
		return false;
	for (unsigned int i = 0; i < r->range_count; i++)
		if (!add(&values, r->ranges[i].count))
			return false;
	for (unsigned int i = 0; i < r->place_count; i++)
		if (!add(&near, r->places[i].size))
			return false;
	if (r->place_count > 0 ? near != values || r->kind > REACH_WRITE
			       : r->process != 0)
		return false;
	return r->operand_size == operands_wanted(r) &&
	       r->operand_size <= REACH_DATA_MAX &&
	       reach_result_size(r) <= REACH_DATA_MAX;
}

int reach_decode(const uint8_t *bytes, size_t size, struct reach *r)
{
	const uint8_t *at = bytes + FIXED_SIZE;

	if (size < FIXED_SIZE || bytes[3] == 0 || bytes[3] > REACH_RANGES_MAX ||
	    bytes[4] > REACH_RANGES_MAX || (bytes[5] & ~REACH_HAS_DATA) != 0 ||
	    bytes[6] > RAILS_MAX || bytes[7] != 0)
		return -EPROTO;
	*r = (struct reach){ .kind = (enum reach_kind)bytes[0],
			     .type = (enum atomic_type)bytes[1],
			     .op = (enum atomic_op)bytes[2],
			     .range_count = bytes[3],
			     .place_count = bytes[4],
			     .rail_count = bytes[6],
			     .flags = bytes[5],
			     .data = le_get64(bytes + 8),
			     .process = le_get64(bytes + 80) };
	memcpy(r->from, bytes + 16, sizeof(r->from));
	if (size < head_size(r) || !operation_is_sound(r))
		return -EPROTO;
	for (unsigned int i = 0; i < r->range_count; i++, at += 24)
		r->ranges[i] =
			(struct reach_range){ le_get64(at), le_get64(at + 8),
					      le_get64(at + 16) };
	for (unsigned int i = 0; i < r->place_count; i++, at += 16)
		r->places[i] =
			(struct reach_place){ le_get64(at), le_get64(at + 8) };
	for (unsigned int i = 0; i < rails_listed(r); i++, at += 16)
		r->rails[i] =
			(struct frame_rail){ le_get64(at), le_get64(at + 8) };
	r->operands = at;
	r->operand_size = size - head_size(r);
	return sizes_are_sound(r) ? 0 : -EPROTO;
}
