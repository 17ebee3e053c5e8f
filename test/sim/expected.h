/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that the simulation is meant to try, and what it cannot reach. */
#pragma once

#include "coverage.h"

void expected_add(struct coverage *coverage);
