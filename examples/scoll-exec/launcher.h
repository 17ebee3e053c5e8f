/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The half of the daemon that has privileges: asks munged who a credential is
 * of, and starts what it says as that user. It has no socket to the network,
 * and reads nothing but what is below, credentials, and what is in those.
 *
 * The other half talks to it over a socket of packets, one answer for each
 * question, in order, also for one that is not understood (EBADMSG):
 *
 *	u8 op, u64 tag, u32 uid, blob credential
 *	u64 tag, u32 errno or 0, text; with 0: u32 place, u32 timeout in ms,
 *	16 bytes digest of the stop secret, text nodes
 *
 * With the answer to START come two descriptors: the end of a pipe that the
 * command writes to, and a socket to its supervisor (supervise.h).
 *
 * A credential is good for one START on a node, however often it comes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/log.h"
#include "config.h"

enum launcher_op {
	LAUNCHER_CHECK = 1, /* is it uid's, and may it be run? */
	LAUNCHER_START,
};

#define LAUNCHER_NO_PLACE UINT32_MAX

struct launcher_answer {
	uint64_t tag;
	int result;     /* 0 or a negative errno */
	char text[256]; /* why */
	uint32_t place; /* of this node in the list */
	uint32_t timeout_ms;
	uint8_t stop_digest[EXEC_ID_BYTES];
	char *nodes;               /* the caller frees it */
	int output_fd, control_fd; /* of START; else -1 */
};

/* Fork it. *ret_fd is our end; it goes when that is closed. */
int launcher_start(const struct exec_config *config, const struct log *log,
		   int *ret_fd, struct fairlead_error *ret_error);
/* -EMSGSIZE, or what the socket has. */
int launcher_ask(int fd, enum launcher_op op, uint64_t tag, uid_t uid,
		 const char *credential, size_t size);
/* 1, or 0: there is none yet; -EPIPE: it is gone; -EBADMSG. */
int launcher_hear(int fd, struct launcher_answer *ret_answer);
