/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network namespaces that a file keeps. What is on a name, a namespace or a
 * file that a crash left, is asked of the file system.
 */
#include "lanes/driver/ethernet/namespace.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

void namespace_path(const char *directory, uint64_t grant_id,
		    char path[NAMESPACE_PATH_MAX])
{
	int size = snprintf(path, NAMESPACE_PATH_MAX, "%s/%" PRIu64, directory,
			    grant_id);

	if (size < 0 || size >= NAMESPACE_PATH_MAX)
		path[0] = '\0';
}

static int find_path(const char *directory, uint64_t grant_id,
		     char path[NAMESPACE_PATH_MAX],
		     struct fairlead_error *ret_error)
{
	namespace_path(directory, grant_id, path);
	if (!path[0])
		return error_set(ret_error, -ENAMETOOLONG,
				 "'%s' is too long for a directory of "
				 "namespaces",
				 directory);
	return 0;
}

static int say(struct fairlead_error *ret_error, int code, const char *what,
	       const char *path)
{
	return error_set(ret_error, code, "cannot %s '%s': %s", what, path,
			 strerror(-code));
}

/* A network namespace: there are files of other kinds of them. */
static bool is_namespace(int fd)
{
	struct statfs stat;

	return fstatfs(fd, &stat) == 0 && stat.f_type == NSFS_MAGIC &&
	       ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET;
}

/* --- inside --- */

/* What one more thread does, since it cannot come back. */
struct visit {
	const char *path; /* of the file; fd: entered, or -1: made */
	int fd;
	struct netlink *netlink;
	int result;
	struct fairlead_error error;
};

static int raise_loopback(void)
{
	_auto_(closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo" };

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return -errno;
	request.ifr_flags |= IFF_UP;
	return ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

static int make(struct visit *visit)
{
	int result;

	if (unshare(CLONE_NEWNET) < 0)
		return error_set(&visit->error,
				 errno == EINVAL ? -EOPNOTSUPP : -errno,
				 "cannot make a network namespace: %s",
				 strerror(errno));
	result = raise_loopback();
	if (result < 0)
		return error_set(&visit->error, result,
				 "cannot set loopback up in a network "
				 "namespace: %s",
				 strerror(-result));
	if (mount("/proc/thread-self/ns/net", visit->path, NULL, MS_BIND,
		  NULL) < 0)
		return say(&visit->error, -errno,
			   "mount a network namespace on", visit->path);
	return 0;
}

static int enter(struct visit *visit)
{
	if (setns(visit->fd, CLONE_NEWNET) < 0)
		return say(&visit->error, -errno, "enter network namespace",
			   visit->path);
	return netlink_open(&visit->netlink, &visit->error);
}

static void *run(void *arg)
{
	struct visit *visit = arg;

	visit->result = visit->fd < 0 ? make(visit) : enter(visit);
	return NULL;
}

static int visit_do(struct visit *visit, struct fairlead_error *ret_error)
{
	pthread_t thread;
	int result = pthread_create(&thread, NULL, run, visit);

	if (result != 0)
		return error_set(ret_error, -result,
				 "cannot start a thread: %s", strerror(result));
	pthread_join(thread, NULL);
	if (visit->result < 0)
		return error_set(ret_error, visit->result, "%s",
				 visit->error.text);
	return 0;
}

/* --- the directory --- */

/* -EPERM: somebody else could put a name there. */
static int check_directory(const char *directory,
			   struct fairlead_error *ret_error)
{
	_auto_(closep) int fd =
		open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return say(ret_error, -errno, "open directory", directory);
	if (stat.st_uid != 0 || stat.st_mode & (S_IWGRP | S_IWOTH))
		return error_set(ret_error, -EPERM,
				 "directory '%s' can be written by others "
				 "than root",
				 directory);
	return 0;
}

/*
 * Does the mount only take part in what is mounted elsewhere, and give nothing
 * back? systemd gives such ones to units with a mount namespace of their own.
 */
static bool is_slave(uint64_t mount_id)
{
	_auto_(fclosep) FILE *file = fopen("/proc/self/mountinfo", "re");
	_auto_(freep) char *line = NULL;
	const char *master, *end;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		if (strtoull(line, NULL, 10) != mount_id)
			continue;
		master = strstr(line, " master:");
		end = strstr(line, " - ");
		return master && end && master < end;
	}
	return false;
}

static int check_visible(const char *directory,
			 struct fairlead_error *ret_error)
{
	struct statx stat;

	/* Kernels before 5.8 do not say. */
	if (statx(AT_FDCWD, directory, 0, STATX_MNT_ID, &stat) < 0 ||
	    !(stat.stx_mask & STATX_MNT_ID) || !is_slave(stat.stx_mnt_id))
		return 0;
	return error_set(ret_error, -EOPNOTSUPP,
			 "launchers would not see what is mounted in '%s': "
			 "this daemon has a mount namespace of its own "
			 "(PrivateTmp=, ProtectSystem=, ... in its unit)",
			 directory);
}

/*
 * Shared, so that what is mounted in it is seen in other mount namespaces, and
 * also goes from them. Only a mount can be shared.
 */
static int share_directory(const char *directory,
			   struct fairlead_error *ret_error)
{
	if (mount("", directory, NULL, MS_SHARED | MS_REC, NULL) == 0)
		return 0;
	if (errno != EINVAL ||
	    mount(directory, directory, NULL, MS_BIND | MS_REC, NULL) < 0 ||
	    mount("", directory, NULL, MS_SHARED | MS_REC, NULL) < 0)
		return say(ret_error, -errno, "share directory", directory);
	return 0;
}

int namespace_check(const char *directory, struct fairlead_error *ret_error)
{
	char parent[NAMESPACE_PATH_MAX];

	if (access("/proc/self/ns/net", F_OK) < 0)
		return error_set(ret_error, -EOPNOTSUPP,
				 "the kernel has no network namespaces");
	snprintf(parent, sizeof(parent), "%s", directory);
	/* It will be where the nearest one is that is there. */
	while (access(parent, F_OK) < 0 && strrchr(parent, '/') > parent)
		*strrchr(parent, '/') = '\0';
	return check_visible(parent, ret_error);
}

static int prepare_directory(const char *directory,
			     struct fairlead_error *ret_error)
{
	int result;

	if (mkdir(directory, 0755) < 0 && errno != EEXIST)
		return say(ret_error, -errno, "make directory", directory);
	result = check_directory(directory, ret_error);
	if (result == 0)
		result = check_visible(directory, ret_error);
	if (result == 0)
		result = share_directory(directory, ret_error);
	return result;
}

/* The file to mount on; an empty one that is there will do. */
static int make_file(const char *path, struct fairlead_error *ret_error)
{
	_auto_(closep) int fd =
		open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0444);

	if (fd < 0)
		return say(ret_error, -errno, "make", path);
	if (is_namespace(fd))
		return error_set(ret_error, -EEXIST,
				 "network namespace '%s' is there already",
				 path);
	return 0;
}

int namespace_create(const char *directory, uint64_t grant_id,
		     struct fairlead_error *ret_error)
{
	char path[NAMESPACE_PATH_MAX];
	struct visit visit = { .path = path, .fd = -1 };
	int result = find_path(directory, grant_id, path, ret_error);

	if (result == 0)
		result = prepare_directory(directory, ret_error);
	if (result == 0)
		result = make_file(path, ret_error);
	if (result < 0)
		return result;
	result = visit_do(&visit, ret_error);
	if (result < 0)
		unlink(path);
	return result;
}

int namespace_delete(const char *directory, uint64_t grant_id,
		     struct fairlead_error *ret_error)
{
	char path[NAMESPACE_PATH_MAX];
	int result = find_path(directory, grant_id, path, ret_error);

	if (result < 0)
		return result;
	/* Most lanes have none, and a unit that forbids umount2 all the same. */
	if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno == ENOENT)
		return 0;
	/* EINVAL: a file that a crash left, with nothing on it. */
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 &&
	    errno != EINVAL && errno != ENOENT)
		return say(ret_error, -errno, "unmount", path);
	if (unlink(path) < 0 && errno != ENOENT)
		return say(ret_error, -errno, "remove", path);
	return 0;
}

/* A descriptor of the namespace. */
static int open_namespace(const char *path, struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int result;

	if (fd < 0)
		return say(ret_error, -errno, "open network namespace", path);
	if (!is_namespace(fd))
		return error_set(ret_error, -ENOENT,
				 "'%s' is no network namespace", path);
	result = fd;
	fd = -1;
	return result;
}

int namespace_netlink(const char *directory, uint64_t grant_id,
		      struct netlink **ret_netlink,
		      struct fairlead_error *ret_error)
{
	char path[NAMESPACE_PATH_MAX];
	_auto_(closep) int fd = -1;
	struct visit visit = { .path = path };
	int result = find_path(directory, grant_id, path, ret_error);

	if (result < 0)
		return result;
	fd = open_namespace(path, ret_error);
	if (fd < 0)
		return fd;
	visit.fd = fd;
	result = visit_do(&visit, ret_error);
	if (result == 0)
		*ret_netlink = visit.netlink;
	return result;
}

int namespace_take(struct netlink *host, const char *directory,
		   uint64_t grant_id, const struct lane_device *device,
		   struct fairlead_error *ret_error)
{
	const struct ifinfomsg info = { .ifi_index = device->index };
	char path[NAMESPACE_PATH_MAX];
	_auto_(closep) int fd = -1;
	struct nl_msg *message;
	int result = find_path(directory, grant_id, path, ret_error);

	if (result < 0)
		return result;
	fd = open_namespace(path, ret_error);
	if (fd < 0)
		return fd;
	message = netlink_message(RTM_SETLINK, 0, &info, sizeof(info));
	nla_put_u32(message, IFLA_NET_NS_FD, (uint32_t)fd);
	return netlink_call(host, message, ret_error,
			    "cannot move device %s into network namespace '%s'",
			    device->name, path);
}

/* Its name is a grant id as we write it. */
static bool is_name(const char *name, uint64_t *ret_grant_id)
{
	char text[24];

	*ret_grant_id = strtoull(name, NULL, 10);
	snprintf(text, sizeof(text), "%" PRIu64, *ret_grant_id);
	return strcmp(text, name) == 0;
}

/*
 * Is a namespace mounted there? What a link leads to is not there: nobody could
 * enter it by that name.
 */
static int is_mounted(const char *path, bool *ret_is_mounted)
{
	_auto_(closep) int fd = -1;
	struct statfs system;
	struct stat stat;

	*ret_is_mounted = false;
	if (lstat(path, &stat) < 0 || statfs(path, &system) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(stat.st_mode) || system.f_type != NSFS_MAGIC)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	*ret_is_mounted = is_namespace(fd);
	return 0;
}

int namespace_list(const char *directory,
		   void (*emit)(void *arg, uint64_t grant_id), void *arg,
		   struct fairlead_error *ret_error)
{
	_auto_(closedirp) DIR *dir = opendir(directory);
	const struct dirent *entry;
	char path[NAMESPACE_PATH_MAX];
	uint64_t grant_id;
	bool is_there;

	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return say(ret_error, -EIO, "read directory", directory);
	while (errno = 0, (entry = readdir(dir))) {
		if (!is_name(entry->d_name, &grant_id))
			continue;
		if (find_path(directory, grant_id, path, ret_error) < 0 ||
		    is_mounted(path, &is_there) < 0)
			return say(ret_error, -EIO, "look at", path);
		if (is_there)
			emit(arg, grant_id);
	}
	return errno ? say(ret_error, -EIO, "read directory", directory) : 0;
}
