/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the core's tables, besides base/memory.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* After each HASH_ADD: uthash asks for memory of its own. */
#define memory_added(handle, element) memory_have((element)->handle.tbl)

static inline char *memory_text_or_null(const char *text)
{
	return text == NULL ? NULL : memory_text(text);
}

/* The capacity to grow to when `count` elements are full. */
static inline size_t memory_more(size_t count)
{
	return count < 4 ? 4 : count + count / 2;
}
