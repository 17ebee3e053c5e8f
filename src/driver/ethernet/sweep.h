/* SPDX-License-Identifier: BSD-3-Clause */
/* What no device is left for, taken away when the node half starts. */
#pragma once

#include "driver/ethernet/found.h"

/*
 * Classes that no device names, HTB itself where the site has no shaping any more,
 * and namespaces that no lane is in. What is somebody else's stays, with what it
 * hangs on. Nothing of it lets anybody do anything, so that an error is none:
 * the next start tries again. Not while a lane is being made. found: all that is
 * there.
 */
void sweep(const struct ethernet_node *node, const struct underlays *underlays,
	   const struct found *found);
/* The same, of what is there now. */
void sweep_again(const struct ethernet_node *node);
