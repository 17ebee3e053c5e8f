/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `scontrol show config` prints: the configuration that Slurm's controller
 * goes by, a line `Name = value` each. Pure.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * The value of the first line with this name; NULL: there is none, or it is not
 * set. The caller frees it.
 */
char *slurm_setting(const char *text, const char *name);

/*
 * The index-th value of a setting that there may be several of: Name, or, since
 * Slurm 24.11, Name[0], Name[1] and so on. As above.
 */
char *slurm_setting_at(const char *text, const char *name, size_t index);

/*
 * Is the word in a value with commas between? Letters' case does not count.
 * value may be NULL.
 */
bool slurm_setting_has(const char *value, const char *word);

/* Of a value like `slurm(64030)`; false: it is none. value may be NULL. */
bool slurm_setting_uid(const char *value, uid_t *ret_uid);
