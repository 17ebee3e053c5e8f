/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Send LEASE to many nodes (doc/rfc/fan-out.md); a node that confirms is up
 * until the lease ends.
 */
#pragma once

#include "lanes/manager/internal.h"

/* Uses as few commands as possible; sorted names give fewer. */
void lease_send(struct engine *engine, const char *const *names, size_t count,
		enum command_owner owner);

/*
 * A manager that has started, or has read its journal again, knows from it who
 * has registered and where, but none of them is up: it has them called back.
 *
 *	recall_tick -> LEASE to all of them -> each that gets it registers
 */
bool recall_is_due(const struct engine *engine);
void recall_tick(struct engine *engine);

/* A node of such a fan-out. False: it has left the configuration. */
bool recall_member(const struct engine *engine, const char *node,
		   uint8_t ret_incarnation[INCARNATION_SIZE]);
