/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the gate's programs (gate.bpf.c) and those who load and fill them agree
 * on. The maps outlive a version: a change of key or value takes another name.
 */
#pragma once

#include <linux/types.h>

#define GATE_PORTS_MAX 4
#define GATE_LANES_MAX 16384 /* networks and entries together */
/* A job's cgroup is at most so many levels below the root. */
#define GATE_CGROUP_LEVELS 32

/* Set before loading; the verifier drops the branches that these exclude. */
struct gate_config {
	__u64 netns_cookie;
	__u16 ports[GATE_PORTS_MAX];    /* of VXLAN */
	__u8 is_netns_of_packets_known; /* the kernel's helper is there */
	__u8 reserved[3];
};

/* Map "lanes", a trie of prefixes. IPv4 is written as IPv6 (::ffff:a.b.c.d). */
struct gate_key {
	__u32 prefix_size; /* bits, from the 128 */
	__u8 address[16];
};

#define GATE_HAS_OWNER  1u /* a lane's network */
#define GATE_IS_NETWORK 2u /* one that lanes are cut from, and no lane's */

struct gate_value {
	__u32 flags;
	__u32 prefix_size; /* the key's: a lookup finds shorter ones as well */
	__u64 cgroup_id;   /* 0: any */
	__u32 uid;         /* root's unless GATE_HAS_OWNER */
	__u32 reserved;
};

/* Map "counters", for each CPU. */
enum gate_counter {
	GATE_REFUSED_BIND,
	GATE_REFUSED_SEND,
	GATE_REFUSED_RECEIVE,
	GATE_REFUSED_RAW,
	GATE_COUNTER_COUNT,
};
