/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LEASE to many nodes (doc/rfc/fan-out.md): the manager is there, and who
 * confirms is up for as long.
 */
#pragma once

#include "lanes/manager/internal.h"

/*
 * In as few commands as there may be, best with the names in order.
 */
void lease_send(struct engine *engine, const char *const *names, size_t count,
		enum command_owner owner);
