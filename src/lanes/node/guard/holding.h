/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the grant of an object on a device. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fairlead_driver.h"

/* The part of a grant that identifies its objects. Borrowed. */
struct holding {
	const char *driver;
	uint32_t uid;
	const uint32_t *ids;
	size_t id_count;
};

/* Does this object, which the driver has listed, belong to the grant? */
bool holding_has(const struct holding *holding, const char *driver,
		 const struct fairlead_object *object);
