/* SPDX-License-Identifier: BSD-3-Clause */
/* Which keeper it is, and what is done with members once they are found. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <utlist.h>

#include "elan/service/group.h"
#include "elan/service/keepers.h"

#define ROUNDS_MAX 64 /* of finding who was forked meanwhile */

int keeper_init(struct keeper *keeper, enum keeper_mode mode,
		struct watches *watches, const char *dir, const struct log *log,
		struct keeper_seam *ret_seam, struct fairlead_error *ret_error)
{
	int result;

	*keeper = (struct keeper){
		.events = -1,
		.watches = watches,
		.dir = dir,
		.log = log,
	};
	*ret_seam = (struct keeper_seam){ .ops = &keeper_ops, .ctx = keeper };
	if (mode == KEEPER_SEARCH)
		return 0;
	result = group_try(keeper);
	if (result < 0 && mode == KEEPER_GROUP)
		return error_set(ret_error, -ENOTSUP,
				 "there are no cgroups of version 2 to make "
				 "programs in: %s",
				 strerror(-result));
	if (result < 0) {
		log_warning(log,
			    "no cgroups of version 2, members are looked for "
			    "and can hide error=\"%s\"",
			    strerror(-result));
		return 0;
	}
	keeper->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (keeper->events < 0)
		return error_set(ret_error, -errno, "cannot watch cgroups: %s",
				 strerror(errno));
	ret_seam->is_sure = true;
	return 0;
}

int keeper_check(const struct keeper *keeper, const struct registry *registry,
		 struct fairlead_error *ret_error)
{
	const struct program *program;

	DL_FOREACH (registry->programs, program) {
		if (keeper->events < 0 && program->place[0] != '\0')
			return error_set(ret_error, -ENOTSUP,
					 "program %d is in cgroup '%s', and "
					 "there are none that can be used now",
					 program->id, program->place);
	}
	return 0;
}

void keeper_fini(struct keeper *keeper)
{
	closep(&keeper->events);
	keeper->events = -1;
}

void keeper_take_events(struct keeper *keeper)
{
	char bytes[4096];

	while (read(keeper->events, bytes, sizeof(bytes)) > 0)
		continue;
}

int keeper_identify(void *ctx, int32_t pid, struct rms_process *ret_process,
		    uint32_t uid, bool *ret_is_users)
{
	struct rms_process process = { .pid = pid };
	_auto_(freep) char *status = NULL;
	_auto_(closep) int pidfd = -1;
	struct proc_stat stat;
	char path[32];

	if (pid <= 0 || proc_stat(pid, &stat) < 0 || proc_stat_is_dead(&stat))
		return -ESRCH;
	process.start = stat.start;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (proc_read_alloc(path, &status) < 0)
		return -ESRCH;
	/* It is who it was, so the status was its own. */
	pidfd = proc_open(&process);
	if (pidfd < 0)
		return -ESRCH;
	*ret_is_users = proc_is_users(status, uid);
	*ret_process = process;
	return 0;
}

int keeper_watch(void *ctx, const struct rms_process *process)
{
	struct keeper *keeper = ctx;

	return watches_add(keeper->watches, process);
}

static bool is_in(struct keeper *keeper, const struct program *program,
		  const struct rms_process *process)
{
	char path[PLACE_MAX + 64];
	uint32_t setting;

	return program->known_count > 0 ||
	       (proc_cgroup(process->pid, path, sizeof(path)) == 0 &&
		group_is_below(path, program->place, &setting));
}

/*
 * Signal each member once, and those that have appeared since, until there are
 * no new ones.
 */
static int signal_each(struct keeper *keeper, struct program *program,
		       int number)
{
	_auto_(members_fini) struct members done = { 0 };

	for (int round = 0; round < ROUNDS_MAX; round++) {
		_auto_(members_fini) struct members members = { 0 };
		size_t before = done.count;
		int result = keeper_members(keeper, program, &members);

		for (size_t i = 0; result == 0 && i < members.count; i++) {
			const struct rms_process *process =
				&members.items[i].process;
			_auto_(closep) int pidfd = -1;

			if (members_have(&done, process))
				continue;
			members_add(&done, &members.items[i]);
			pidfd = proc_open(process);
			if (pidfd >= 0 && is_in(keeper, program, process))
				proc_signal(pidfd, number);
		}
		if (result < 0 || done.count == before)
			return result;
	}
	return -EAGAIN;
}

/*
 * By the kernel first: what forks faster than it is found is ended so. Then who
 * is outside is found, brought back, and ended.
 */
static int end_all(struct keeper *keeper, struct program *program,
		   const char *path)
{
	int result = group_write(path, "cgroup.kill", "1");
	int found;

	if (result < 0 || program->known_count == 0)
		return result;
	found = signal_each(keeper, program, SIGKILL);
	result = group_write(path, "cgroup.kill", "1");
	return result < 0 ? result : found;
}

int keeper_signal(void *ctx, struct program *program, int number)
{
	struct keeper *keeper = ctx;
	char path[GROUP_PATH_MAX];
	int result;

	keeper_path(keeper, program->place, path);
	if (number == SIGKILL && keeper->has_kill && keeper_has_group(program))
		result = end_all(keeper, program, path);
	else
		result = signal_each(keeper, program, number);
	return result == -ENOENT ? 0 : result;
}

int keeper_suspend(void *ctx, struct program *program, bool suspends)
{
	struct keeper *keeper = ctx;
	char path[GROUP_PATH_MAX];
	int result;

	if (!keeper_has_group(program))
		return keeper_signal(ctx, program,
				     suspends ? SIGSTOP : SIGCONT);
	keeper_path(keeper, program->place, path);
	result = group_write(path, "cgroup.freeze", suspends ? "1" : "0");
	return result == -ENOENT ? 0 : result;
}

static void read_into(uint64_t *figure, const char *path, const char *name,
		      const char *key)
{
	uint64_t number;

	if (group_read_number(path, name, key, &number) == 0)
		*figure = number;
}

static void sum_members(const struct members *members, struct rms_usage *usage)
{
	for (size_t i = 0; i < members->count; i++) {
		struct proc_stat stat;
		struct rms_usage one;

		if (proc_stat(members->items[i].process.pid, &stat) < 0)
			continue;
		keeper_sum(&stat, &one);
		usage->faults += one.faults;
		usage->memory += one.memory;
		usage->user_us += one.user_us;
		usage->system_us += one.system_us;
	}
	usage->memory_max = usage->memory;
}

static void take_from(uint64_t *figure, uint64_t base)
{
	*figure = *figure > base ? *figure - base : 0;
}

int keeper_usage(void *ctx, struct program *program,
		 struct rms_usage *ret_usage)
{
	struct keeper *keeper = ctx;
	_auto_(members_fini) struct members members = { 0 };
	struct rms_usage usage = { 0 };
	char path[GROUP_PATH_MAX];
	int result = keeper_members(ctx, program, &members);

	if (result < 0)
		return result;
	sum_members(&members, &usage);
	take_from(&usage.user_us, program->base.user_us);
	take_from(&usage.system_us, program->base.system_us);
	take_from(&usage.faults, program->base.faults);
	if (keeper_has_group(program)) {
		/* The kernel's own where the controller is there. */
		keeper_path(keeper, program->place, path);
		read_into(&usage.faults, path, "memory.stat", "pgfault");
		read_into(&usage.memory, path, "memory.current", NULL);
		read_into(&usage.memory_max, path, "memory.peak", NULL);
		read_into(&usage.user_us, path, "cpu.stat", "user_usec");
		read_into(&usage.system_us, path, "cpu.stat", "system_usec");
	}
	*ret_usage = usage;
	return 0;
}

void keeper_sum(const struct proc_stat *stat, struct rms_usage *ret_usage)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t tick_us = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);

	*ret_usage = (struct rms_usage){
		.faults = stat->faults + stat->waited_faults,
		.memory = stat->pages * page,
		.memory_max = stat->pages * page,
		.user_us = (stat->user + stat->waited_user) * tick_us,
		.system_us = (stat->system + stat->waited_system) * tick_us,
	};
}
