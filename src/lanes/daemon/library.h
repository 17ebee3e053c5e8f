/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libscoll, loaded while we run. With it come libfabric and the libraries that
 * that needs, which handle signals and read the environment as soon as they
 * are there: nothing for a guard, nor for root. So the daemon is not linked
 * with it, and the functions of scoll.h are here, once it is loaded.
 */
#pragma once

#include "base/error.h"

/*
 * Before there is a thread, and after the guard was forked and privileges were
 * given up. libfabric takes nothing from the environment after this but
 * FI_LOG_*, and loads `provider` alone. -ELIBACC, with a text that says what to
 * do.
 */
int library_open(const char *provider, struct fairlead_error *ret_error);
