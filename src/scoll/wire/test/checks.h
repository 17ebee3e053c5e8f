/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of the wire format check; to be included after cmocka.h. */
#pragma once

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"

static inline void assert_golden(const char *hex, const uint8_t *bytes,
				 size_t size)
{
	uint8_t golden[SCOLL_BCAST_MAX];
	size_t golden_size;

	assert_int_equal(sodium_hex2bin(golden, sizeof(golden), hex,
					strlen(hex), NULL, &golden_size, NULL),
			 0);
	assert_int_equal(size, golden_size);
	assert_memory_equal(bytes, golden, size);
}

static inline enum wire_result open_at(const void *bytes, size_t size,
				       struct sample_node *node,
				       struct wire_message *ret)
{
	/* Exactly so many bytes, so that a read behind them is seen. */
	uint8_t *copy = malloc(size > 0 ? size : 1);
	enum wire_result result;

	memcpy(copy, bytes, size);
	result = wire_message_open(copy, size,
				   node != NULL ? &node->auth : NULL, ret);
	free(copy);
	return result;
}

/* Bytes of a message are something else: what opening it says then. */
struct change {
	size_t offset;
	size_t size;
	uint64_t value;
	enum wire_result result;
};

static inline void assert_changes(const uint8_t *bytes, size_t size,
				  const struct change *changes, size_t count,
				  enum wire_result (*open)(const uint8_t *bytes,
							   size_t size))
{
	for (size_t i = 0; i < count; i++) {
		uint8_t copy[SCOLL_BCAST_MAX];

		memcpy(copy, bytes, size);
		memcpy(copy + changes[i].offset, &changes[i].value,
		       changes[i].size);
		if (open(copy, size) != changes[i].result)
			fail_msg("change %zu at %zu", i, changes[i].offset);
	}
}
