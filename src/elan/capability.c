/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which capabilities are valid, which are the same, and their bytes. */
#include "elan/capability.h"

#include <errno.h>
#include <string.h>

#define NODE_INVALID 0xffff

_Static_assert(sizeof(struct elan_capability) == CAPABILITY_SIZE,
	       "the layout is what programs were compiled with");

void capability_init(struct elan_capability *ret_cap)
{
	*ret_cap = (struct elan_capability){
		.cap_userkey.key_values = { UINT32_MAX, UINT32_MAX, UINT32_MAX,
					    UINT32_MAX },
		.cap_version = ELAN_CAP_VERSION_NUMBER,
		.cap_type = UINT16_MAX,
		.cap_lowcontext = ELAN_CAP_UNINITIALISED,
		.cap_highcontext = ELAN_CAP_UNINITIALISED,
		.cap_mycontext = ELAN_CAP_UNINITIALISED,
		.cap_lownode = ELAN_CAP_UNINITIALISED,
		.cap_highnode = ELAN_CAP_UNINITIALISED,
		.cap_railmask = UINT32_MAX,
	};
}

static int64_t count_of(int32_t low, int32_t high)
{
	return (int64_t)high - low + 1;
}

static bool is_range(int32_t low, int32_t high)
{
	return low != ELAN_CAP_UNINITIALISED &&
	       high != ELAN_CAP_UNINITIALISED && low <= high;
}

int capability_check(const struct elan_capability *cap)
{
	uint16_t type = cap->cap_type & ELAN_CAP_TYPE_MASK;
	uint32_t rails = (UINT32_C(1) << ELAN_MAX_RAILS) - 1;

	if (cap->cap_version != ELAN_CAP_VERSION_NUMBER)
		return -EINVAL;
	if (cap->cap_type & ELAN_CAP_TYPE_HWTEST)
		return -EINVAL;
	if (type != ELAN_CAP_TYPE_BLOCK && type != ELAN_CAP_TYPE_CYCLIC)
		return -EINVAL;
	if (!is_range(cap->cap_lowcontext, cap->cap_highcontext) ||
	    !is_range(cap->cap_lownode, cap->cap_highnode))
		return -EINVAL;
	if (cap->cap_mycontext != ELAN_CAP_UNINITIALISED)
		return -EINVAL;
	if (cap->cap_lowcontext < ELAN_RMS_BASE_CONTEXT_NUM ||
	    cap->cap_highcontext > ELAN_RMS_TOP_CONTEXT_NUM ||
	    cap->cap_lownode < 0 || cap->cap_highnode >= NODE_INVALID)
		return -EINVAL;
	if (count_of(cap->cap_lowcontext, cap->cap_highcontext) *
		    count_of(cap->cap_lownode, cap->cap_highnode) >
	    ELAN_MAX_VPS)
		return -EINVAL;
	if ((cap->cap_railmask & rails) == 0 || (cap->cap_railmask & ~rails))
		return -EINVAL;
	return 0;
}

uint32_t capability_context_count(const struct elan_capability *cap)
{
	return (uint32_t)count_of(cap->cap_lowcontext, cap->cap_highcontext);
}

uint32_t capability_node_count(const struct elan_capability *cap)
{
	return (uint32_t)count_of(cap->cap_lownode, cap->cap_highnode);
}

/* Bits of the bitmap that mean something. */
static uint32_t bit_count(const struct elan_capability *cap)
{
	int64_t contexts = count_of(cap->cap_lowcontext, cap->cap_highcontext);
	int64_t nodes = count_of(cap->cap_lownode, cap->cap_highnode);

	if (contexts <= 0 || nodes <= 0)
		return 0;
	if (contexts > ELAN_MAX_VPS || nodes > ELAN_MAX_VPS ||
	    contexts * nodes > ELAN_MAX_VPS)
		return ELAN_MAX_VPS;
	return (uint32_t)(contexts * nodes);
}

static size_t word_count(const struct elan_capability *cap)
{
	return (bit_count(cap) + 31) / 32;
}

uint32_t capability_process_count(const struct elan_capability *cap)
{
	uint32_t bits = bit_count(cap);
	uint32_t count = 0;

	if (cap->cap_type & ELAN_CAP_TYPE_NO_BITMAP)
		return bits;
	for (uint32_t i = 0; i < bits; i++)
		count += cap->cap_bitmap[i / 32] >> i % 32 & 1;
	return count;
}

static bool is_cyclic(const struct elan_capability *cap)
{
	return (cap->cap_type & ELAN_CAP_TYPE_MASK) == ELAN_CAP_TYPE_CYCLIC;
}

static uint32_t bit_of(const struct elan_capability *cap, uint32_t node,
		       uint32_t context)
{
	return is_cyclic(cap) ? node + context * capability_node_count(cap)
			      : context + node * capability_context_count(cap);
}

static bool has_bit(const struct elan_capability *cap, uint32_t bit)
{
	return (cap->cap_type & ELAN_CAP_TYPE_NO_BITMAP) ||
	       (cap->cap_bitmap[bit / 32] >> bit % 32 & 1);
}

bool capability_has_process(const struct elan_capability *cap, uint32_t node,
			    uint32_t context)
{
	return has_bit(cap, bit_of(cap, node, context));
}

int capability_locate(const struct elan_capability *cap, uint32_t rank,
		      uint32_t *ret_node, uint32_t *ret_context)
{
	uint32_t nodes = capability_node_count(cap);
	uint32_t contexts = capability_context_count(cap);
	uint32_t left = rank;

	for (uint32_t i = 0; i < nodes * contexts; i++) {
		if (!has_bit(cap, i) || left-- > 0)
			continue;
		*ret_node = is_cyclic(cap) ? i % nodes : i / contexts;
		*ret_context = is_cyclic(cap) ? i / nodes : i % contexts;
		return 0;
	}
	return -ENOENT;
}

int capability_rank_of(const struct elan_capability *cap, uint32_t node,
		       uint32_t context)
{
	uint32_t bit = bit_of(cap, node, context);
	int rank = 0;

	if (!has_bit(cap, bit))
		return -ENOENT;
	for (uint32_t i = 0; i < bit; i++)
		rank += has_bit(cap, i);
	return rank;
}

size_t capability_size(const struct elan_capability *cap)
{
	return CAPABILITY_HEAD_SIZE + 4 * word_count(cap);
}

void capability_write(const struct elan_capability *cap, struct writer *writer)
{
	for (size_t i = 0; i < 4; i++)
		write_u32(writer, cap->cap_userkey.key_values[i]);
	write_u32(writer, (uint32_t)cap->cap_version);
	write_u16(writer, cap->cap_type);
	write_u16(writer, cap->cap_spare);
	write_u32(writer, (uint32_t)cap->cap_lowcontext);
	write_u32(writer, (uint32_t)cap->cap_highcontext);
	write_u32(writer, (uint32_t)cap->cap_mycontext);
	write_u32(writer, (uint32_t)cap->cap_lownode);
	write_u32(writer, (uint32_t)cap->cap_highnode);
	write_u32(writer, cap->cap_railmask);
	for (size_t i = 0; i < word_count(cap); i++)
		write_u32(writer, cap->cap_bitmap[i]);
}

void capability_read(struct reader *reader, struct elan_capability *ret_cap)
{
	struct elan_capability cap = { 0 };

	for (size_t i = 0; i < 4; i++)
		cap.cap_userkey.key_values[i] = read_u32(reader);
	cap.cap_version = (int32_t)read_u32(reader);
	cap.cap_type = read_u16(reader);
	cap.cap_spare = read_u16(reader);
	cap.cap_lowcontext = (int32_t)read_u32(reader);
	cap.cap_highcontext = (int32_t)read_u32(reader);
	cap.cap_mycontext = (int32_t)read_u32(reader);
	cap.cap_lownode = (int32_t)read_u32(reader);
	cap.cap_highnode = (int32_t)read_u32(reader);
	cap.cap_railmask = read_u32(reader);
	for (size_t i = 0; i < word_count(&cap); i++)
		cap.cap_bitmap[i] = read_u32(reader);
	*ret_cap = cap;
}

bool capability_has_key_of(const struct elan_capability *cap,
			   const struct elan_capability *other)
{
	uint32_t difference = 0;

	for (size_t i = 0; i < 4; i++)
		difference |= cap->cap_userkey.key_values[i] ^
			      other->cap_userkey.key_values[i];
	return difference == 0;
}

bool capability_is_like(const struct elan_capability *cap,
			const struct elan_capability *other)
{
	if (cap->cap_version != other->cap_version ||
	    cap->cap_type != other->cap_type ||
	    cap->cap_lowcontext != other->cap_lowcontext ||
	    cap->cap_highcontext != other->cap_highcontext ||
	    cap->cap_lownode != other->cap_lownode ||
	    cap->cap_highnode != other->cap_highnode ||
	    cap->cap_railmask != other->cap_railmask)
		return false;
	return cap->cap_type & ELAN_CAP_TYPE_NO_BITMAP ||
	       memcmp(cap->cap_bitmap, other->cap_bitmap,
		      4 * word_count(cap)) == 0;
}

bool capability_overlaps(const struct elan_capability *cap,
			 const struct elan_capability *other)
{
	return cap->cap_lowcontext <= other->cap_highcontext &&
	       other->cap_lowcontext <= cap->cap_highcontext &&
	       cap->cap_lownode <= other->cap_highnode &&
	       other->cap_lownode <= cap->cap_highnode &&
	       (cap->cap_railmask & other->cap_railmask) != 0;
}
