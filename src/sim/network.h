/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network in virtual time that fails as networks do, and worse: its frames
 * may be lost, doubled, overtaken or arrive long after their connection is
 * gone, as with a relay in between.
 *
 * A *host* is what one process has of the network. It stands on a *machine*,
 * which is a name that outlives it; a machine can be cut off, and frames that
 * are late or injected find whatever connection there is between two machines.
 *
 *	sim_host_create -> sim_host_listen, sim_host_dial -> events
 *	-> sim_host_destroy
 *
 * Events come from the queue only, never from within a call: `opened`, then
 * `received` for each frame, and exactly one `closed`; a dial that fails has
 * `closed` alone. Peers are handles that are never reused, and never 0.
 *
 * One thread. When memory runs out, the process ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/seam.h"
#include "sim/queue.h"
#include "sim/rng.h"

#define SIM_DIAL_TIMEOUT_MS 10000

struct sim_network;
struct sim_host;

/* Chances are per million: of each frame, broken of its connection. */
struct sim_network_faults {
	uint32_t delay_min_ms, delay_max_ms; /* of everything */
	uint32_t lost;
	uint32_t doubled;
	uint32_t reordered;      /* others overtake it */
	uint32_t reorder_max_ms; /* by so much at most */
	uint32_t late;           /* it leaves its connection behind */
	uint32_t late_max_ms;
	uint32_t broken; /* sending it breaks the connection */
	uint32_t full;   /* the queue is full: -ENOBUFS */
};

struct sim_network_stats {
	uint64_t sent, received;
	uint64_t lost, doubled, reordered, late, broken, full;
	uint64_t cut;      /* frames and closes that met a machine cut off */
	uint64_t refused;  /* dials to where nobody listens */
	uint64_t timeouts; /* dials that nobody answered */
	uint64_t reset;    /* frames for an end that is gone */
	uint64_t injected; /* of those injected, what found a connection */
};

struct sim_network_events {
	/* machine, uid: of the other side, as its dial said. */
	void (*opened)(void *ctx, uint64_t peer, const char *machine,
		       uid_t uid);
	void (*received)(void *ctx, uint64_t peer, const void *frame,
			 size_t size);
	void (*closed)(void *ctx, uint64_t peer);
};

/* Sees every frame when it is sent, before anything happens to it. */
typedef void sim_tap_fn(void *ctx, const char *from, const char *to,
			uint64_t peer, const void *frame, size_t size);

/* queue has to outlive the network; rng is a copy. Without faults at first. */
struct sim_network *sim_network_create(struct sim_queue *queue,
				       const struct sim_rng *rng);
/* With its hosts. NULL is allowed. */
void sim_network_destroy(struct sim_network *network);
DEFINE_AUTO(struct sim_network, sim_network_destroy)

void sim_network_set_faults(struct sim_network *network,
			    const struct sim_network_faults *faults);
/* Nothing leaves or reaches the machine. Its connections stay. */
void sim_network_cut(struct sim_network *network, const char *machine,
		     bool is_cut_in, bool is_cut_out);
void sim_network_set_tap(struct sim_network *network, sim_tap_fn *tap,
			 void *ctx);
/*
 * Let a frame arrive on the youngest connection that there is then between
 * the two machines; without one it is gone.
 */
void sim_network_inject(struct sim_network *network, const char *from,
			const char *to, const void *frame, size_t size,
			uint64_t delay_ms);
const struct sim_network_stats *sim_network_stats(
	const struct sim_network *network);

/* machine is copied; events by reference, with their context. */
struct sim_host *sim_host_create(struct sim_network *network,
				 const char *machine,
				 const struct sim_network_events *events,
				 void *ctx);
/*
 * The process is gone, without events for it. Its peers see their connections
 * closed, unless is_silent: the power is gone, and they find out when they
 * send. NULL is allowed.
 */
void sim_host_destroy(struct sim_host *host, bool is_silent);
/* Accept what is dialed to this address, from now on; the latest one does. */
void sim_host_listen(struct sim_host *host, const char *address);
/* Connect as this uid. */
uint64_t sim_host_dial(struct sim_host *host, const char *address, uid_t uid);
/* send: also -EMSGSIZE when empty. The seam lives as long as the host. */
struct net_seam sim_host_seam(struct sim_host *host);
