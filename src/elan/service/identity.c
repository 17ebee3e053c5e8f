/* SPDX-License-Identifier: BSD-3-Clause */
/* SO_PEERPIDFD where there is one, else SO_PEERCRED and a look at the uid. */
#include "elan/service/identity.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elan/service/proc.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* /proc/PID is the effective uid's, or root's where it may not be dumped. */
static int open_by_pid(const struct ucred *peer)
{
	int pidfd = (int)syscall(SYS_pidfd_open, peer->pid, 0);
	struct stat status;
	char path[32];

	if (pidfd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d", peer->pid);
	if (stat(path, &status) < 0 ||
	    (status.st_uid != peer->uid && status.st_uid != 0)) {
		close(pidfd);
		return -ESRCH;
	}
	return pidfd;
}

static int open_peer(int fd, const struct ucred *peer)
{
	socklen_t size = sizeof(int);
	int pidfd = -1;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0)
		return pidfd;
	return errno == ENOPROTOOPT ? open_by_pid(peer) : -ESRCH;
}

int identity_of(int fd, const struct ucred *peer, struct caller *ret_caller,
		int *ret_pidfd)
{
	struct proc_stat stat;
	int pidfd;

	if (peer->pid <= 0)
		return -EACCES;
	pidfd = open_peer(fd, peer);
	if (pidfd < 0)
		return pidfd;
	/* While it lives its pid is nobody else's. */
	if (proc_stat(peer->pid, &stat) < 0 || proc_has_ended(pidfd)) {
		close(pidfd);
		return -ESRCH;
	}
	*ret_caller = (struct caller){
		.process = { .pid = peer->pid, .start = stat.start },
		.uid = peer->uid,
	};
	*ret_pidfd = pidfd;
	return 0;
}
