/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What no device is left for, taken away at a start, and by a revoke whose
 * record names a device that is gone.
 */
#pragma once

#include "lanes/driver/ethernet/found.h"

/*
 * Classes that no device names, HTB itself where the site has no shaping any
 * more, and namespaces that no lane is in. What is somebody else's stays, with
 * what it hangs on. Nothing of it lets anybody do anything; the next start
 * tries again. Not while a lane is being made. found: all that is there. The
 * first error, with a text, is of a class that stays: its rate is reserved for
 * nobody.
 */
int sweep(const struct ethernet_node *node, const struct underlays *underlays,
	  const struct found *found, struct fairlead_error *ret_error);
/* Read what is there now, and sweep. */
int sweep_now(const struct ethernet_node *node,
	      struct fairlead_error *ret_error);
/* Delete that namespace if no lane's devices are in it, nor ever were to be. */
void namespace_sweep(const struct ethernet_node *node, uint64_t grant_id);
