/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One simulated cluster: a clock, two networks (of nodes and of clients),
 * managers, nodes, clients, faults, and an oracle that watches them. Everything
 * random in it comes from its seed.
 *
 *	world_create -> world_run -> world_destroy
 *
 * What happens is written to the trace, whose hash tells whether two runs were
 * the same. A violation of an invariant ends the process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coverage.h"
#include "lanes/proto/keyfile.h"
#include "sim/clock.h"
#include "sim/network.h"
#include "sim/queue.h"
#include "sim/rng.h"

#define WORLD_NODES_MAX 8
#define WORLD_VNI_FIRST 1024
#define WORLD_CLUSTER   "sim"
#define WORLD_MANAGER   "manager" /* address of the nodes' side */
#define WORLD_SOCKET    "socket"  /* of the clients' side */
#define WORLD_MINUTE_MS 60000u

/* Faults that can be chosen with --faults; all of them by default. */
enum world_fault {
	FAULT_NETWORK,   /* messages lost, doubled, late; connections broken */
	FAULT_PARTITION, /* machines cut off */
	FAULT_MANAGER,   /* the manager crashes */
	FAULT_TAKEOVER,  /* an old manager lives on beside a new one */
	FAULT_BACKUP,    /* an old backup is restored */
	FAULT_DISK,      /* the manager's disk is full or fails */
	FAULT_DAEMON,    /* a node's daemon crashes */
	FAULT_TMPFS,     /* a node's journal cannot be written */
	FAULT_REBOOT,    /* a node loses its power */
	FAULT_NIC,       /* NICs fail, are busy, disappear */
	FAULT_ATTACK,    /* messages are forged, altered and played back */
	FAULT_CLOCK,     /* the wall clock jumps */
	FAULT_LIAR,      /* a node lies about what others answer */
	FAULT_OUTSIDE,   /* the fabric manager; it has dice of its own */
	FAULT_COUNT,
};

struct world_options {
	uint64_t seed;
	unsigned int node_count; /* 0: the seed decides */
	unsigned int steps;      /* jobs; 0: the seed decides */
	uint32_t faults;         /* bits 1 << enum world_fault */
	bool is_verbose;
};

struct ether;
struct fmsim;
struct leader;
struct node;
struct oracle;
struct clients;
struct jobs;
struct admin;
struct faults;

struct world {
	struct world_options options;
	struct coverage *coverage; /* the caller's */
	struct sim_clock clock;
	struct sim_queue *queue;
	struct sim_rng rng;
	struct sim_network *node_network;
	struct sim_network *client_network;
	struct ether *ether;      /* the network for collectives */
	struct manager_keys keys; /* as on the manager's disk */
	struct leader *leader;
	struct node *nodes[WORLD_NODES_MAX];
	unsigned int node_count;
	struct oracle *oracle;
	struct fmsim *fmsim; /* NULL: this seed has none */
	struct clients *clients;
	struct jobs *jobs;
	struct admin *admin;
	struct faults *faults;
	unsigned int vni_count;
	unsigned int nic_count;
	bool is_calm;     /* no faults any more, */
	uint64_t calm_ms; /* since then */
	bool is_paused;   /* job managers wait for an operator */
	uint64_t trace_hash;
	uint64_t trace_count;
};

struct world *world_create(const struct world_options *options,
			   struct coverage *coverage);
void world_destroy(struct world *world);
DEFINE_AUTO(struct world, world_destroy)
/* Everything: the time with faults, the time without, and the end. */
void world_run(struct world *world);
/* The names of all faults, ended by NULL. */
const char *const *world_fault_names(void);

/* --- for the parts --- */

uint64_t world_now_ms(const struct world *world);
bool world_has_fault(const struct world *world, enum world_fault fault);

/* Dice. */
uint64_t world_below(struct world *world, uint64_t n);
uint64_t world_between(struct world *world, uint64_t low, uint64_t high);
bool world_percent(struct world *world, unsigned int percent);
/* A generator of its own for a part. */
struct sim_rng world_fork_rng(struct world *world);

/* Bytes that went by, for the trace's hash. */
void world_mix(struct world *world, const void *bytes, size_t size);
/* A line of the trace. */
void world_trace(struct world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The exit status that means a broken invariant and nothing else. */
#define WORLD_EXIT_BROKEN 3
/* An invariant is broken: say how to see it again, and end. */
void world_fail(struct world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Memory that is there, with zeros. */
void *world_allocate(size_t size);
char *world_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
