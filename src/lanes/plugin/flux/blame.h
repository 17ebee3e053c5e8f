/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of the nodes that failed a job are to be drained: an array of failures,
 * {"nodes", "errno", "text"} each. Pure.
 *
 * A node that is full is none that has failed: it serves the jobs that it has,
 * and a user of many small ones could have nodes drained one by one. Nor is one
 * that was started again meanwhile: it has taken its part of the lane back, and
 * takes the next. And where no node at all is connected it is the manager that
 * is cut off.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * failures: of an answer to apply; NULL: none. NULL: memory is out. The caller
 * drops it.
 */
json_t *blame_create(const json_t *failures);
/* Some of them, or all (and there are any), were only not reached. */
bool blame_has_unreached(const json_t *blamed);
bool blame_is_unreached(const json_t *blamed);
/* Take out those that were not reached. */
void blame_remove_unreached(json_t *blamed);
