/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's side of its daemon's socket, and of MUNGE. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/error.h"
#include "order.h"

#define TALK_FRAME_MAX (4 * 1024 * 1024)

/*
 * Connect; *ret_uid is the uid that the daemon runs as. -EPERM: neither as root
 * nor as we; -ENOENT, -ECONNREFUSED, ...
 */
int talk_connect(const char *path, int *ret_fd, uid_t *ret_uid,
		 struct fairlead_error *ret_error);
int talk_send(int fd, const struct writer *frame);
/* The caller frees *ret_frame. -EPIPE: the daemon is gone; -EBADMSG. */
int talk_receive(int fd, uint8_t **ret_frame, size_t *ret_size);
/*
 * A credential of the caller for its order, which only `reader` can read; the
 * caller frees it. munge_socket: NULL is libmunge's default.
 */
int talk_seal(const struct exec_order *order, const char *munge_socket,
	      uid_t reader, char **ret_credential,
	      struct fairlead_error *ret_error);
