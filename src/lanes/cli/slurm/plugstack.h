/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of Slurm's plugstack.conf, which names SPANK plugins. Pure. */
#pragma once

#include <stdbool.h>

enum plugstack_kind {
	PLUGSTACK_NOTHING, /* empty, or a comment */
	PLUGSTACK_INCLUDE,
	PLUGSTACK_PLUGIN,
	PLUGSTACK_UNKNOWN, /* Slurm complains of it */
};

struct plugstack_line {
	bool is_required;      /* of a plugin; else optional */
	const char *path;      /* of a plugin; of an include a pattern */
	const char *arguments; /* of a plugin; "" */
};

/* Read a line, which is changed, and lend its parts. */
enum plugstack_kind plugstack_parse(char *line,
				    struct plugstack_line *ret_line);

/*
 * The value of the argument NAME=VALUE, the last one where there are several;
 * NULL: there is none. The caller frees it.
 */
char *plugstack_argument(const char *arguments, const char *name);

/* Is it a plugin of this file's name, in whichever folder? */
bool plugstack_is(const struct plugstack_line *line, const char *file);
