/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done with cgroups when the daemon starts: try them, and sweep. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utlist.h>

#include "elan/service/group.h"
#include "elan/service/keepers.h"

#define DEPTH_MAX 64

static bool has_file(const char *dir, const char *name)
{
	char path[GROUP_PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, R_OK | W_OK) == 0;
}

static int read_mount(struct keeper *keeper)
{
	_auto_(freep) char *text = NULL;
	int result = proc_read_alloc("/proc/self/mountinfo", &text);

	if (result == 0)
		result = proc_mount_parse(text, keeper->mount,
					  sizeof(keeper->mount));
	return result;
}

int group_try(struct keeper *keeper)
{
	char path[GROUP_PATH_MAX];
	char place[PLACE_MAX];
	int result = read_mount(keeper);
	bool can_freeze;

	if (result == 0)
		result = proc_cgroup(getpid(), place, sizeof(place));
	if (result < 0)
		return result;
	snprintf(path, sizeof(path), "%s%s/" GROUP_PREFIX "try-%d",
		 keeper->mount, strcmp(place, "/") == 0 ? "" : place, getpid());
	if (mkdir(path, 0755) < 0)
		return -errno;
	can_freeze = has_file(path, "cgroup.freeze");
	keeper->has_kill = access(path, F_OK) == 0 &&
			   group_write(path, "cgroup.kill", "1") == 0;
	if (rmdir(path) < 0)
		return -errno;
	return can_freeze ? 0 : -ENOSYS;
}

static bool is_registered(struct registry *registry, const char *place)
{
	const struct program *program;

	DL_FOREACH (registry->programs, program) {
		if (strcmp(program->place, place) == 0)
			return true;
	}
	return false;
}

static bool is_marked(const struct keeper *keeper, const char *path)
{
	char mark[PLACE_MAX];
	ssize_t size = getxattr(path, GROUP_MARK, mark, sizeof(mark));

	return size >= 0 && (size_t)size == strlen(keeper->dir) &&
	       memcmp(mark, keeper->dir, (size_t)size) == 0;
}

static void sweep_one(struct keeper *keeper, struct registry *registry,
		      const char *path)
{
	if (!is_marked(keeper, path) ||
	    is_registered(registry, path + strlen(keeper->mount)))
		return;
	if (group_is_populated(path) == 0 && group_remove(path) == 0)
		log_info(keeper->log, "removed an empty cgroup path=%s", path);
	else
		log_warning(keeper->log,
			    "a cgroup of a program that is not known has "
			    "processes path=%s",
			    path);
}

static void sweep(struct keeper *keeper, struct registry *registry,
		  const char *path, int depth)
{
	_auto_(closedirp) DIR *dir = opendir(path);
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char below[GROUP_PATH_MAX];
		int size;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		size = snprintf(below, sizeof(below), "%s/%s", path,
				entry->d_name);
		if (size < 0 || (size_t)size >= sizeof(below))
			continue;
		if (strncmp(entry->d_name, GROUP_PREFIX,
			    strlen(GROUP_PREFIX)) == 0)
			sweep_one(keeper, registry, below);
		else if (depth < DEPTH_MAX)
			sweep(keeper, registry, below, depth + 1);
	}
}

void keeper_sweep(struct keeper *keeper, struct registry *registry)
{
	if (keeper->events >= 0)
		sweep(keeper, registry, keeper->mount, 0);
}
