/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's loop: clients, and the registry behind them. One request after
 * the other; a client that does not read its answer is let go.
 */
#pragma once

#include "base/log.h"
#include "base/seam.h"
#include "elan/service/keepers.h"
#include "elan/service/notes.h"

#define SERVER_DESCRIPTOR_RESERVE 256  /* that are not connections' */
#define SERVER_LOOK_MS            1000 /* between two looks, where they count */

/* The command line. Texts are borrowed from argv. */
struct rms_options {
	const char *dir;
	enum keeper_mode mode;
	int ready_fd; /* gets a byte when clients can connect; or -1 */
	/* Which rails there are; not has_rails: those that were said before. */
	bool has_rails;
	uint32_t rails;
	const char *adapter; /* where other nodes reach this one; or NULL */
};

struct rms_server;

/* Borrows notes, clock and log until rms_server_destroy. With a text. */
int rms_server_create(const struct rms_options *options, struct notes *notes,
		      const struct clock_seam *clock, const struct log *log,
		      struct rms_server **ret_server,
		      struct fairlead_error *ret_error);
/* Serve until SIGTERM or SIGINT. */
int rms_server_run(struct rms_server *server, int ready_fd);
void rms_server_destroy(struct rms_server *server);
DEFINE_AUTO(struct rms_server, rms_server_destroy)
