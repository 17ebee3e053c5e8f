/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keeper's operations: a program with a place is a directory of cgroups;
 * one without is looked for. Where there are cgroups, one that was made when
 * there were none has no place, and goes on to be looked for.
 */
#include <errno.h>
#include <inttypes.h>
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

void keeper_path(const struct keeper *keeper, const char *place, char *path)
{
	snprintf(path, GROUP_PATH_MAX, "%s%s", keeper->mount, place);
}

static void path_of_setting(const struct keeper *keeper,
			    const struct program *program, uint32_t setting,
			    char *path)
{
	if (setting == 0)
		keeper_path(keeper, program->place, path);
	else
		snprintf(path, GROUP_PATH_MAX, "%s%s/s%" PRIu32, keeper->mount,
			 program->place, setting);
}

/* The cgroup that the program was made in. */
static void path_above(const struct keeper *keeper,
		       const struct program *program, char *path)
{
	keeper_path(keeper, program->place, path);
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

static bool is_looked_for(const struct keeper *keeper,
			  const struct program *program)
{
	return !keeper_has_group(program) || is_delegated(keeper, program);
}

static int choose_place(struct keeper *keeper, struct program *program,
			const struct rms_process *process)
{
	char path[PLACE_MAX - 32];
	int result = proc_cgroup(process->pid, path, sizeof(path));

	if (result < 0)
		return result;
	/* A program inside of one would end with it. */
	if (strstr(path, "/" GROUP_PREFIX) != NULL)
		return -EINVAL;
	snprintf(program->place, sizeof(program->place),
		 "%s/" GROUP_PREFIX "%d", strcmp(path, "/") == 0 ? "" : path,
		 program->id);
	if (is_delegated(keeper, program))
		log_warning(keeper->log,
			    "others than root can write cgroups above the "
			    "program, members are looked for too id=%d "
			    "cgroup=%s",
			    program->id, path);
	return 0;
}

/* Figures count from now on; of memory and its peak all counts. */
static int choose(void *ctx, struct program *program,
		  const struct rms_process *process)
{
	struct keeper *keeper = ctx;
	struct proc_stat stat;
	int result = proc_stat(process->pid, &stat);

	if (result < 0)
		return result;
	program->start = search_now();
	keeper_sum(&stat, &program->base);
	return keeper->events < 0 ? 0 : choose_place(keeper, program, process);
}

/* What the kernel refuses is a lack of memory to the caller. */
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
			const struct rms_process *process, const char *path)
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

static int make_group(struct keeper *keeper, struct program *program,
		      const struct rms_process *process)
{
	char path[GROUP_PATH_MAX];
	int result = 0;

	keeper_path(keeper, program->place, path);
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
	if (result < 0)
		return result == -EEXIST ? result
					 : complain(keeper, path, result);
	watch_events(keeper, path);
	return 0;
}

static int look(void *ctx, struct program *program);

static int make(void *ctx, struct program *program,
		const struct rms_process *process)
{
	struct keeper *keeper = ctx;
	int result = 0;

	if (keeper_has_group(program))
		result = make_group(keeper, program, process);
	if (result == 0 && is_looked_for(keeper, program))
		result = search_note(program, process, 0);
	/* Its session is known from then on, whenever it ends. */
	if (result == 0 && !keeper_has_group(program))
		look(ctx, program);
	return result;
}

static int remove_program(void *ctx, struct program *program)
{
	struct keeper *keeper = ctx;
	char path[GROUP_PATH_MAX];
	int result;

	if (!keeper_has_group(program)) /* its members are forgotten */
		return 0;
	keeper_path(keeper, program->place, path);
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
	struct rms_member member = {
		.process.pid = pid,
		.setting = group_setting_of(below),
	};
	struct proc_stat stat;

	if (proc_stat(pid, &stat) < 0 || proc_stat_is_dead(&stat))
		return 0;
	member.process.start = stat.start;
	members_add(collection->members, &member);
	return collection->is_known
		       ? search_note(collection->program, &member.process,
				     member.setting)
		       : 0;
}

static int enter(void *ctx, struct program *program,
		 const struct rms_process *process, uint32_t setting);

/* Put back members that left without root's permission. */
static int put_back(struct keeper *keeper, struct program *program,
		    struct members *members)
{
	_auto_(members_fini) struct members found = { 0 };
	int result = search_members(program, &found);

	for (size_t i = 0; result == 0 && i < found.count; i++) {
		const struct rms_member *member = &found.items[i];
		int entered;

		if (members_have(members, &member->process))
			continue;
		entered = enter(keeper, program, &member->process,
				member->setting);
		if (entered == -ESRCH)
			continue;
		log_warning(keeper->log,
			    "a member had left its cgroup, and is back id=%d "
			    "pid=%d error=%s",
			    program->id, member->process.pid,
			    strerror(-entered));
		/* One that cannot be put back is a member as well. */
		members_add(members, member);
	}
	return result;
}

int keeper_members(void *ctx, struct program *program,
		   struct members *ret_members)
{
	struct keeper *keeper = ctx;
	struct collection collection = {
		.program = program,
		.members = ret_members,
		.is_known = is_looked_for(keeper, program),
	};
	char path[GROUP_PATH_MAX];
	int result;

	if (!keeper_has_group(program))
		return search_members(program, ret_members);
	keeper_path(keeper, program->place, path);
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
	int result = 0;

	if (keeper_has_group(program)) {
		keeper_path(keeper, program->place, path);
		result = group_is_populated(path);
		if (result >= 0)
			watch_events(keeper, path);
		if (result < 0 || program->known_count == 0)
			return result;
	}
	result = keeper_members(ctx, program, &members);
	return result < 0 ? result : members.count > 0;
}

static int find_by_group(struct program *programs,
			 const struct rms_process *process,
			 struct program **ret_program, uint32_t *ret_setting)
{
	char path[PLACE_MAX + 64];
	struct program *program;

	if (proc_cgroup(process->pid, path, sizeof(path)) < 0)
		return -ESRCH;
	DL_FOREACH (programs, program) {
		if (keeper_has_group(program) &&
		    group_is_below(path, program->place, ret_setting)) {
			*ret_program = program;
			return 0;
		}
	}
	return -ESRCH;
}

/* By its cgroup; or among those that are looked for, who may have left one. */
static int find(void *ctx, struct program *programs,
		const struct rms_process *process, struct program **ret_program,
		uint32_t *ret_setting)
{
	_auto_(freep) struct proc_stat *stats = NULL;
	struct program *program;
	size_t count = 0;

	if (find_by_group(programs, process, ret_program, ret_setting) == 0)
		return 0;
	DL_FOREACH (programs, program) {
		_auto_(members_fini) struct members members = { 0 };
		const struct rms_member *member;

		if (program->known_count == 0)
			continue;
		/* One look at all processes, for all that have no group. */
		if (stats == NULL && proc_stat_all(&stats, &count) < 0)
			return -ESRCH;
		if ((keeper_has_group(program)
			     ? keeper_members(ctx, program, &members)
			     : search_among(program, stats, count, &members)) <
		    0)
			continue;
		member = members_have(&members, process);
		if (member == NULL)
			continue;
		*ret_program = program;
		*ret_setting = member->setting;
		return 0;
	}
	return -ESRCH;
}

/* What is below may have less than what the program may have. */
static bool is_near(void *ctx, const struct program *program,
		    const struct rms_process *process)
{
	char path[PLACE_MAX + 64];
	char above[PLACE_MAX];

	if (!keeper_has_group(program)) /* there is no place to be near */
		return true;
	if (proc_cgroup(process->pid, path, sizeof(path)) < 0)
		return false;
	strcpy(above, program->place);
	*strrchr(above, '/') = '\0';
	return strcmp(path, above[0] != '\0' ? above : "/") == 0;
}

static int enter(void *ctx, struct program *program,
		 const struct rms_process *process, uint32_t setting)
{
	struct keeper *keeper = ctx;
	char before[PLACE_MAX + 64] = "";
	char path[GROUP_PATH_MAX];
	uint32_t setting_before = 0;
	int result;

	if (!keeper_has_group(program))
		return search_note(program, process, setting);
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
		 const struct rms_process *process)
{
	struct keeper *keeper = ctx;
	char path[GROUP_PATH_MAX];

	search_forget(program, process);
	if (!keeper_has_group(program))
		return 0;
	path_above(keeper, program, path);
	return move_process(keeper, program, process, path);
}

const struct keeper_ops keeper_ops = {
	.choose = choose,
	.make = make,
	.remove = remove_program,
	.look = look,
	.members = keeper_members,
	.find = find,
	.is_near = is_near,
	.enter = enter,
	.leave = leave,
	.signal = keeper_signal,
	.suspend = keeper_suspend,
	.usage = keeper_usage,
	.identify = keeper_identify,
	.watch = keeper_watch,
};
