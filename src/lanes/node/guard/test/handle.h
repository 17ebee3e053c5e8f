/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "lanes/node/guard/core.h"

/*
 * One request by itself, while none waits. Its reply, without a length, is
 * appended to an empty writer. Errors: those of guard_take().
 */
int guard_handle(struct guard *guard, const void *request, size_t size,
		 struct writer *reply);
