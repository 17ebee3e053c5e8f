/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LEASE to many nodes (doc/rfc/fan-out.md): the manager is there, and who
 * confirms is up for as long.
 */
#pragma once

#include "lanes/manager/fanout.h"

/*
 * In as few commands as there may be, best with the names in order. Without
 * memory it does not come to all of them.
 */
void lease_send(struct engine *engine, const char *const *names, size_t count,
		enum fanout_owner owner);
