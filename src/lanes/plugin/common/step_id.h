/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The name of a step outside the nodes: a fabric manager keeps a job's multicast
 * trees by it. Launchers set it for the tasks of each step, in the variable that
 * the driver names (driver_of_steps()). Pure.
 */
#pragma once

/* With its zero. */
#define STEP_ID_MAX 256

/*
 * Write outer, a slash and path, with single slashes: of letters, digits and
 * ._-/ only, since libfabric escapes nothing, and f for the U+0192 of Flux's
 * ids, which it writes in some locales only. Other bytes are dropped, and of
 * too long a name the beginning. outer: the step that this one is inside of,
 * or NULL.
 */
void step_id_make(const char *outer, const char *path,
		  char ret_text[STEP_ID_MAX]);
