/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/core/internal.h"

/* Tests link test/fail.c instead, which makes allocations fail. */
bool scoll_core_fails(const struct scoll_core *core)
{
	return false;
}
