/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's Cassini NICs: the pure model of src/emu/cxi/core, and the vendor's
 * library over it as the slingshot driver wants it. The library's functions
 * have no context, so one node's hardware is chosen before its driver is
 * called.
 *
 * The watcher is called for each service that comes and goes, and the daemon
 * may die in any call: then the call and all after it fail, and nothing more
 * happens, until hardware_revive().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "lanes/driver/slingshot/nic.h"
#include "emu/cxi/core/softnic.h"
#include "world.h"

struct hardware;

/* One service, as it was made. */
struct hardware_service {
	uint32_t nic;
	uint32_t svc_id;
	uint32_t uid; /* UINT32_MAX: it is not for one user alone */
	unsigned int vni_count;
	uint16_t vnis[CXI_SVC_MAX_VNIS];
};

struct hardware_events {
	void (*made)(void *ctx, const struct hardware_service *service);
	void (*gone)(void *ctx, uint32_t nic, uint32_t svc_id);
	/* A call of the driver begins: true when the daemon dies before it. */
	bool (*step)(void *ctx);
};

struct hardware_options {
	struct world *world;
	unsigned int nic_count;
	unsigned int generation;
	uint64_t cleanup_ms; /* of an LNI that is freed */
	const struct hardware_events *events;
	void *ctx;
};

struct hardware *hardware_create(const struct hardware_options *options);
void hardware_destroy(struct hardware *hardware);
DEFINE_AUTO(struct hardware, hardware_destroy)

/* State for slingshot_node_ops; the hardware's own. */
struct slingshot_node *hardware_driver_state(struct hardware *hardware);
/* Whose NICs the library's functions mean. NULL: none. */
void hardware_choose(struct hardware *hardware);

/* The daemon died inside a call; nothing happens until it is revived. */
void hardware_kill(struct hardware *hardware);
void hardware_revive(struct hardware *hardware);

/* The node has no power: everything is gone, without events. */
void hardware_reset(struct hardware *hardware);

/* --- faults and other users --- */

/* A call of the library fails; see struct softnic_fault. */
void hardware_fail(struct hardware *hardware, enum softnic_op op, int error,
		   uint64_t nth, uint64_t count);
/* Keep a service busy for a time. */
void hardware_busy(struct hardware *hardware, uint32_t nic, uint32_t svc_id,
		   uint64_t duration_ms);
/* No more failures, nobody keeps anything busy, all NICs are there. */
void hardware_heal(struct hardware *hardware);
/* Calls that failed since the beginning. */
uint64_t hardware_fault_count(const struct hardware *hardware);
/* What was on the NIC goes with it, with events. False: it is not there. */
bool hardware_remove(struct hardware *hardware, uint32_t nic);
bool hardware_restore(struct hardware *hardware, uint32_t nic);
bool hardware_is_present(const struct hardware *hardware, uint32_t nic);

/*
 * A process of this user opens an LNI of the service and keeps it: 0, or the
 * driver's errno. They are let go together.
 */
int hardware_hold(struct hardware *hardware, uint32_t uid, uint32_t nic,
		  uint32_t svc_id);
/* The same, let go at once. */
int hardware_try(struct hardware *hardware, uint32_t uid, uint32_t nic,
		 uint32_t svc_id);
void hardware_let_go(struct hardware *hardware, uint32_t uid);
void hardware_let_all_go(struct hardware *hardware);

/* Somebody makes a service of his own: its id, or an errno. */
int hardware_foreign_make(struct hardware *hardware, uint32_t nic, uint32_t uid,
			  uint16_t vni);
bool hardware_has(const struct hardware *hardware, uint32_t nic,
		  uint32_t svc_id, uint32_t uid);
int hardware_foreign_destroy(struct hardware *hardware, uint32_t nic,
			     uint32_t svc_id);

/* Services that are not the system's, in the model itself. */
unsigned int hardware_count(const struct hardware *hardware);
