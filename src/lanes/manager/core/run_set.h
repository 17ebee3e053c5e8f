/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs that are taken: each a run of identifiers on a range of positions, its
 * area. No two areas have an identifier on a position in common. To add, to
 * remove and to ask cost the logarithm of RUN_SET_POSITIONS, whatever is there;
 * memory is what the areas take.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fairlead_driver.h"

#define RUN_SET_POSITIONS FAIRLEAD_POSITIONS_MAX
#define RUN_SET_IDS_MAX   FAIRLEAD_RUN_IDS_MAX
#define RUN_SET_WORDS_MAX (RUN_SET_IDS_MAX / 64)

struct run_set_node;

struct run_set {
	uint32_t words; /* of 64 identifiers each */
	struct run_set_node *root;
};

/* Ranges include both their ends. */
struct run_area {
	uint32_t low, high;   /* positions, below RUN_SET_POSITIONS */
	uint32_t first, last; /* identifiers, below the limit */
};

/* An empty set, of identifiers below limit, at most RUN_SET_IDS_MAX. */
void run_set_init(struct run_set *set, uint32_t limit);
void run_set_fini(struct run_set *set);

/* Nothing in the area is busy. */
bool run_set_is_free(const struct run_set *set, const struct run_area *area);
/* It is free. */
void run_set_add(struct run_set *set, const struct run_area *area);
/* It was added so. */
void run_set_remove(struct run_set *set, const struct run_area *area);

/* Identifiers that are busy on some position from low to high, as a bitmap. */
void run_set_busy(const struct run_set *set, uint32_t low, uint32_t high,
		  uint64_t busy[RUN_SET_WORDS_MAX]);
