/* SPDX-License-Identifier: BSD-3-Clause */
/* Copy foreign text into a fixed buffer. */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/text.h"

/* Copy, clean, into capacity bytes; what is too long ends in "...". */
static inline void text_fit(char *to, size_t capacity, const char *from)
{
	size_t size = strnlen(from, capacity);

	memcpy(to, from, size < capacity ? size + 1 : capacity);
	if (size == capacity)
		text_cut(to, capacity);
	text_clean(to);
}
