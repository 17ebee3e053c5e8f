/* SPDX-License-Identifier: BSD-3-Clause */
/* What the guard may do. */
#pragma once

#include "base/error.h"

/*
 * Give up every capability that the guard does not need, for good. What is not
 * there cannot be given up: a guard without privileges stays without.
 */
int privileges_drop(struct fairlead_error *ret_error);
