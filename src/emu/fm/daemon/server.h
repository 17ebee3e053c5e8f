/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon: HTTP on one side, control on the other, the state on disk. */
#pragma once

#include "base/cleanup.h"
#include "base/log.h"
#include "base/seam.h"
#include "emu/fm/daemon/options.h"

struct softfm_server;

/*
 * Everything but the answers to clients; borrows options, clock, rng and log. A
 * failure is logged.
 */
int softfm_server_create(struct softfm_options *options,
			 const struct clock_seam *clock,
			 const struct rng_seam *rng, const struct log *log,
			 struct softfm_server **ret_server);
/* Serve until SIGTERM or SIGINT. */
int softfm_server_run(struct softfm_server *server);
void softfm_server_destroy(struct softfm_server *server);
DEFINE_AUTO(struct softfm_server, softfm_server_destroy)
