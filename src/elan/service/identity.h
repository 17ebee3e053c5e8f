/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is at the other end of a connection. */
#pragma once

#include <sys/socket.h>

#include "elan/core/registry.h"

/*
 * As the kernel says: the process and the effective uid that connected, held by
 * a descriptor that is this process's for good. Where the kernel gives it
 * (Linux 6.5) there is no doubt; before, a process that has ended meanwhile
 * differs from one that has its pid by the uid only, so that another process of
 * the same user could take its place. -EACCES: its PID is not ours to see;
 * -ESRCH: it has ended. The caller closes *ret_pidfd.
 */
int identity_of(int fd, const struct ucred *peer, struct caller *ret_caller,
		int *ret_pidfd);
