/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of an environment file. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "fairlead.h"

/* Both point into the text. */
struct env_variable {
	char *name;
	char *value; /* NULL: to be unset */
};

/*
 * Cut a text of size bytes, ended by a zero, into variables: how many, or
 * -EBADMSG with a text that has the line and nothing of it.
 */
int env_parse(char *text, size_t size,
	      struct env_variable ret_variables[FAIRLEAD_VARIABLES_MAX],
	      struct fairlead_error *ret_error);
