/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that the simulation is meant to try, and what it cannot reach. */
#pragma once

#include "coverage.h"

/* Of so many seeds less is expected than of EXPECTED_RARE_SEEDS. */
#define EXPECTED_RARE_SEEDS 10000
void expected_add(struct coverage *coverage, uint64_t seed_count);
