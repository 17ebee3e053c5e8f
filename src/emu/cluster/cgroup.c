/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cluster's part of cgroup v2: CLUSTER/NODE/job-GRANT, below where it is
 * mounted; and what fairlead-rms makes for programs, two levels more. What is
 * in one can be killed as a whole, and BPF programs of a node see that node
 * only.
 */
#include "emu/cluster/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mntent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS_MAX  256
#define BELOW_JOB   2
#define BELOW_NODE  (BELOW_JOB + 1)
#define BELOW_WHOLE (BELOW_NODE + 1)

static bool mount_find(char *path, size_t capacity)
{
	FILE *file = setmntent("/proc/self/mounts", "re");
	const struct mntent *entry;
	bool is_found = false;

	if (file == NULL)
		return false;
	while (!is_found && (entry = getmntent(file)) != NULL) {
		is_found = strcmp(entry->mnt_type, "cgroup2") == 0;
		if (is_found)
			snprintf(path, capacity, "%s", entry->mnt_dir);
	}
	endmntent(file);
	return is_found;
}

void cluster_cgroup_find(struct cluster *cluster)
{
	char mount[CLUSTER_CGROUP_MAX / 2];
	struct cluster_process self;

	cluster->cgroup[0] = '\0';
	/* Root of a user namespace finds one, and may not write it. */
	if (!mount_find(mount, sizeof(mount)) || access(mount, W_OK) < 0 ||
	    process_of(getpid(), &self) < 0)
		return;
	snprintf(cluster->cgroup, sizeof(cluster->cgroup),
		 "%s/fairlead-cluster-%d-%" PRIu64, mount, (int)self.pid,
		 self.start);
}

void cluster_cgroup_path(const struct cluster *cluster,
			 const struct cluster_node *node,
			 char path[CLUSTER_CGROUP_MAX])
{
	path[0] = '\0';
	if (cluster->cgroup[0] != '\0')
		snprintf(path, CLUSTER_CGROUP_MAX, "%s/%s", cluster->cgroup,
			 node->name);
}

static int make(const char *path, struct fairlead_error *ret_error)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return error_set(ret_error, -errno,
				 "cannot make the cgroup '%s': %s", path,
				 strerror(errno));
	return 0;
}

int cluster_cgroup_create(const struct cluster *cluster,
			  struct fairlead_error *ret_error)
{
	char path[CLUSTER_CGROUP_MAX];
	int result;

	if (cluster->cgroup[0] == '\0')
		return 0;
	result = make(cluster->cgroup, ret_error);
	for (uint32_t i = 0; i < cluster->node_count && result == 0; i++) {
		cluster_cgroup_path(cluster, &cluster->nodes[i], path);
		result = make(path, ret_error);
	}
	return result;
}

/* Until nobody is in there: what is killed takes a moment to go. */
static int wait_empty(int folder)
{
	_auto_(closep) int fd =
		openat(folder, "cgroup.events", O_RDONLY | O_CLOEXEC);
	struct pollfd pollfd = { .fd = fd, .events = POLLPRI };
	char text[EVENTS_MAX];

	for (;;) {
		ssize_t size = fd < 0 ? -1 : pread(fd, text, EVENTS_MAX - 1, 0);

		if (size < 0)
			return -errno;
		text[size] = '\0';
		if (strstr(text, "populated 0") != NULL)
			return 0;
		if (poll(&pollfd, 1, CLUSTER_GRACE_MS) == 0)
			return -EBUSY;
	}
}

static int kill_all(const char *path)
{
	_auto_(closep) int folder =
		open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_auto_(closep) int fd = -1;

	if (folder < 0)
		return -errno;
	fd = openat(folder, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -EOPNOTSUPP; /* Linux before 5.14 */
	if (write(fd, "1", 1) < 0)
		return -errno;
	return wait_empty(folder);
}

/* It and what is below, `depth` levels; they are empty. */
static int remove_below(const char *path, int depth)
{
	char below[CLUSTER_CGROUP_MAX];
	struct dirent *entry;
	DIR *folder = depth > 0 ? opendir(path) : NULL;

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path,
			     entry->d_name) < (int)sizeof(below))
			remove_below(below, depth - 1);
	}
	if (folder != NULL)
		closedir(folder);
	return rmdir(path) < 0 ? -errno : 0;
}

static int end(const char *path, int depth, struct fairlead_error *ret_error)
{
	int result = path[0] == '\0' ? -ENOENT : kill_all(path);

	if (result == 0)
		result = remove_below(path, depth);
	if (result < 0 && result != -ENOENT)
		return error_set(ret_error, result,
				 "cannot remove the cgroup '%s': %s", path,
				 strerror(-result));
	return 0;
}

int cluster_cgroup_renew(const struct cluster *cluster,
			 const struct cluster_node *node,
			 struct fairlead_error *ret_error)
{
	char path[CLUSTER_CGROUP_MAX];
	int result;

	cluster_cgroup_path(cluster, node, path);
	result = end(path, BELOW_NODE, ret_error);
	return result == 0 && path[0] != '\0' ? make(path, ret_error) : result;
}

int cluster_cgroup_remove(const struct cluster *cluster,
			  struct fairlead_error *ret_error)
{
	return end(cluster->cgroup, BELOW_WHOLE, ret_error);
}

static void job_path(const struct cluster *cluster,
		     const struct cluster_node *node, uint64_t grant_id,
		     char path[CLUSTER_CGROUP_MAX])
{
	size_t used;

	cluster_cgroup_path(cluster, node, path);
	used = strlen(path);
	if (used > 0)
		snprintf(path + used, CLUSTER_CGROUP_MAX - used,
			 "/job-%" PRIu64, grant_id);
}

int cluster_job_begin(const struct cluster *cluster,
		      const struct cluster_node *node, uint64_t grant_id,
		      struct fairlead_error *ret_error)
{
	char path[CLUSTER_CGROUP_MAX];

	job_path(cluster, node, grant_id, path);
	return path[0] == '\0' ? 0 : make(path, ret_error);
}

int cluster_job_end(const struct cluster *cluster,
		    const struct cluster_node *node, uint64_t grant_id,
		    struct fairlead_error *ret_error)
{
	char path[CLUSTER_CGROUP_MAX];

	job_path(cluster, node, grant_id, path);
	return end(path, BELOW_JOB, ret_error);
}
