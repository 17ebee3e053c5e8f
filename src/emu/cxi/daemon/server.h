/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's loop: connections, and the model behind them. */
#pragma once

#include "base/cleanup.h"
#include "base/log.h"
#include "base/seam.h"
#include "emu/cxi/daemon/dir.h"
#include "emu/cxi/daemon/options.h"

#define SERVER_DESCRIPTOR_RESERVE 32 /* that are not connections */

struct softnic_server;

/* Borrows dir, clock and log until softnic_server_destroy. */
int softnic_server_create(const struct softnic_options *options,
			  struct softnic_dir *dir,
			  const struct clock_seam *clock, const struct log *log,
			  struct softnic_server **ret_server);
/* Serve until SIGTERM or SIGINT. */
int softnic_server_run(struct softnic_server *server, int ready_fd);
void softnic_server_destroy(struct softnic_server *server);
DEFINE_AUTO(struct softnic_server, softnic_server_destroy)
