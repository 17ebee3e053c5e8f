/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signs of life, one byte a node: 2 * age + 1 where the node was alive then,
 * 2 * age where it said that it leaves; ages in cycles, at most 127. Of two
 * signs the lower byte is the younger one, and a leave wins over the sign of
 * life of the same cycle: so two views are merged by the lower of each byte,
 * in any order and as often as one likes.
 *
 * Views are worked on in blocks of 64 nodes; their memory is whole blocks, and
 * what is behind the last node is AGE_UNKNOWN.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define AGE_BLOCK    64
#define AGE_MAX      127
#define AGE_UNKNOWN  255 /* older than an age can say, or never seen */
#define AGE_SELF     1   /* alive now */
#define AGE_LEAVES   0   /* leaves now */

#define age_of(sign) ((unsigned int)(sign) / 2)

/* `cycles` have passed. count is in whole blocks. */
void age_pass(uint8_t *signs, size_t count, uint64_t cycles);
/* Merge `count` signs of `lag` cycles ago; blocks are written whole. */
void age_merge(uint8_t *signs, const uint8_t *theirs, size_t count,
	       uint64_t lag);
/* One bit a node of the block: alive at most `age` cycles ago; age < 63. */
uint64_t age_alive(const uint8_t *block, unsigned int age);
/* Left at most `age` cycles ago. */
uint64_t age_left(const uint8_t *block, unsigned int age);
