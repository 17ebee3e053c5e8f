/* SPDX-License-Identifier: BSD-3-Clause */
/* Files and directories of cgroups, by path. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GROUP_PATH_MAX 1536 /* of mount, place and file, with a zero */
#define GROUP_PREFIX   "fairlead-rms-"
#define GROUP_MARK     "trusted.fairlead-rms" /* extended attribute */

/* The number of a setting from a name, or path, that begins with "sN"; 0. */
uint32_t group_setting_of(const char *name);
/* Is a path the place or below it, and then in which setting. */
bool group_is_below(const char *path, const char *place, uint32_t *ret_setting);
/* Write one word to DIR/NAME. */
int group_write(const char *dir, const char *name, const char *text);
/*
 * The number behind a word, at the beginning of a line of DIR/NAME; or the
 * file's only number, where key is NULL. -ENOENT.
 */
int group_read_number(const char *dir, const char *name, const char *key,
		      uint64_t *ret_number);
/* 1: with processes; 0; -ENOENT. */
int group_is_populated(const char *dir);
/*
 * Call take with each process of the directory and of those below it, and with
 * the name of the one directly below dir that it is in, or "".
 */
int group_each(const char *dir,
	       int (*take)(void *arg, const char *below, int32_t pid),
	       void *arg);
/* Remove those below it that are empty. */
void group_trim(const char *dir);
/* Remove it with those below it. Absent is no error; -EBUSY: has processes. */
int group_remove(const char *dir);
/* May others than root write to it, or move processes there. */
bool group_is_others(const char *dir);
