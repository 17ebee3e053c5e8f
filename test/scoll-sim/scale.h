/* SPDX-License-Identifier: BSD-3-Clause */
/* One cluster as large as can be: how long, how much memory, how good. */
#pragma once

#include <stdint.h>

/* 0, or 1 when something is not as it has to be. */
int scale_run(uint32_t node_count);
