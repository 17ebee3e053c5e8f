/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data path's plumbing: descriptors of attached processes, the socket by
 * which adapters of nodes talk, and time, around rms/adapter. A process is
 * given two descriptors (elan/wire/wire.h); a message is accepted
 * only if the kernel says that the attached process sent it.
 */
#pragma once

#include <uv.h>

#include "base/error.h"
#include "elan/adapter/adapter.h"
#include "elan/core/registry.h"
#include "elan/wire/wire.h"

#define PORTS_UDP_DEFAULT 7174

struct rms_ports;

/*
 * address: where the adapters of other nodes reach this one, numeric, with a
 * port or not; NULL: they do not. port_max: that there may be at once. Borrows
 * loop and clock. With a text.
 */
int ports_create(uv_loop_t *loop, struct registry *registry,
		 const struct clock_seam *clock, const char *address,
		 unsigned int port_max, struct rms_ports **ret_ports,
		 struct fairlead_error *ret_error);
/* The loop has to run once more. The registry has no use for it any more. */
void ports_destroy(struct rms_ports *ports);

/*
 * For an attached process: its ends of the descriptors, for the caller to
 * close. As adapter_open(); -ENOMEM: there are as many as may be, too.
 */
int ports_open(struct rms_ports *ports, const struct caller *caller,
	       int32_t rail, int32_t context,
	       int ret_fds[RMS_PORT_DESCRIPTORS]);
/* After whatever may have changed the registry. */
void ports_look(struct rms_ports *ports);
