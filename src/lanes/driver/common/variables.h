/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane's record on a node as drivers keep it: the variables of its tasks,
 * NAME=VALUE with a zero behind each, in the order of the driver's list. What
 * is there to be taken back is always asked of the devices. A lane without
 * anything on the node has an empty record. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "fairlead_driver.h"

/* Add the next one; those of a driver fit. A value is printable ASCII, not "". */
void variables_add(struct fairlead_record *record, const char *name,
		   const char *value);
/*
 * -EBADMSG with a text: the record is not empty, nor has it exactly these names
 * (ended by NULL) in this order, with values that can be.
 */
int variables_check(const struct fairlead_record *record,
		    const char *const *names, struct fairlead_error *ret_error);
/* The value in a record that was checked; NULL: it is empty. */
const char *variables_get(const struct fairlead_record *record,
			  const char *name);
/* As fairlead_node_ops has env. */
int variables_env(const char *const *names, const struct fairlead_lane *lane,
		  const struct fairlead_record *record,
		  void (*emit)(void *arg, const char *name, const char *value),
		  void *arg, struct fairlead_error *ret_error);

/* Add an item to a value that is a list with commas, of capacity bytes. */
void variables_append(char *list, size_t capacity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Take the next item off such a list; *list is what is behind it, or NULL.
 * False: there is none, or it does not fit in item, and then *list is NULL.
 */
bool variables_next(const char **list, char *item, size_t capacity);
