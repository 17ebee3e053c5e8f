/* SPDX-License-Identifier: BSD-3-Clause */
/* Structs that begin with their size, so that they can grow at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether a struct of `size` bytes says nothing that one of `known` bytes has
 * no space for: what is behind those is 0.
 */
static inline bool versioned_is_known(const void *bytes, size_t size,
				      size_t known)
{
	for (size_t i = known; i < size; i++) {
		if (((const uint8_t *)bytes)[i] != 0)
			return false;
	}
	return true;
}
