/* SPDX-License-Identifier: BSD-3-Clause */
/* Cgroups as the file system that they are. */
#include "elan/service/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elan/service/proc.h"

#define DEPTH_MAX 16 /* of what is below a program */

static int join(char *path, const char *dir, const char *name)
{
	int size = snprintf(path, GROUP_PATH_MAX, "%s/%s", dir, name);

	return size < 0 || size >= GROUP_PATH_MAX ? -ENAMETOOLONG : 0;
}

uint32_t group_setting_of(const char *name)
{
	char *end;
	unsigned long number;

	if (name[0] != 's' || name[1] < '1' || name[1] > '9')
		return 0;
	number = strtoul(name + 1, &end, 10);
	return (*end == '\0' || *end == '/') && number <= UINT32_MAX
		       ? (uint32_t)number
		       : 0;
}

bool group_is_below(const char *path, const char *place, uint32_t *ret_setting)
{
	size_t size = strlen(place);

	if (strncmp(path, place, size) != 0 ||
	    (path[size] != '\0' && path[size] != '/'))
		return false;
	*ret_setting =
		path[size] == '/' ? group_setting_of(path + size + 1) : 0;
	return true;
}

int group_write(const char *dir, const char *name, const char *text)
{
	_auto_(closep) int fd = -1;
	char path[GROUP_PATH_MAX];
	int result = join(path, dir, name);
	ssize_t size;

	if (result < 0)
		return result;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do
		size = write(fd, text, strlen(text));
	while (size < 0 && errno == EINTR);
	return size < 0 ? -errno : 0;
}

int group_read_number(const char *dir, const char *name, const char *key,
		      uint64_t *ret_number)
{
	_auto_(freep) char *text = NULL;
	char path[GROUP_PATH_MAX];
	const char *at;
	size_t size = key != NULL ? strlen(key) : 0;
	int result = join(path, dir, name);

	if (result == 0)
		result = proc_read_alloc(path, &text);
	if (result < 0)
		return result;
	for (at = text; key != NULL; at++) {
		if (strncmp(at, key, size) == 0 && at[size] == ' ')
			break;
		at = strchr(at, '\n');
		if (at == NULL)
			return -ENOENT;
	}
	if (key != NULL)
		at += size + 1;
	if (*at < '0' || *at > '9')
		return -ENOENT;
	*ret_number = strtoull(at, NULL, 10);
	return 0;
}

int group_is_populated(const char *dir)
{
	uint64_t number = 0;
	int result =
		group_read_number(dir, "cgroup.events", "populated", &number);

	/* A directory that is being removed. */
	if (result == -ENODEV)
		result = -ENOENT;
	return result < 0 ? result : number != 0;
}

/* Call with the name of each directory in it. */
static int each_below(const char *dir, int (*call)(void *arg, const char *name),
		      void *arg)
{
	_auto_(closedirp) DIR *stream = opendir(dir);
	const struct dirent *entry;
	int result = 0;

	if (stream == NULL)
		return -errno;
	while (result == 0 && (entry = readdir(stream)) != NULL) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			result = call(arg, entry->d_name);
	}
	return result;
}

struct search_walk {
	const char *dir;
	const char *below; /* directly below the first one */
	int depth;
	int (*take)(void *arg, const char *below, int32_t pid);
	void *arg;
};

static int walk(const struct search_walk *here);

static int walk_below(void *arg, const char *name)
{
	const struct search_walk *above = arg;
	struct search_walk inner = *above;
	char path[GROUP_PATH_MAX];
	int result = join(path, above->dir, name);

	if (result < 0 || above->depth == DEPTH_MAX)
		return result;
	inner.dir = path;
	inner.below = above->depth == 0 ? name : above->below;
	inner.depth++;
	result = walk(&inner);
	/* It may go meanwhile, or have no processes but threads. */
	return result == -ENOENT || result == -ENODEV || result == -EOPNOTSUPP
		       ? 0
		       : result;
}

static int walk(const struct search_walk *here)
{
	_auto_(freep) char *text = NULL;
	char path[GROUP_PATH_MAX];
	int result = join(path, here->dir, "cgroup.procs");

	if (result == 0)
		result = proc_read_alloc(path, &text);
	for (char *at = text; result == 0 && *at != '\0';) {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at)
			return -EPROTO;
		/* 0: it is in another PID namespace. */
		if (pid > 0)
			result = here->take(here->arg, here->below,
					    (int32_t)pid);
		at = end + strspn(end, "\n");
	}
	if (result < 0)
		return result;
	return each_below(here->dir, walk_below, (void *)here);
}

int group_each(const char *dir,
	       int (*take)(void *arg, const char *below, int32_t pid),
	       void *arg)
{
	struct search_walk first = {
		.dir = dir,
		.below = "",
		.take = take,
		.arg = arg,
	};

	return walk(&first);
}

static int trim_one(void *arg, const char *name)
{
	char path[GROUP_PATH_MAX];

	if (join(path, arg, name) == 0)
		rmdir(path);
	return 0;
}

void group_trim(const char *dir)
{
	each_below(dir, trim_one, (void *)dir);
}

static int remove_one(void *arg, const char *name)
{
	char path[GROUP_PATH_MAX];
	int result = join(path, arg, name);

	return result < 0 ? result : group_remove(path);
}

int group_remove(const char *dir)
{
	int result = each_below(dir, remove_one, (void *)dir);

	if (result == 0 && rmdir(dir) < 0)
		result = -errno;
	return result == -ENOENT ? 0 : result;
}

static bool is_others(const char *path)
{
	struct stat status;

	return stat(path, &status) < 0 || status.st_uid != 0 ||
	       (status.st_gid != 0 && status.st_mode & S_IWGRP) ||
	       status.st_mode & S_IWOTH;
}

bool group_is_others(const char *dir)
{
	char path[GROUP_PATH_MAX];

	if (join(path, dir, "cgroup.procs") < 0)
		return true;
	return is_others(dir) || is_others(path);
}
