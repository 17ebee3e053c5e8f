/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's loop: connections, and the model behind them. One request of a
 * connection at a time; a client that does not read its answers is not read
 * from, and holds up nobody.
 */
#pragma once

#include "base/cleanup.h"
#include "base/log.h"
#include "base/seam.h"
#include "emu/cxi/daemon/rundir.h"

/*
 * Connections, over all and of one unprivileged uid; more get -EUSERS. Fewer
 * where the process may not have as many descriptors.
 */
#define SERVER_CLIENT_MAX         1024
#define SERVER_CLIENT_UID_MAX     512
#define SERVER_DESCRIPTOR_RESERVE 32 /* that are not connections */

struct server_options {
	struct softnic_config config;
	bool owner_is_root; /* the daemon's uid counts as privileged */
	int ready_fd;       /* gets a byte when clients can connect; or -1 */
};

struct server;

/* Borrows rundir, clock and log until server_destroy. */
int server_create(const struct server_options *options, struct rundir *rundir,
		  const struct clock_seam *clock, const struct log *log,
		  struct server **ret_server);
/* Serve until SIGTERM or SIGINT. */
int server_run(struct server *server);
void server_destroy(struct server *server);
DEFINE_AUTO(struct server, server_destroy)
