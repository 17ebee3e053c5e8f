/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MUNGE: credentials by which users of one cluster show who they are on
 * another machine. libmunge is loaded when it is wanted, so that nothing needs
 * it that does not use it.
 *
 * Calls wait for munged, the daemon on this machine: mostly less than a
 * millisecond, some seconds when it hangs. A struct munge does not change once
 * it is open: any thread may call with it.
 *
 * Errors have a text. -ENOPKG: libmunge is not installed; -EHOSTDOWN: munged
 * does not answer; -EKEYEXPIRED: too old, or of the future; -EKEYREJECTED: it
 * was shown before, is for somebody else, or is no credential of this
 * cluster; -ENOMEM.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

struct munge;

/* socket: munged's (copied); "" stands for libmunge's default. */
int munge_open(const char *socket, struct munge **ret_munge,
	       struct fairlead_error *ret_error);
void munge_close(struct munge *munge);
DEFINE_AUTO(struct munge, munge_close)

/* A credential of the caller's euid that only `reader` can read; free it. */
int munge_seal(const struct munge *munge, uid_t reader, const void *payload,
	       size_t size, char **ret_credential,
	       struct fairlead_error *ret_error);
/* Each can be read once on a machine. The caller frees *ret_payload. */
int munge_unseal(const struct munge *munge, const char *credential,
		 void **ret_payload, size_t *ret_size, uid_t *ret_uid,
		 struct fairlead_error *ret_error);
/* What a person can do about an error of these calls, or "". */
const char *munge_hint(int code);
