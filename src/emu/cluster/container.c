/* SPDX-License-Identifier: BSD-3-Clause */
/* Places: namespaces of the emulated cluster's machines. */
#include "emu/cluster/container.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "emu/cluster/sysfs.h"

#define CONTAINER_NAMESPACES \
	(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS)
#define SWEEP_MAX 4096
#define SPACES    4

static const char *const spaces[SPACES] = { "net", "uts", "ipc", "mnt" };

static int write_file(const char *path, const char *text)
{
	_auto_(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

/* Not everybody may: what is pinned there is not the container's own then. */
static void mount_bpf(void)
{
	(void)mount("bpf", "/sys/fs/bpf", "bpf", MS_NOSUID | MS_NODEV,
		    "mode=0700");
}

static int mount_cgroup(const char *cgroup)
{
	if (cgroup == NULL)
		return 0;
	if (mkdir(CONTAINER_CGROUP, 0755) < 0 ||
	    mount(cgroup, CONTAINER_CGROUP, NULL, MS_BIND, NULL) < 0)
		return -errno;
	return write_file(CONTAINER_CGROUP "/cgroup.procs", "0");
}

static int mount_private(const struct container_spec *spec)
{
	/* run_dir may lie below /run, which is about to be covered. */
	_auto_(closep) int fd =
		open(spec->run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char source[64];

	if (fd < 0)
		return -errno;
	snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV,
		  "mode=0755,size=64m") < 0 ||
	    mkdir("/run/fairlead", 0755) < 0 ||
	    mount(source, "/run/fairlead", NULL, MS_BIND, NULL) < 0 ||
	    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV,
		  "mode=1777") < 0)
		return -errno;
	mount_bpf();
	sysfs_add_nics(spec->nic_count);
	return mount_cgroup(spec->cgroup);
}

/* fd: says that it is ready, and hears that it is recorded. */
static void hold(const struct container_spec *spec, int fd)
{
	char title[16], recorded;
	int result = 0;

	setsid();
	if (unshare(CONTAINER_NAMESPACES) < 0 ||
	    sethostname(spec->name, strlen(spec->name)) < 0)
		result = -errno;
	if (result == 0)
		result = mount_private(spec);
	if (write(fd, &result, sizeof(result)) < 0 || result < 0 ||
	    read(fd, &recorded, 1) != 1)
		_exit(1);
	if (chdir("/") < 0)
		_exit(1);
	close_range(0, ~0u, 0);
	snprintf(title, sizeof(title), "fl-%s", spec->name);
	prctl(PR_SET_NAME, title);
	signal(SIGHUP, SIG_IGN);
	for (;;)
		pause();
}

/* What the holder said, when it is recorded. */
static int holder_wait(const struct container_spec *spec, int fd, pid_t pid,
		       struct cluster_process *ret_holder,
		       struct fairlead_error *ret_error)
{
	struct cluster_process holder;
	int result = -ECHILD;

	if (read(fd, &result, sizeof(result)) < 0)
		result = -errno;
	if (result == 0)
		result = process_of(pid, &holder);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot make namespaces for '%s': %s",
				 spec->name, strerror(-result));
	*ret_holder = holder;
	result = spec->record(spec->record_arg, ret_error);
	if (result == 0 && send(fd, "", 1, MSG_NOSIGNAL) != 1)
		result = error_set(ret_error, -ECHILD,
				   "the holder of '%s' has ended", spec->name);
	if (result < 0)
		*ret_holder = (struct cluster_process){ 0 };
	return result;
}

int container_create(const struct container_spec *spec,
		     struct cluster_process *ret_holder,
		     struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = -1;
	int fds[2], result;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return error_set(ret_error, -errno, "cannot make a socket: %s",
				 strerror(errno));
	fd = fds[0];
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		hold(spec, fds[1]);
	}
	close(fds[1]);
	if (pid < 0)
		return error_set(ret_error, -EAGAIN, "cannot fork");
	result = holder_wait(spec, fd, pid, ret_holder, ret_error);
	if (result < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return result;
}

static int enter(const struct cluster_process *holder, int namespaces,
		 struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = -1;

	if (!process_is_alive(holder))
		return error_set(ret_error, -ESRCH,
				 "the process that keeps the emulated node is "
				 "gone; run 'fairlead cluster down' and 'up'");
	fd = pidfd_open(holder->pid, 0);
	if (fd < 0 || setns(fd, namespaces) < 0)
		return error_set(ret_error, -errno,
				 "cannot enter the emulated node: %s",
				 strerror(errno));
	return 0;
}

int container_enter(const struct cluster_process *holder,
		    struct fairlead_error *ret_error)
{
	_auto_(freep) char *cwd = getcwd(NULL, 0);
	int result = enter(holder, CONTAINER_NAMESPACES, ret_error);

	if (result < 0)
		return result;
	result = write_file(CONTAINER_CGROUP "/cgroup.procs", "0");
	if (result < 0 && result != -ENOENT)
		return error_set(ret_error, result,
				 "cannot enter the emulated node's cgroup: %s",
				 strerror(-result));
	if (cwd == NULL || chdir(cwd) < 0)
		return chdir("/") < 0 ? -errno : 0;
	return 0;
}

int container_enter_user(const struct cluster_process *holder,
			 struct fairlead_error *ret_error)
{
	return enter(holder, CLONE_NEWUSER, ret_error);
}

int container_become_root(struct fairlead_error *ret_error)
{
	char uids[64], gids[64];
	int result = 0;

	snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
	snprintf(gids, sizeof(gids), "0 %u 1", getegid());
	if (unshare(CLONE_NEWUSER) < 0)
		result = -errno;
	if (result == 0)
		result = write_file("/proc/self/setgroups", "deny");
	if (result == 0)
		result = write_file("/proc/self/uid_map", uids);
	if (result == 0)
		result = write_file("/proc/self/gid_map", gids);
	if (result < 0)
		return error_set(
			ret_error, result,
			"not root, and this system does not let "
			"users make namespaces (%s): run it as root, "
			"or ask for kernel.unprivileged_userns_clone=1",
			strerror(-result));
	return 0;
}

/* Any: a process may have a network of its own there, as a job's tasks do. */
static bool is_inside(pid_t pid, const struct stat wanted[SPACES])
{
	struct stat found;
	char path[64];

	for (size_t i = 0; i < SPACES; i++) {
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid,
			 spaces[i]);
		if (stat(path, &found) == 0 &&
		    found.st_dev == wanted[i].st_dev &&
		    found.st_ino == wanted[i].st_ino)
			return true;
	}
	return false;
}

static int spaces_find(const struct cluster_process *holder,
		       struct stat ret_found[SPACES])
{
	char path[64];

	for (size_t i = 0; i < SPACES; i++) {
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)holder->pid,
			 spaces[i]);
		if (stat(path, &ret_found[i]) < 0)
			return -ESRCH;
	}
	return process_is_alive(holder) ? 0 : -ESRCH;
}

static bool is_kept(pid_t pid, const struct cluster_process *holder,
		    const struct cluster_process *kept, size_t count)
{
	if (pid == holder->pid || pid == getpid())
		return true;
	for (size_t i = 0; i < count; i++)
		if (kept[i].pid == pid)
			return true;
	return false;
}

int container_sweep(const struct cluster_process *holder,
		    const struct cluster_process *kept, size_t count,
		    uint32_t grace_ms)
{
	_auto_(freep) struct cluster_process *found =
		memory_array(SWEEP_MAX, sizeof(*found));
	size_t found_count = 0;
	struct stat wanted[SPACES];
	struct dirent *entry;
	DIR *proc;

	if (spaces_find(holder, wanted) < 0)
		return -ESRCH;
	proc = opendir("/proc");
	if (proc == NULL)
		return -errno;
	while ((entry = readdir(proc)) != NULL && found_count < SWEEP_MAX) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 0 && is_inside(pid, wanted) &&
		    !is_kept(pid, holder, kept, count) &&
		    process_of(pid, &found[found_count]) == 0)
			found_count++;
	}
	closedir(proc);
	for (size_t i = 0; i < found_count; i++)
		process_stop(&found[i], grace_ms);
	return 0;
}

static int run_ip(const struct cluster_process *holder, int in_fd)
{
	struct fairlead_error error;

	if (container_enter(holder, &error) < 0 ||
	    dup2(in_fd, STDIN_FILENO) < 0)
		return 126;
	execlp("ip", "ip", "-force", "-batch", "-", NULL);
	dprintf(STDERR_FILENO, "cannot run 'ip': %s\n", strerror(errno));
	return 127;
}

int container_ip(const struct cluster_process *holder, const char *lines,
		 struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = memfd_create("ip", MFD_CLOEXEC);
	size_t size = strlen(lines);
	int status;
	pid_t pid;

	if (fd < 0 || write(fd, lines, size) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return error_set(ret_error, -errno, "cannot pass on to 'ip'");
	pid = fork();
	if (pid == 0)
		_exit(run_ip(holder, fd));
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return error_set(ret_error, -errno, "cannot run 'ip'");
	if (status != 0)
		return error_set(ret_error, -EIO,
				 "'ip' failed to set up the emulated network "
				 "(is the package iproute2 installed?)");
	return 0;
}
