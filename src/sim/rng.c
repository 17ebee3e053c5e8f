/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xoshiro256** (Blackman and Vigna), whose state is filled by splitmix64 so
 * that near seeds give unlike rows and the state is never all zero. Bytes are
 * taken from each number lowest first, whatever the machine's byte order.
 */
#include "sim/rng.h"

#include <assert.h>

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t rotate(uint64_t value, int bits)
{
	return value << bits | value >> (64 - bits);
}

void sim_rng_init(struct sim_rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		rng->state[i] = splitmix64(&seed);
}

uint64_t sim_rng_u64(struct sim_rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t value = rotate(s[1] * 5, 7) * 9;
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = rotate(s[3], 45);
	return value;
}

uint64_t sim_rng_below(struct sim_rng *rng, uint64_t n)
{
	uint64_t value;
	uint64_t excess;

	assert(n > 0);
	/* 2^64 mod n numbers too many: the lowest ones are drawn again. */
	excess = -n % n;
	do {
		value = sim_rng_u64(rng);
	} while (value < excess);
	return value % n;
}

bool sim_rng_chance(struct sim_rng *rng, uint32_t per_million)
{
	return sim_rng_below(rng, 1000000) < per_million;
}

static void fill(void *ctx, void *bytes, size_t size)
{
	uint8_t *at = bytes;
	uint64_t value = 0;

	for (size_t i = 0; i < size; i++) {
		value = i % 8 == 0 ? sim_rng_u64(ctx) : value >> 8;
		at[i] = (uint8_t)value;
	}
}

struct rng_seam sim_rng_seam(struct sim_rng *rng)
{
	static const struct rng_ops ops = { .fill = fill };

	return (struct rng_seam){ .ops = &ops, .ctx = rng };
}
