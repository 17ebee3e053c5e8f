/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uthash that says when memory is out, where it would end the process without
 * a word: what HASH_ADD could not add is not in the table, and has none
 * (hash_was_added). Everybody has uthash from here.
 */
#pragma once

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* By its handle's name. Asked after each HASH_ADD, and while it is in a table. */
#define hash_was_added_as(handle, element) ((element)->handle.tbl != NULL)
#define hash_was_added(element)            hash_was_added_as(hh, element)
