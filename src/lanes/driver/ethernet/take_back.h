/* SPDX-License-Identifier: BSD-3-Clause */
/* What was made for lanes, taken away again. */
#pragma once

#include "lanes/driver/ethernet/found.h"

/* Devices of one lane, and what came of them. */
struct take_back {
	const struct found_device *devices; /* borrowed */
	size_t count;
	bool has_no_rules;           /* they were not written yet */
	struct fairlead_error error; /* code 0: they are gone */
};

/*
 * Take devices of lanes away, with their classes, rules and gates:
 *
 *	down | class | deleted | rules, gates
 *
 * Each step is done for all lanes before the next one; devices in one namespace
 * are deleted at once. They carry nothing from the first step on. A device
 * whose class is held by somebody else's object stays, down, as the record of
 * it: -EBUSY; and one in a namespace that cannot be entered, as it is. The
 * others go all the same. A lane's errors are joined, -EBUSY first.
 */
void take_back_all(const struct ethernet_node *node, struct take_back *lanes,
		   size_t count);
/* The same for one lane. */
int take_back(const struct ethernet_node *node,
	      const struct found_device *devices, size_t count,
	      struct fairlead_error *ret_error);
/*
 * Delete the namespace of a lane that was taken back; while a device of ours is
 * in it, also of another lane, it stays, since nobody could find that one any
 * more.
 */
int take_back_namespace(const struct ethernet_node *node, uint64_t grant_id,
			struct fairlead_error *ret_error);
/*
 * The same of other jobs' namespaces, to which somebody had moved devices of
 * the lane of that grant, once no lane is left there that has or had its
 * devices there.
 */
void take_back_other_namespaces(const struct ethernet_node *node,
				uint64_t grant_id,
				const struct found_device *devices,
				size_t count);
/* What take_back would say now, as far as can be known. */
int take_back_try(const struct ethernet_node *node,
		  const struct found_device *devices, size_t count,
		  struct fairlead_error *ret_error);
