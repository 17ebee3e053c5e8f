/* SPDX-License-Identifier: BSD-3-Clause */
/* What was made for lanes, taken away again. */
#pragma once

#include "driver/ethernet/found.h"

/*
 * Take devices of one lane away, with their classes, rules and gates, and with its
 * namespace when nothing of the lane is left:
 *
 *	down | class | deleted | rules, gates | namespace
 *
 * They carry nothing from the first step on. A device whose class is held by
 * somebody else's object stays, down, as the record of it: -EBUSY; the others go
 * all the same. Errors are joined, -EBUSY first.
 */
int take_back(const struct ethernet_node *node,
	      const struct found_device *devices, size_t count,
	      struct fairlead_error *ret_error);
/* What that would say now, as far as can be known. */
int take_back_try(const struct ethernet_node *node,
		  const struct found_device *devices, size_t count,
		  struct fairlead_error *ret_error);
