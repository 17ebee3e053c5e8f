/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's loop: connections, and the model behind them. */
#pragma once

#include "base/cleanup.h"
#include "base/log.h"
#include "base/seam.h"
#include "emu/cxi/daemon/dir.h"
#include "emu/cxi/daemon/options.h"

#define SERVER_DESCRIPTOR_RESERVE 32 /* that are not connections */

struct server;

/* Borrows dir, clock and log until server_destroy. */
int server_create(const struct softnic_options *options,
		  struct softnic_dir *dir, const struct clock_seam *clock,
		  const struct log *log, struct server **ret_server);
/* Serve until SIGTERM or SIGINT. */
int server_run(struct server *server, int ready_fd);
void server_destroy(struct server *server);
DEFINE_AUTO(struct server, server_destroy)
