/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out the requests of core/outside.h at the fabric manager of one
 * interconnect, on a libuv loop: with credentials from files, under the names
 * of name.h, by fabric_manager.h over HTTPS.
 */
#pragma once

#include <uv.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "fairlead_driver.h"
#include "lanes/manager/core/core.h"
#include "lanes/manager/core/outside.h"

struct backend;

/*
 * Read the credentials. Everything is copied but ctx. done: how a request
 * ended; never called within backend_send(). -EINVAL, -ENOENT, -EPERM and the
 * like with a text that names the file.
 */
int backend_create(uv_loop_t *loop, const struct fairlead_outside *terms,
		   const char *cluster,
		   void (*done)(void *ctx, uint64_t id,
				const struct outside_end *end),
		   void *ctx, struct backend **ret_backend,
		   struct fairlead_error *ret_error);
/* Requests that are under way end with -EAGAIN. NULL is allowed. */
void backend_cancel(struct backend *backend);
/* Requests that are under way end without a call. NULL is allowed. */
void backend_destroy(struct backend *backend);
DEFINE_AUTO(struct backend, backend_destroy)

void backend_send(struct backend *backend,
		  const struct outside_request *request);
