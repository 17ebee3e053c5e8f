/* SPDX-License-Identifier: BSD-3-Clause */
/* libsodium's generator asks the kernel; it needs no sodium_init() for that. */
#include "sys/rng.h"

#include <sodium.h>

static void fill(void *ctx, void *bytes, size_t size)
{
	randombytes_buf(bytes, size);
}

struct rng_seam sys_rng(void)
{
	static const struct rng_ops ops = { .fill = fill };

	return (struct rng_seam){ .ops = &ops };
}
