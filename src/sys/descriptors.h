/* SPDX-License-Identifier: BSD-3-Clause */
/* How many descriptors this process may have open. */
#pragma once

#include <stddef.h>

/*
 * Have the limit raised to what is wanted, or as far as it can be; the limit
 * that holds then.
 */
size_t descriptors_want(size_t wanted);
