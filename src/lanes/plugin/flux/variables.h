/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The variables by which programs find a lane, of all interconnects. Those of
 * one interconnect are a set; some names of a set are others' as well, which
 * people set for purposes of their own. A set is *there* where a name that only
 * lanes have is. A test compares this with the drivers. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct variable {
	const char *name;
	unsigned int
		set; /* a number: those of one interconnect have the same */
	bool is_own; /* nobody but Fairlead sets it */
};

#define VARIABLE_SETS 3

extern const struct variable variables[];
extern const size_t variable_count;

/*
 * Which sets are there (bit N: set N), where is_there tells whether a
 * name is.
 */
unsigned int variables_sets(bool (*is_there)(void *arg, const char *name),
			    void *arg);
