/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is busy in a plane of positions and identifiers: rectangles, each a run
 * of identifiers on a range of positions, no two of which have a point in
 * common. To add, to remove and to ask cost the logarithm of PLANE_POSITIONS,
 * whatever is there; memory is what the rectangles take.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fairlead_driver.h"

#define PLANE_POSITIONS FAIRLEAD_POSITIONS_MAX
#define PLANE_IDS_MAX   FAIRLEAD_RUN_IDS_MAX
#define PLANE_WORDS_MAX (PLANE_IDS_MAX / 64)

struct plane_node;

struct plane {
	uint32_t words; /* of 64 identifiers each */
	struct plane_node *root;
};

/* Ranges include both their ends. */
struct plane_area {
	uint32_t low, high;   /* positions, below PLANE_POSITIONS */
	uint32_t first, last; /* identifiers, below the limit */
};

/* An empty plane of identifiers below limit, at most PLANE_IDS_MAX. */
void plane_init(struct plane *plane, uint32_t limit);
void plane_fini(struct plane *plane);

/* Nothing in the area is busy. */
bool plane_is_free(const struct plane *plane, const struct plane_area *area);
/* It is free. */
void plane_add(struct plane *plane, const struct plane_area *area);
/* It was added so. */
void plane_remove(struct plane *plane, const struct plane_area *area);

/* Identifiers that are busy on some position from low to high, as a bitmap. */
void plane_busy(const struct plane *plane, uint32_t low, uint32_t high,
		uint64_t busy[PLANE_WORDS_MAX]);
