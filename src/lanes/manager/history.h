/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a grant that is gone, from its events. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lanes/manager/store/row.h"

/*
 * Add to an item of `explain` (doc/rfc/client-protocol.md, "gone") what the
 * event rows of its grant say. Rows that are no events are passed over.
 */
void history_add(json_t *item, const struct store_row *rows, size_t count);
