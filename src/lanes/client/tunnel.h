/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A manager over TCP (doc/rfc/client-protocol.md): puts requests into
 * envelopes and takes answers out of them. Both wait for munged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "lanes/proto/envelope.h"

struct tunnel;

/* Is it "tcp://..."? */
bool tunnel_is_url(const char *text);
/*
 * Begin to connect to "tcp://[USER@]HOST:PORT"; *ret_fd is the caller's.
 * -EINVAL, -ENXIO (no such host), -ENOPKG, ... with a text.
 */
int tunnel_open(const char *url, int *ret_fd, struct tunnel **ret_tunnel,
		struct fairlead_error *ret_error);
void tunnel_close(struct tunnel *tunnel);
DEFINE_AUTO(struct tunnel, tunnel_close)

/*
 * Append length and envelope of a request's text. Those of munge_seal() and
 * envelope_encode(), with a text; the writer is then as before.
 */
int tunnel_wrap(struct tunnel *tunnel, const char *text, size_t size,
		struct writer *out, struct fairlead_error *ret_error);
/*
 * The answer in a frame (envelope_fini). -ECONNRESET: the manager has refused
 * in plain, its text is the error's; -EPROTO: it is not the manager's answer.
 */
int tunnel_unwrap(struct tunnel *tunnel, const uint8_t *bytes, size_t size,
		  struct envelope *ret_answer,
		  struct fairlead_error *ret_error);
