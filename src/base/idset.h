/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of small numbers (VNIs, contexts), as a bitmap over [0, limit).
 * Text form: "1024-65535" or "2,4-7"; the empty set is "".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

#define IDSET_LIMIT_MAX (1u << 24)
#define IDSET_NONE      UINT32_MAX

struct idset;

/* An empty set of numbers below limit. -EINVAL over IDSET_LIMIT_MAX, -ENOMEM. */
int idset_create(uint32_t limit, struct idset **ret_set);
int idset_clone(const struct idset *set, struct idset **ret_set);
void idset_destroy(struct idset *set);
DEFINE_AUTO(struct idset, idset_destroy)

/* Numbers in the set; kept, not counted. */
uint32_t idset_count(const struct idset *set);
/* False for a number at or over the limit. */
bool idset_has(const struct idset *set, uint32_t id);
/* Adding what is there, or removing what is not, is no error. id < limit. */
void idset_add(struct idset *set, uint32_t id);
void idset_remove(struct idset *set, uint32_t id);
/* The lowest member that is >= from, or IDSET_NONE. */
uint32_t idset_next(const struct idset *set, uint32_t from);
/* set |= other; set &= ~other; set &= other. The limits are equal. */
void idset_unite(struct idset *set, const struct idset *other);
void idset_subtract(struct idset *set, const struct idset *other);
void idset_intersect(struct idset *set, const struct idset *other);
bool idset_equal(const struct idset *set, const struct idset *other);

#define idset_foreach(id, set)                                   \
	for (uint32_t id = idset_next(set, 0); id != IDSET_NONE; \
	     id = idset_next(set, id + 1))

/*
 * Parse text form. -EINVAL (with the offending part in the text) for bad
 * syntax, a range that runs backwards, or a number at or over limit.
 * Overlaps are allowed.
 */
int idset_parse(const char *text, uint32_t limit, struct idset **ret_set,
		struct fairlead_error *ret_error);
/* Text form, allocated; the caller frees it. NULL when memory is out. */
char *idset_format(const struct idset *set);
