/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper of cgroups: a program is a directory. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utlist.h>

#include "elan/service/group.h"
#include "elan/service/keepers.h"
#include "elan/service/search.h"

static bool is_sure(void *ctx)
{
	return true;
}

static void path_of(const struct keeper *keeper, const char *place, char *path)
{
	snprintf(path, GROUP_PATH_MAX, "%s%s", keeper->mount, place);
}

static void path_of_setting(const struct keeper *keeper,
			    const struct program *program, uint32_t setting,
			    char *path)
{
	if (setting == 0)
		path_of(keeper, program->place, path);
	else
		snprintf(path, GROUP_PATH_MAX, "%s%s/s%" PRIu32, keeper->mount,
			 program->place, setting);
}

/* The cgroup that the program was made in. */
static void path_above(const struct keeper *keeper,
		       const struct program *program, char *path)
{
	path_of(keeper, program->place, path);
	*strrchr(path, '/') = '\0';
}

static bool is_delegated(const struct keeper *keeper,
			 const struct program *program)
{
	char path[GROUP_PATH_MAX];

	path_above(keeper, program, path);
	for (size_t end = strlen(keeper->mount); strlen(path) > end;
	     *strrchr(path, '/') = '\0') {
		if (group_is_others(path))
			return true;
	}
	return group_is_others(path);
}

static int choose(void *ctx, struct program *program,
		  const struct process *process)
{
	struct keeper *keeper = ctx;
	char path[PLACE_MAX - 32];
	int result = proc_cgroup(process->pid, path, sizeof(path));
	struct proc_stat stat;

	if (result < 0)
		return result;
	/* A program inside of one would end with it. */
	if (strstr(path, "/" GROUP_PREFIX) != NULL)
		return -EINVAL;
	snprintf(program->place, sizeof(program->place),
		 "%s/" GROUP_PREFIX "%d", strcmp(path, "/") == 0 ? "" : path,
		 program->id);
	program->start = search_now();
	if (proc_stat(process->pid, &stat) == 0)
		keeper_sum(&stat, 1, &program->base);
	if (is_delegated(keeper, program))
		log_warning(keeper->log,
			    "others than root can write cgroups above the "
			    "program, members are looked for too id=%d "
			    "cgroup=%s",
			    program->id, path);
	return 0;
}

/* What the kernel refuses is a lack of room to who asks. */
static int complain(const struct keeper *keeper, const char *path, int result)
{
	log_error(keeper->log, "cannot use a cgroup path=%s error=%s", path,
		  strerror(-result));
	return -ENOMEM;
}

/*
 * Write a process into a cgroup. It is held meanwhile; had it ended before the
 * kernel read its pid, and somebody else got that, this one is put back.
 */
static int move_process(struct keeper *keeper, const struct program *program,
			const struct process *process, const char *path)
{
	_auto_(closep) int pidfd = proc_open(process);
	char above[GROUP_PATH_MAX];
	char text[16];
	int result;

	if (pidfd < 0)
		return pidfd;
	snprintf(text, sizeof(text), "%d", process->pid);
	result = group_write(path, "cgroup.procs", text);
	if (result < 0 && result != -ESRCH)
		return complain(keeper, path, result);
	if (result == 0 && proc_has_ended(pidfd)) {
		struct proc_stat stat;

		path_above(keeper, program, above);
		if (proc_stat(process->pid, &stat) == 0 &&
		    stat.start != process->start)
			group_write(above, "cgroup.procs", text);
		return -ESRCH;
	}
	return result;
}

static void watch_events(struct keeper *keeper, const char *path)
{
	char file[GROUP_PATH_MAX + 16];

	snprintf(file, sizeof(file), "%s/cgroup.events", path);
	/* Without it an end is found when somebody asks. */
	inotify_add_watch(keeper->events, file, IN_MODIFY);
}

static int make(void *ctx, struct program *program,
		const struct process *process)
{
	struct keeper *keeper = ctx;
	char path[GROUP_PATH_MAX];
	int result = 0;

	path_of(keeper, program->place, path);
	if (mkdir(path, 0755) < 0)
		result = -errno;
	/* One that is left from before, and empty, is as good as a new one. */
	if (result == -EEXIST && group_is_populated(path) == 0 &&
	    group_remove(path) == 0)
		result = mkdir(path, 0755) < 0 ? -errno : 0;
	/* Without the mark it is only not swept away when it is lost. */
	if (result == 0)
		setxattr(path, GROUP_MARK, keeper->dir, strlen(keeper->dir), 0);
	if (result == 0)
		result = move_process(keeper, program, process, path);
	if (result < 0 && result != -EEXIST)
		return complain(keeper, path, result);
	if (result < 0)
		return result;
	watch_events(keeper, path);
	if (is_delegated(keeper, program))
		result = search_note(program, process, 0);
	return result;
}

static int remove_program(void *ctx, struct program *program)
{
	struct keeper *keeper = ctx;
	char path[GROUP_PATH_MAX];
	int result;

	path_of(keeper, program->place, path);
	if (group_is_populated(path) == 1)
		return -ECHILD;
	result = group_remove(path);
	return result == -EBUSY ? -ECHILD : result;
}

struct collection {
	struct program *program;
	struct members *members;
	bool is_known; /* they are looked for, too */
};

static int take_member(void *arg, const char *below, int32_t pid)
{
	struct collection *collection = arg;
	struct member member = {
		.process.pid = pid,
		.setting = group_setting_of(below),
	};
	struct proc_stat stat;
	int result;

	if (proc_stat(pid, &stat) < 0 || proc_stat_is_dead(&stat))
		return 0;
	member.process.start = stat.start;
	result = members_add(collection->members, &member);
	if (result == 0 && collection->is_known)
		result = search_note(collection->program, &member.process,
				     member.setting);
	return result;
}

static bool is_member(const struct members *members,
		      const struct process *process)
{
	for (size_t i = 0; i < members->count; i++) {
		if (process_is(&members->items[i].process, process))
			return true;
	}
	return false;
}

static int enter(void *ctx, struct program *program,
		 const struct process *process, uint32_t setting);

/* Put back who has left by another's leave than root's. */
static int put_back(struct keeper *keeper, struct program *program,
		    struct members *members)
{
	_auto_(members_fini) struct members found = { 0 };
	int result = search_members(program, &found, NULL);

	for (size_t i = 0; result == 0 && i < found.count; i++) {
		const struct member *member = &found.items[i];

		if (is_member(members, &member->process))
			continue;
		result = enter(keeper, program, &member->process,
			       member->setting);
		if (result == -ESRCH) {
			result = 0;
			continue;
		}
		log_warning(keeper->log,
			    "a member had left its cgroup, and is back id=%d "
			    "pid=%d error=%s",
			    program->id, member->process.pid,
			    strerror(-result));
		/* One that cannot be put back is a member as well. */
		result = members_add(members, member);
	}
	return result;
}

static int find_members(void *ctx, struct program *program,
			struct members *ret_members)
{
	struct keeper *keeper = ctx;
	struct collection collection = {
		.program = program,
		.members = ret_members,
		.is_known = is_delegated(keeper, program),
	};
	char path[GROUP_PATH_MAX];
	int result;

	path_of(keeper, program->place, path);
	result = group_each(path, take_member, &collection);
	if (result == -ENOENT || result == -ENODEV)
		return 0;
	if (result == 0 && (collection.is_known || program->known_count > 0))
		result = put_back(keeper, program, ret_members);
	group_trim(path);
	return result;
}

static int look(void *ctx, struct program *program)
{
	struct keeper *keeper = ctx;
	_auto_(members_fini) struct members members = { 0 };
	char path[GROUP_PATH_MAX];
	int result;

	path_of(keeper, program->place, path);
	result = group_is_populated(path);
	if (result >= 0)
		watch_events(keeper, path);
	if (result < 0 || program->known_count == 0)
		return result;
	result = find_members(ctx, program, &members);
	return result < 0 ? result : members.count > 0;
}

static int find(void *ctx, struct program *programs,
		const struct process *process, struct program **ret_program,
		uint32_t *ret_setting)
{
	char path[PLACE_MAX + 64];
	struct program *program;
	int result = proc_cgroup(process->pid, path, sizeof(path));

	if (result < 0)
		return -ESRCH;
	DL_FOREACH (programs, program) {
		if (program->place[0] != '\0' &&
		    group_is_below(path, program->place, ret_setting)) {
			*ret_program = program;
			return 0;
		}
	}
	return -ESRCH;
}

/* What is below may have less than what the program may have. */
static bool is_near(void *ctx, const struct program *program,
		    const struct process *process)
{
	char path[PLACE_MAX + 64];
	char above[PLACE_MAX];

	if (proc_cgroup(process->pid, path, sizeof(path)) < 0)
		return false;
	strcpy(above, program->place);
	*strrchr(above, '/') = '\0';
	return strcmp(path, above[0] != '\0' ? above : "/") == 0;
}

static int enter(void *ctx, struct program *program,
		 const struct process *process, uint32_t setting)
{
	struct keeper *keeper = ctx;
	char before[PLACE_MAX + 64] = "";
	char path[GROUP_PATH_MAX];
	uint32_t setting_before = 0;
	int result;

	if (proc_cgroup(process->pid, before, sizeof(before)) < 0 ||
	    !group_is_below(before, program->place, &setting_before))
		setting_before = 0;
	path_of_setting(keeper, program, setting, path);
	if (setting != 0 && mkdir(path, 0755) < 0 && errno != EEXIST)
		return complain(keeper, path, -errno);
	result = move_process(keeper, program, process, path);
	if (result == 0 && program->known_count > 0)
		result = search_note(program, process, setting);
	if (result < 0 && setting != 0)
		rmdir(path);
	if (result == 0 && setting_before != 0 && setting_before != setting) {
		path_of_setting(keeper, program, setting_before, path);
		rmdir(path); /* when it was the last one */
	}
	return result;
}

static int leave(void *ctx, struct program *program,
		 const struct process *process)
{
	struct keeper *keeper = ctx;
	char path[GROUP_PATH_MAX];

	search_forget(program, process);
	path_above(keeper, program, path);
	return move_process(keeper, program, process, path);
}

static bool is_in(struct keeper *keeper, const struct program *program,
		  const struct process *process)
{
	char path[PLACE_MAX + 64];
	uint32_t setting;

	return program->known_count > 0 ||
	       (proc_cgroup(process->pid, path, sizeof(path)) == 0 &&
		group_is_below(path, program->place, &setting));
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
	found = keeper_signal_each(keeper, &group_ops, program, SIGKILL, is_in);
	result = group_write(path, "cgroup.kill", "1");
	return result < 0 ? result : found;
}

static int signal_all(void *ctx, struct program *program, int number)
{
	struct keeper *keeper = ctx;
	char path[GROUP_PATH_MAX];
	int result;

	path_of(keeper, program->place, path);
	if (number == SIGKILL && keeper->has_kill)
		result = end_all(keeper, program, path);
	else
		result = keeper_signal_each(keeper, &group_ops, program, number,
					    is_in);
	return result == -ENOENT ? 0 : result;
}

static int suspend(void *ctx, struct program *program, bool suspends)
{
	struct keeper *keeper = ctx;
	char path[GROUP_PATH_MAX];
	int result;

	path_of(keeper, program->place, path);
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

static int read_usage(void *ctx, struct program *program,
		      struct usage *ret_usage)
{
	struct keeper *keeper = ctx;
	_auto_(members_fini) struct members members = { 0 };
	struct usage usage = { 0 };
	char path[GROUP_PATH_MAX];
	int result;

	path_of(keeper, program->place, path);
	result = find_members(ctx, program, &members);
	if (result < 0)
		return result;
	for (size_t i = 0; i < members.count; i++) {
		struct proc_stat stat;
		struct usage one;

		if (proc_stat(members.items[i].process.pid, &stat) < 0)
			continue;
		keeper_sum(&stat, 1, &one);
		usage.faults += one.faults;
		usage.memory += one.memory;
	}
	usage.faults = usage.faults > program->base.faults
			       ? usage.faults - program->base.faults
			       : 0;
	usage.memory_max = usage.memory;
	/* The kernel's own where the controller is there. */
	read_into(&usage.faults, path, "memory.stat", "pgfault");
	read_into(&usage.memory, path, "memory.current", NULL);
	read_into(&usage.memory_max, path, "memory.peak", NULL);
	read_into(&usage.user_us, path, "cpu.stat", "user_usec");
	read_into(&usage.system_us, path, "cpu.stat", "system_usec");
	*ret_usage = usage;
	return 0;
}

const struct keeper_ops group_ops = {
	.is_sure = is_sure,
	.choose = choose,
	.make = make,
	.remove = remove_program,
	.look = look,
	.members = find_members,
	.find = find,
	.is_near = is_near,
	.enter = enter,
	.leave = leave,
	.signal = signal_all,
	.suspend = suspend,
	.usage = read_usage,
	.identify = keeper_identify,
	.watch = keeper_watch,
};
