/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a process becomes a job's on a node: the node's container, the job's
 * cgroup, its environment, its network, its owner; in this order, since root is
 * needed up to the last.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "emu/cluster/launch.h"
#include "emu/cluster/container.h"
#include "fairlead.h"
#include "lanes/driver/driver.h"

#define ISOLATION        "FAIRLEAD_ISOLATION"
#define ISOLATION_NETNS  "netns:"
#define NETWORK_PATH_MAX 256

/* What is installed for users of the cluster is found by its name. */
void launch_put_path(const struct cluster *cluster)
{
	const char *path = getenv("PATH");
	char joined[8192];

	snprintf(joined, sizeof(joined), "%s/softnic:%s", cluster->dir,
		 path ? path : "/usr/bin:/bin");
	setenv("PATH", joined, 1);
}

static int become(uid_t uid, gid_t gid, struct fairlead_error *ret_error)
{
	const struct passwd *user = getpwuid(uid);

	if (uid != geteuid() || gid != getegid()) {
		int result = user != NULL && user->pw_gid == gid
				     ? initgroups(user->pw_name, gid)
				     : setgroups(0, NULL);

		if (result < 0 || setresgid(gid, gid, gid) < 0 ||
		    setresuid(uid, uid, uid) < 0)
			return error_set(ret_error, -errno,
					 "cannot become uid %u: %s", uid,
					 strerror(errno));
	}
	if (user != NULL) {
		setenv("HOME", user->pw_dir, 1);
		setenv("USER", user->pw_name, 1);
		setenv("LOGNAME", user->pw_name, 1);
	}
	return 0;
}

int launch_become_owner(const struct cluster *cluster, uid_t uid,
			struct fairlead_error *ret_error)
{
	const struct passwd *user = getpwuid(uid);

	if (cluster->is_user_mode && uid != 0)
		return error_set(ret_error, -EPERM,
				 "only the user who made this cluster exists "
				 "in it, as uid 0");
	return become(uid, user ? user->pw_gid : (gid_t)uid, ret_error);
}

/* A task never inherits a lane's variables from us. */
static void unset(void *arg, const char *name)
{
	unsetenv(name);
}

/* What a job's environment file says. */
struct said {
	char isolation[NETWORK_PATH_MAX + sizeof(ISOLATION_NETNS)];
};

static void put_env(void *arg, const char *name, const char *value)
{
	struct said *said = arg;

	if (strcmp(name, ISOLATION) == 0)
		snprintf(said->isolation, sizeof(said->isolation), "%s",
			 value ? value : "");
	if (value == NULL)
		unsetenv(name);
	else
		setenv(name, value, 1);
}

static int read_env(const struct launch_job *job, struct said *said,
		    struct fairlead_error *ret_error)
{
	char key[160];
	int result = 0;

	driver_visit_variables(NULL, unset, NULL);
	if (job->has_lane)
		result = fairlead_env_read(NULL, job->submitter, job->job,
					   job->attempt, job->uid, put_env,
					   said, ret_error);
	snprintf(key, sizeof(key), "%s/%s/%u", job->submitter, job->job,
		 job->attempt);
	setenv("FAIRLEAD_JOB", key, 1);
	return result;
}

/* No cgroup was made for it: the job is known by its owner only. */
static int enter_cgroup(uint64_t grant_id, struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = -1;
	char path[128];

	snprintf(path, sizeof(path),
		 CONTAINER_CGROUP "/job-%" PRIu64 "/cgroup.procs", grant_id);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || write(fd, "0", 1) != 1)
		return error_set(ret_error, -errno,
				 "cannot enter the job's cgroup '%s': %s", path,
				 strerror(errno));
	return 0;
}

/*
 * The environment file is its owner's, who can write it, and we are root: only
 * a network that has this job's number is entered, and no link to another.
 */
static int open_network(const char *path, uint64_t grant_id)
{
	const char *name = strrchr(path, '/');
	char number[24];
	struct statfs statfs;
	int fd;

	snprintf(number, sizeof(number), "%" PRIu64, grant_id);
	if (path[0] != '/' || strcmp(name + 1, number) != 0)
		return -EPERM;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &statfs) == 0 && statfs.f_type == NSFS_MAGIC)
		return fd;
	close(fd);
	return -EPERM;
}

static int enter_network(const char *isolation, uint64_t grant_id,
			 struct fairlead_error *ret_error)
{
	const char *path = isolation + strlen(ISOLATION_NETNS);
	_auto_(closep) int fd = -1;

	if (strncmp(isolation, ISOLATION_NETNS, strlen(ISOLATION_NETNS)) != 0)
		return 0;
	fd = open_network(path, grant_id);
	if (fd < 0)
		return error_set(ret_error, fd,
				 "cannot enter the job's network '%s': %s",
				 path, strerror(-fd));
	if (setns(fd, CLONE_NEWNET) < 0)
		return error_set(ret_error, -errno,
				 "cannot enter the job's network '%s': %s",
				 path, strerror(errno));
	return 0;
}

int launch_enter_as_root(const struct cluster_node *node,
			 const struct launch_job *job,
			 struct fairlead_error *ret_error)
{
	struct said said = { 0 };
	int result = container_enter(&node->holder, ret_error);

	if (result == 0)
		result = enter_cgroup(job->grant_id, ret_error);
	if (result == 0)
		result = read_env(job, &said, ret_error);
	if (result == 0)
		result =
			enter_network(said.isolation, job->grant_id, ret_error);
	return result;
}

int launch_drop_root(const struct cluster *cluster,
		     const struct launch_job *job,
		     struct fairlead_error *ret_error)
{
	int result = become(job->uid, job->gid, ret_error);

	if (result == 0)
		launch_put_path(cluster);
	return result;
}

int launch_enter(const struct cluster *cluster, const struct cluster_node *node,
		 const struct launch_job *job, struct fairlead_error *ret_error)
{
	int result = launch_enter_as_root(node, job, ret_error);

	return result == 0 ? launch_drop_root(cluster, job, ret_error) : result;
}
