/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How well a driver keeps strangers out of lanes on a node, in one word, as the
 * node's summary says it. Nodes are counted by it.
 */
#pragma once

#include <jansson.h>

#include "lanes/proto/message.h"

#define LEVEL_MAX 15 /* bytes, without the zero */

struct manager_level {
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	char name[LEVEL_MAX + 1]; /* "unusable" where the driver is */
};

/*
 * False: what the node says of its driver names no level. A node can say
 * anything: a name is of [a-z0-9+-].
 */
bool level_read(const struct registration_driver *told,
		struct manager_level *ret_level);
/* Count one more, or one less, in {driver: {level: count}}. */
void level_count(json_t *counts, const struct manager_level *level,
		 bool is_more);
