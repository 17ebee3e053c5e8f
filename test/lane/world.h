/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Three nodes and a host that is none, each a network namespace of its own, on
 * the networks of two rails; a container of node 2, behind a pair of devices of
 * its own; and two lanes:
 *
 *	            node 1   node 2   node 3   outside
 *	lane A       1        2
 *	lane B       1                 2
 *
 * Addresses, names and ports are those on one rail, world->rail.
 *
 * All of it is the test process's and ends with it. The process is kept on one
 * processor: packets then pass in the order in which they were sent, so that
 * what has not come before a later one comes never.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>

#include "lanes/driver/ethernet/rules.h"
#include "probe.h"

#define OWNER_A    20001
#define OWNER_B    20002
#define OTHER_USER 20003
/* Lane A's class in HTB; its traffic classes are low latency and best effort. */
#define HTB_CLASS             0x10
#define DSCP_DEDICATED_ACCESS 46   /* lane A may not */
#define DSCP_LOW_LATENCY      32   /* the first of lane A */
#define PORT                  7000 /* of whoever listens */
#define RAIL_COUNT            2

enum world_host {
	NODE1,
	NODE2,
	NODE3,
	OUTSIDE,
	CONTAINER,
	HOST_COUNT
};
enum world_lane {
	LANE_A,
	LANE_B,
	LANE_COUNT
};

/* What keeps other users out; each includes the one before. */
enum world_level {
	LEVEL_NONE,
	LEVEL_NFT,
	LEVEL_GATE,
	LEVEL_NETNS, /* devices in namespaces of jobs; without BPF */
	LEVEL_NEVER,
};

struct world {
	uint8_t underlay_family; /* of VXLAN's outer packets: 4 or 6 */
	enum world_level level;
	uint8_t rail; /* that is meant, from 0 */
	int home;     /* where the test process was */
	int netns[HOST_COUNT];
	int underlay_index[HOST_COUNT][RAIL_COUNT]; /* of the rails' NICs */
	bool is_netns;
	int inside[LANE_COUNT][HOST_COUNT]; /* the job's; -1: none */
};

/* "none", "nft", "nft+bpf", "netns". False: no such level. */
bool world_level_parse(const char *text, enum world_level *ret_level);

/* NULL, with a reason printed: this machine cannot. */
struct world *world_create(uint8_t underlay_family);
void world_destroy(struct world *world);

/*
 * What comes to a host from the underlay, from the outer IP header on: a
 * non-blocking socket of packets.
 */
int world_capture(const struct world *world, enum world_host host);

/* Devices of all lanes, the first time. */
void world_devices_make(struct world *world, bool is_netns);
/* All devices again, in the nodes' namespaces or in those of the jobs. */
void world_isolate(struct world *world, bool is_netns);
/* False, with a reason printed: this kernel has it not. */
bool world_has_level(const struct world *world, enum world_level level);
/* On all nodes, from now on. */
void world_enforce(struct world *world, enum world_level level);

/* The network namespace where the caller is, for it to close. */
int world_namespace(void);
/* Into a network namespace, and out again into world->home. */
void world_enter(int netns);
/* A command in the host's namespace; it has to succeed. */
void world_run(const struct world *world, enum world_host host,
	       const char *format, ...) __attribute__((format(printf, 3, 4)));

struct probe_actor world_actor(const struct world *world, enum world_host host,
			       uid_t uid);
/* Where a job's processes are: in the job's namespace if it has one. */
struct probe_actor world_inside(const struct world *world, enum world_lane lane,
				enum world_host host, uid_t uid);
/* An address of a host on the underlay. */
struct probe_end world_underlay(const struct world *world, enum world_host host,
				uint8_t family, uint16_t port);
/* VXLAN's, for world_underlay. */
uint16_t world_port(const struct world *world);
/* One in a lane. */
struct probe_end world_end(const struct world *world, enum world_lane lane,
			   enum world_host host, uint8_t family, uint16_t port);
void world_names(const struct world *world, enum world_lane lane,
		 enum world_host host, struct ethernet_names *ret_names);
bool world_is_member(enum world_lane lane, enum world_host host);
uint32_t world_vni(enum world_lane lane);
uid_t world_owner(enum world_lane lane);
/* As the rules of a node see its device on the rail. */
struct rules_lane world_rules(const struct world *world, enum world_lane lane,
			      enum world_host host,
			      struct ip_address peers[HOST_COUNT]);

/* All rules of a node, without those of one lane (LANE_COUNT: with all). */
void world_write_rules(const struct world *world, enum world_host host,
		       enum world_lane without);
/* What rules.h has written, on a host; it has to be taken, and is freed. */
void world_change(const struct world *world, enum world_host host,
		  struct writer *batch);

/* What was sent before has come or is lost. */
void world_settle(const struct world *world);
struct rules_counters world_counters(const struct world *world,
				     enum world_host host);
