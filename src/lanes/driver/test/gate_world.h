/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node for tests of the gate: the test's process in network and mount
 * namespaces of its own, with the addresses of two lanes on its loopback, and a
 * BPF file system that goes with the process, and with it what is attached.
 * What is done as somebody is done in a child.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lanes/driver/ethernet/gate.h"
#include "lanes/driver/ethernet/gate_pins.h"

#define PINS "/sys/fs/bpf/fairlead/test"

/* Users: each has a lane, of these addresses. */
#define ALICE     20001u
#define BOB       20002u

#define ALICE4    "100.64.4.1"
#define ALICE4P   "100.64.4.2" /* a peer's */
#define ALICE6    "fd46:4c00:0:1092::1"
#define ALICE6P   "fd46:4c00:0:1092::2"
#define ALICE4IN6 "::ffff:100.64.4.1"
#define BOB4      "100.64.8.1"
#define BOB6      "fd46:4c00:0:1093::1"
#define NOBODY4   "100.127.0.1" /* of the site's networks, of no lane */
#define NOBODY6   "fd46:4c00:ff::1"
#define OTHER4    "10.1.2.3" /* the node's own */
#define OTHER6    "fd00:1::1"
#define OTHER4IN6 "::ffff:10.1.2.3"

extern const struct ethernet_gate_options world_options;

/* False: not root, or no BPF here; says so. */
bool world_enter(void);
/* Where cgroup v2 is mounted. */
const char *world_cgroup(void);
/* Of a network namespace: loopback up, all addresses there. */
void world_network(void);
/* It has to open; closed by the caller. */
struct ethernet_gate *world_open(const struct ethernet_gate_options *options);
/*
 * All sets of a directory go, whatever network namespace they are of, and it,
 * too, if nothing else is in there. Nothing there is 0.
 */
int world_remove(const char *pins);
/* Of cmocka: nothing of a gate is left. */
int world_clear(void **state);
/* How many sets are pinned, and the name of the first. */
size_t world_sets(char name[GATE_SET_NAME_MAX]);
/* Exactly these lanes (at most 8), and the site's networks. */
int world_replace(struct ethernet_gate *gate, const struct gate_entry *lanes,
		  size_t count);
/* One lane more, or in place of that of its network; or none there. */
void world_add_lane(struct ethernet_gate *gate, const struct gate_entry *entry);
void world_remove_lane(struct ethernet_gate *gate,
		       const struct gate_entry *entry);
/* The site's networks, and the lanes of both. */
void world_lanes(struct ethernet_gate *gate);
/* Of cmocka: a gate with these, in *state. */
int world_lanes_setup(void **state);
int world_lanes_teardown(void **state);
struct gate_entry world_entry(const char *address, uint32_t uid,
			      uint64_t cgroup_id);

struct who {
	uint32_t uid;
	const char *cgroup; /* NULL: the test's own */
};

extern const struct who alice, bob, root;

/* What it returns in a child that is so: 0..255. */
int as(const struct who *who, int (*act)(const void *arg), const void *arg);

enum call_kind {
	BIND,
	CONNECT,
	SEND,
};

/* Of a type of socket: by multipath TCP, by UDP-Lite. */
#define SOCK_MULTIPATH 0x10000
#define SOCK_LITE      0x20000

struct call {
	enum call_kind kind;
	int type; /* SOCK_DGRAM, ... */
	const char *address;
	uint16_t port;      /* 0: 9 */
	const char *source; /* of SEND: chosen for the packet; NULL: none */
};

/* The errno. Nobody listens at 9, so TCP that is let through is refused. */
int try_call(const void *call);
/* For all kinds of calls to addresses, in a child of that user; checks. */
void assert_passes(const struct who *who, const char *address);
void assert_refused(const struct who *who, const char *address);

/* A socket of somebody's that is bound (TCP: listens), here. */
int listen_as(const struct who *who, int type, const char *address,
	      uint16_t port);
/* Somebody's connected datagram socket, here. */
int connect_as(const struct who *who, const char *address, uint16_t port);
/*
 * Does the datagram socket, bound to the port, get what somebody sends to the
 * address? Else it gets only what root sends to `open` afterwards.
 */
bool gets(int fd, const struct who *sender, const char *address,
	  const char *open, uint16_t port);
/* The same for a listener; a connection that is let through is made. */
bool accepts(int fd, const struct who *sender, const char *address,
	     const char *open, uint16_t port);
