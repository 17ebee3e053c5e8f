/* SPDX-License-Identifier: BSD-3-Clause */
/* Capabilities of the guard. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/*
 * Give up every capability but the guard's own and `more` (bits 1 << CAP_x,
 * what its drivers need), for good. What is not there cannot be given up: a
 * guard without privileges stays without.
 */
int privileges_drop(uint64_t more, struct fairlead_error *ret_error);
