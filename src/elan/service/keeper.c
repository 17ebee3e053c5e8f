/* SPDX-License-Identifier: BSD-3-Clause */
/* Which keeper it is, and what both do alike. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <utlist.h>

#include "elan/service/keepers.h"

#define ROUNDS_MAX 64 /* of finding who was forked meanwhile */

int keeper_init(struct keeper *keeper, enum keeper_mode mode,
		struct watches *watches, const char *dir, const struct log *log,
		struct keeper_seam *ret_seam, struct fairlead_error *ret_error)
{
	const struct keeper_ops *ops = &search_ops;
	int result = 0;

	*keeper = (struct keeper){
		.events = -1,
		.watches = watches,
		.dir = dir,
		.log = log,
	};
	if (mode != KEEPER_SEARCH) {
		result = group_try(keeper);
		if (result == 0)
			ops = &either_ops;
		else if (mode == KEEPER_GROUP)
			return error_set(ret_error, -ENOTSUP,
					 "there are no cgroups of version 2 to "
					 "make programs in: %s",
					 strerror(-result));
		else
			log_warning(log,
				    "no cgroups of version 2, members are "
				    "looked for and can hide error=%s",
				    strerror(-result));
	}
	if (ops == &either_ops) {
		keeper->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
		if (keeper->events < 0)
			return error_set(ret_error, -errno,
					 "cannot watch cgroups: %s",
					 strerror(errno));
	}
	ret_seam->ops = ops;
	ret_seam->ctx = keeper;
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

int keeper_identify(void *ctx, int32_t pid, struct process *ret_process,
		    uint32_t uid, bool *ret_is_users)
{
	struct process process = { .pid = pid };
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

int keeper_watch(void *ctx, const struct process *process)
{
	struct keeper *keeper = ctx;

	return watches_add(keeper->watches, process);
}

static bool was_signalled(const struct members *done,
			  const struct process *process)
{
	for (size_t i = 0; i < done->count; i++) {
		if (process_is(&done->items[i].process, process))
			return true;
	}
	return false;
}

int keeper_signal_each(struct keeper *keeper, const struct keeper_ops *ops,
		       struct program *program, int number,
		       bool (*is_in)(struct keeper *keeper,
				     const struct program *program,
				     const struct process *process))
{
	_auto_(members_fini) struct members done = { 0 };

	for (int round = 0; round < ROUNDS_MAX; round++) {
		_auto_(members_fini) struct members members = { 0 };
		size_t before = done.count;
		int result = ops->members(keeper, program, &members);

		for (size_t i = 0; result == 0 && i < members.count; i++) {
			const struct member *member = &members.items[i];
			_auto_(closep) int pidfd = -1;

			if (was_signalled(&done, &member->process))
				continue;
			result = members_add(&done, member);
			pidfd = proc_open(&member->process);
			if (pidfd >= 0 &&
			    is_in(keeper, program, &member->process))
				proc_signal(pidfd, number);
		}
		if (result < 0)
			return result;
		if (done.count == before)
			return 0;
	}
	return -EAGAIN;
}

void keeper_sum(const struct proc_stat *stats, size_t count,
		struct usage *ret_usage)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t tick_us = 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	struct usage usage = { 0 };

	for (size_t i = 0; i < count; i++) {
		usage.faults += stats[i].faults + stats[i].waited_faults;
		usage.memory += stats[i].pages * page;
		usage.user_us +=
			(stats[i].user + stats[i].waited_user) * tick_us;
		usage.system_us +=
			(stats[i].system + stats[i].waited_system) * tick_us;
	}
	usage.memory_max = usage.memory;
	*ret_usage = usage;
}
