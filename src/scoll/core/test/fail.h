/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocations of a core that fail. Programs that include this link fail.c. */
#pragma once

#include <stdint.h>

struct scoll_core;

/* The k-th allocation from now on fails; 0: none does. */
void scoll_core_fail_at(const struct scoll_core *core, uint64_t k);
/* Allocations up to the one that fails; 0: it has failed, or none does. */
uint64_t scoll_core_fail_left(const struct scoll_core *core);
