/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands in programs of their own, as git has them: `fairlead NAME` runs
 * fairlead-NAME of ../lib/fairlead/commands, seen from this program's folder, or
 * of the build tree.
 */
#pragma once

/* Become the command that words[0] names. Returns when there is none. */
void external_exec(char **words);
/* The names of all, "cluster, run"; "" when there are none. */
char *external_names(void);
