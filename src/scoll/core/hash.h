/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uthash that survives the end of memory: what could not be added says so, and
 * is not in the table.
 */
#pragma once

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define hash_was_added(element) ((element)->hh.tbl != NULL)
