/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is an instance of Flux inside a job? It has no lanes to give then: its jobs
 * share that of the job, and their ids are others' outside. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Which variables of a broker tell. */
extern const char *const inside_variables[];
extern const size_t inside_variable_count;

/*
 * level: the attribute instance-level; NULL: it is not known. is_there: has the
 * broker this variable? Returns what it is inside of, for people; NULL:
 * nothing.
 */
const char *inside_find(const char *level,
			bool (*is_there)(void *arg, const char *name),
			void *arg);
