/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Want of memory for the provider alone: what its library asks the C library
 * for is counted, and one of these is refused. What libfabric and cores ask for
 * is not, nor what the test itself does. Works under the sanitizers, too, since
 * the library is shown other functions instead of others being put in their
 * place.
 */
#pragma once

#include <stdbool.h>

#define REFUSE_MAX 16384 /* more are not noted */

/* What was asked for by one process, in memory that it shares. */
struct refuse {
	unsigned int refused;    /* which one is refused, from 1 on; 0: none */
	unsigned int count;      /* that were asked for */
	void *sites[REFUSE_MAX]; /* callers; equal ones from the same place */
};

/* From now on; once in a process, when the provider is loaded. */
bool refuse_begin(struct refuse *refuse);
