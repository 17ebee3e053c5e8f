/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keepers. *group*: a program is a cgroup of version 2, below the one that
 * its maker was in, so that what limits a job limits its programs. Its files
 * are root's; a process goes from one cgroup to another only by who may write
 * cgroup.procs of the target and of the nearest cgroup above both. Where
 * somebody else than root may write that of a cgroup above the program (it was
 * *delegated*), a member could leave: there members are known by search too,
 * and each look puts back those outside.
 *
 *	ABOVE/fairlead-rms-ID      the program; members that have set nothing
 *	ABOVE/fairlead-rms-ID/sN   members with setting N
 *
 * *search*: nothing holds members, they are looked for (search.h).
 */
#pragma once

#include "base/error.h"
#include "base/log.h"
#include "elan/core/registry.h"
#include "elan/service/proc.h"
#include "elan/service/watch.h"

enum keeper_mode {
	KEEPER_AUTO, /* group where it can be had */
	KEEPER_GROUP,
	KEEPER_SEARCH,
};

struct keeper {
	char mount[256]; /* of cgroups; group only */
	bool has_kill;   /* cgroup.kill is there (Linux 5.14) */
	int events;      /* inotify of cgroup.events; -1 with search */
	struct watches *watches;
	const char *dir; /* the daemon's, which marks its cgroups */
	const struct log *log;
};

/*
 * Choose, and try. watches, dir and log are borrowed. -ENOTSUP with a text:
 * cgroups were asked for and cannot be had. *ret_seam refers to keeper.
 */
int keeper_init(struct keeper *keeper, enum keeper_mode mode,
		struct watches *watches, const char *dir, const struct log *log,
		struct keeper_seam *ret_seam, struct fairlead_error *ret_error);
void keeper_fini(struct keeper *keeper);
/*
 * Can all programs of the registry be kept. -ENOTSUP with a text: some are in
 * cgroups, which this keeper has not.
 */
int keeper_check(const struct keeper *keeper, const struct registry *registry,
		 struct fairlead_error *ret_error);
/* Something may have come to its end: take what inotify says. */
void keeper_take_events(struct keeper *keeper);
/*
 * Of this daemon's cgroups that the registry does not know, remove those that
 * are empty; the others are in the log.
 */
void keeper_sweep(struct keeper *keeper, struct registry *registry);

/* --- among the files of keepers --- */

extern const struct keeper_ops keeper_ops;

/* Is there a place for programs: make one, look at it, remove it. */
int group_try(struct keeper *keeper);

static inline bool keeper_has_group(const struct program *program)
{
	return program->place[0] != '\0';
}

/* GROUP_PATH_MAX bytes. */
void keeper_path(const struct keeper *keeper, const char *place, char *path);
/* What a process has used, with the children that it has waited for. */
void keeper_sum(const struct proc_stat *stat, struct rms_usage *ret_usage);

/* Of keeper_ops. */
int keeper_identify(void *ctx, int32_t pid, struct rms_process *ret_process,
		    uint32_t uid, bool *ret_is_users);
int keeper_watch(void *ctx, const struct rms_process *process);
int keeper_members(void *ctx, struct program *program,
		   struct members *ret_members);
int keeper_signal(void *ctx, struct program *program, int number);
int keeper_suspend(void *ctx, struct program *program, bool suspends);
int keeper_usage(void *ctx, struct program *program,
		 struct rms_usage *ret_usage);
