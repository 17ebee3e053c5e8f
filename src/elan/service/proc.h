/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What /proc says of processes. Texts of a process's own making are in it (its
 * name, the names of cgroups that were given to users): nothing is believed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elan/core/keeper.h"

/* Of /proc/PID/stat. Times are clock ticks. */
struct proc_stat {
	int32_t pid;
	char state;
	int32_t parent;
	int32_t session;
	uint64_t faults;        /* minor and major */
	uint64_t waited_faults; /* of children that were waited for */
	uint64_t user;
	uint64_t system;
	uint64_t waited_user;
	uint64_t waited_system;
	uint64_t threads; /* with the first one, also when that has ended */
	uint64_t start;
	uint64_t pages; /* resident */
};

/* -EPROTO. */
int proc_stat_parse(const char *text, struct proc_stat *ret_stat);
/* The path in the hierarchy of version 2. -ENOENT: there is none; -EPROTO. */
int proc_cgroup_parse(const char *text, char *ret_path, size_t capacity);
/* Are all four ids of "Uid:" this one. */
bool proc_is_users(const char *text, uint32_t uid);
/* Where cgroup version 2 is mounted as a whole. -ENOENT. */
int proc_mount_parse(const char *text, char *ret_path, size_t capacity);

/* A zombie, or less; not one whose first thread has ended before others. */
static inline bool proc_stat_is_dead(const struct proc_stat *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
}

/* A whole file of /proc, ended by a zero: its size. -ESRCH, ... */
int proc_read(const char *path, char *text, size_t capacity);
/* As proc_read, allocated; for files without a known size. */
int proc_read_alloc(const char *path, char **ret_text);
/* -ESRCH. */
int proc_stat(int32_t pid, struct proc_stat *ret_stat);
int proc_cgroup(int32_t pid, char *ret_path, size_t capacity);
/* All processes, allocated. */
int proc_stat_all(struct proc_stat **ret_stats, size_t *ret_count);

/* A descriptor of this very process, which the caller closes. -ESRCH. */
int proc_open(const struct rms_process *process);
/* Has the process of a descriptor ended. */
bool proc_has_ended(int pidfd);
/* -ESRCH. */
int proc_signal(int pidfd, int number);
