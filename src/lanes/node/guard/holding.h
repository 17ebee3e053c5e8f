/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose an object on a device is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fairlead_driver.h"

/* What a grant holds on this node, as far as objects tell it. Borrowed. */
struct holding {
	const char *driver;
	uint32_t uid;
	const uint32_t *ids;
	size_t id_count;
};

/* Does this object, which the driver has listed, belong to the grant? */
bool holding_has(const struct holding *holding, const char *driver,
		 const struct fairlead_object *object);
