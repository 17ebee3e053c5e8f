/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An object belongs to the grant of its owner that has all its identifiers. It
 * is identified by these and never by its id alone, which the next object gets
 * again. One without identifiers belongs to none.
 */
#include "lanes/node/guard/holding.h"

#include <string.h>

static bool has_id(const struct holding *holding, uint32_t id)
{
	for (size_t i = 0; i < holding->id_count; i++) {
		if (holding->ids[i] == id)
			return true;
	}
	return false;
}

bool holding_has(const struct holding *holding, const char *driver,
		 const struct fairlead_object *object)
{
	if (object->id_count == 0 || object->uid != holding->uid ||
	    strcmp(holding->driver, driver) != 0)
		return false;
	for (uint32_t i = 0; i < object->id_count; i++) {
		if (!has_id(holding, object->ids[i]))
			return false;
	}
	return true;
}
