/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of scoll-exec and its daemons, and the frames between them. */
#pragma once

#define EXEC_NODES_MAX      16384 /* of the configuration, and of a request */
#define EXEC_COMMAND_MAX    32768 /* bytes of a command */
#define EXEC_LIST_MAX       32768 /* bytes of a host list */
#define EXEC_CREDENTIAL_MAX 131072
#define EXEC_FRAME_MAX      (EXEC_CREDENTIAL_MAX + 64)
#define EXEC_OUTPUT_MAX     65536             /* bytes of one node's output */
#define EXEC_OUTPUTS_MAX    (8 * 1024 * 1024) /* of a whole answer */
#define EXEC_PART_BYTES     1048576           /* of one part of an answer */
#define EXEC_TIMEOUT_MS_MAX (24 * 3600 * 1000)
#define EXEC_ID_BYTES       16 /* of ids, secrets and digests */

#define EXEC_SOCKET         "/run/scoll-exec/socket"
#define EXEC_CONFIG         "/etc/scoll-exec.conf"

/* The first byte of a frame (sys/net.h) between the client and its daemon. */
enum exec_frame {
	EXEC_FRAME_RUN = 1, /* 16 bytes secret, blob credential */
	EXEC_FRAME_STOP,    /* the command of this connection */
	EXEC_FRAME_LIST,
	EXEC_FRAME_RESULTS, /* a part, as results.h has it */
	EXEC_FRAME_FAILED,  /* text reason, then indexes of nodes: u32 each */
	EXEC_FRAME_END,     /* u32 errno or 0, text */
	EXEC_FRAME_NODES,   /* u8 stealthy, text alive, text dead */
};
