/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uthash that says when memory is out: what HASH_ADD could not add has no
 * table afterwards (hash_was_added).
 */
#pragma once

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define hash_was_added(element) ((element)->hh.tbl != NULL)
