/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a caller wants done, as it stands in the credential that MUNGE has made
 * for it. All of it is the caller's word: nobody on the way can have the
 * command run on another node, for longer, or as somebody else.
 *
 *	u8 version, 16 bytes id, 16 bytes digest of the secret by which it is
 *	stopped, u32 timeout in ms, text nodes (a host list), text command
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "limits.h"

struct exec_order {
	uint8_t id[EXEC_ID_BYTES];
	uint8_t stop_digest[EXEC_ID_BYTES];
	uint32_t timeout_ms;
	char *nodes;
	char *command;
};

/* Writes to writer, which remembers what fails. */
void order_encode(const struct exec_order *order, struct writer *writer);
/* -EBADMSG; -EPROTONOSUPPORT: another version; -ENOMEM. */
int order_decode(const void *bytes, size_t size, struct exec_order *ret_order);
void order_fini(struct exec_order *order);

/* BLAKE2b-128. */
void exec_digest(const void *bytes, size_t size,
		 uint8_t ret_digest[EXEC_ID_BYTES]);
