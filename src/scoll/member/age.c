/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inner loops of gossip: every byte of every view passes here. The loops
 * over a block have a fixed length so that compilers use vectors; bits are
 * collected from eight bytes at a time.
 */
#include "scoll/member/age.h"

#include <string.h>

#define EVERY(byte) (UINT64_C(0x0101010101010101) * (byte))

static uint8_t step_of(uint64_t cycles)
{
	return cycles > AGE_MAX ? 2 * AGE_MAX + 1 : (uint8_t)(2 * cycles);
}

void age_pass(uint8_t *signs, size_t count, uint64_t cycles)
{
	uint8_t step = step_of(cycles);
	uint8_t most = (uint8_t)(AGE_UNKNOWN - step);

	for (size_t at = 0; at < count; at += AGE_BLOCK) {
		for (size_t i = 0; i < AGE_BLOCK; i++) {
			uint8_t sign = signs[at + i];

			sign = sign < most ? sign : most;
			signs[at + i] = (uint8_t)(sign + step);
		}
	}
}

static void merge_block(uint8_t *signs, const uint8_t *theirs, uint8_t step)
{
	uint8_t most = (uint8_t)(AGE_UNKNOWN - step);

	for (size_t i = 0; i < AGE_BLOCK; i++) {
		uint8_t sign = theirs[i] < most ? theirs[i] : most;

		sign = (uint8_t)(sign + step);
		signs[i] = signs[i] < sign ? signs[i] : sign;
	}
}

void age_merge(uint8_t *signs, const uint8_t *theirs, size_t count,
	       uint64_t lag)
{
	uint8_t step = step_of(lag);
	size_t whole = count / AGE_BLOCK * AGE_BLOCK;

	for (size_t at = 0; at < whole; at += AGE_BLOCK)
		merge_block(signs + at, theirs + at, step);
	if (whole < count) {
		uint8_t rest[AGE_BLOCK];

		memset(rest, AGE_UNKNOWN, sizeof(rest));
		memcpy(rest, theirs + whole, count - whole);
		merge_block(signs + whole, rest, step);
	}
}

/* Bit 7 of each byte that is at most `most` < 127. */
static uint64_t at_most(uint64_t bytes, unsigned int most)
{
	uint64_t low = EVERY(0x80 | most) - (bytes & EVERY(0x7f));

	return low & ~bytes & EVERY(0x80);
}

/* Bit 7 of each byte, collected: the lowest byte's first. */
static uint64_t pack(uint64_t bytes)
{
	return (bytes >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

static uint64_t pick(const uint8_t *block, unsigned int most, uint64_t flip)
{
	uint64_t bits = 0;

	for (unsigned int i = 0; i < AGE_BLOCK / 8; i++) {
		uint64_t bytes = 0;

		for (unsigned int k = 0; k < 8; k++)
			bytes |= (uint64_t)block[8 * i + k] << 8 * k;
		bits |= pack(at_most(bytes, most) & (bytes ^ flip) << 7)
			<< 8 * i;
	}
	return bits;
}

uint64_t age_alive(const uint8_t *block, unsigned int age)
{
	return pick(block, 2 * age + 1, 0);
}

uint64_t age_left(const uint8_t *block, unsigned int age)
{
	return pick(block, 2 * age + 1, EVERY(1));
}
