/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The half of the daemon with privileges: asks munged for the user of a
 * credential, and runs its command as that user. It has no network socket, and
 * reads only the requests below, credentials, and their payload.
 *
 * The other half sends it requests over a socket of packets. Each has one
 * answer, in order, also when it is malformed (EBADMSG):
 *
 *	u8 op, u64 tag, u32 uid, blob credential
 *	u64 tag, u32 errno or 0, text; with 0: u32 index, u32 timeout in ms,
 *	16 bytes digest of the stop secret, text nodes
 *
 * With the answer to START come two descriptors: the end of a pipe that the
 * command writes to, and a socket to its supervisor (supervise.h).
 *
 * A credential is good for one START on a node.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/log.h"
#include "config.h"

enum launcher_op {
	LAUNCHER_CHECK = 1, /* is it uid's, and permitted? */
	LAUNCHER_START,
};

#define LAUNCHER_NO_INDEX UINT32_MAX

struct launcher_answer {
	uint64_t tag;
	int result;     /* 0 or a negative errno */
	char text[256]; /* the reason */
	uint32_t index; /* of this node in the list */
	uint32_t timeout_ms;
	uint8_t stop_digest[EXEC_ID_BYTES];
	char *nodes;               /* the caller frees it */
	int output_fd, control_fd; /* of START; else -1 */
};

/* Fork it. *ret_fd is our end; the launcher ends when it is closed. */
int launcher_start(const struct exec_config *config, const struct log *log,
		   int *ret_fd, struct fairlead_error *ret_error);
/* -EMSGSIZE, or what the socket has. */
int launcher_ask(int fd, enum launcher_op op, uint64_t tag, uid_t uid,
		 const char *credential, size_t size);
/* Waits for an answer. -ECONNRESET: the launcher ended; -EBADMSG. */
int launcher_receive(int fd, struct launcher_answer *ret_answer);
