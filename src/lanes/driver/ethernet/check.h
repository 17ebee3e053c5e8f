/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the node's networks can be what its settings say. */
#pragma once

#include "lanes/driver/ethernet/found.h"

/*
 * Rules for networks that are the site's own would cut the node off from them:
 * -EADDRINUSE with a text, and those of an earlier start go. Lanes that are
 * there keep theirs to their end: then it is no error.
 */
int check_networks(const struct ethernet_node *node, const struct found *found,
		   const char *pins, struct fairlead_error *ret_error);
/*
 * -EADDRINUSE with a text that names device and setting: a lane has an address
 * of another network, which rules for these would leave to everybody. What
 * somebody has added by hand is not the lane's, and no error.
 */
int check_lanes(const struct ethernet_node *node, const struct found *found,
		struct fairlead_error *ret_error);
