/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directory of pins: a set of programs and maps is a directory in it, so
 * that a new one can be made before the old one goes.
 *
 *	PINS/COOKIE-DIGEST-N/{lanes,counters,gate_bind4,...}
 *
 * The cookie is of the network namespace, the digest of programs and options.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define GATE_SET_NAME_MAX 64
#define GATE_SETS_MAX \
	16 /* that are listed; there are two at most, but for
				 what crashes leave */

struct gate_sets {
	size_t count;
	char names[GATE_SETS_MAX][GATE_SET_NAME_MAX];
};

/*
 * Make the directory, with the file system if need be. -EOPNOTSUPP: the kernel
 * has no such file system; -EPERM; -EEXIST: something else is there.
 */
int gate_pins_make(const char *pins, struct fairlead_error *ret_error);
/*
 * Sets whose names begin so; the directory may have others' besides, as the
 * root of the file system has. None, and no directory, is no error.
 */
int gate_pins_list(const char *pins, const char *prefix,
		   struct gate_sets *ret_sets,
		   struct fairlead_error *ret_error);
/* Remove a set: what is attached by it is so no longer. */
int gate_pins_remove(const char *pins, const char *set,
		     struct fairlead_error *ret_error);
/* Remove all sets whose names begin so but `kept` (NULL: none is kept). */
int gate_pins_keep(const char *pins, const char *prefix, const char *kept,
		   struct fairlead_error *ret_error);
