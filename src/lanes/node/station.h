/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the manager's collectives reach a node: its endpoint, opened when it is
 * known by which address the node reaches the manager, and what its agent has
 * to do with it.
 *
 *	station_create -> agent_create -> station_serve
 *	a link is up: station_open
 *	station_close -> agent_destroy -> station_destroy
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/log.h"
#include "lanes/config/config.h"
#include "lanes/proto/keyfile.h"

struct agent;
struct station;

/* By reference: fabric, log. -ENOMEM. */
int station_create(uv_loop_t *loop, const struct config_fabric *fabric,
		   const char *node, const struct log *log,
		   struct station **ret_station);
/* At once; the agent hears the end of what is under way from inside. */
void station_close(struct station *station);
/* After it was closed; NULL is allowed. */
void station_destroy(struct station *station);

/* The keys, now and whenever they have changed. */
void station_keys(struct station *station, const struct hop_keys *keys);
/* Whose part in collectives it is. */
void station_serve(struct station *station, struct agent *agent);
/* As those of struct agent_ops. */
void station_returned(struct station *station);
void station_gathered(struct station *station, uint64_t collective,
		      const void *bytes, size_t size, bool is_last);
/*
 * The manager was reached from the address `local`: open the endpoint, if there
 * is none yet, and tell the agent where it is. What fails goes to the log, and
 * is tried again next time. -EADDRNOTAVAIL: its address was this machine's and
 * is no more, which takes a restart.
 */
int station_open(struct station *station, const char *local);
