/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two nodes with a veth between them, each a network namespace of its own, and
 * lanes that the driver itself makes on them. Many pairs can be there at once,
 * so that what is compared can be measured in turns.
 *
 * All of it is this process's and ends with it. BPF programs are attached to a
 * cgroup for each node, in which its sockets are made: they cost nobody else
 * anything, and the programs of one node nothing on another.
 *
 * What fails ends the program with a text.
 */
#pragma once

#include <stdint.h>

#include "lanes/driver/ethernet/naming.h"
#include "fairlead_driver.h"

#define PAIR_OWNER     20001 /* of all lanes */
#define PAIR_LANES_MAX 512

enum pair_level {
	PAIR_BARE,     /* no driver */
	PAIR_NO_RULES, /* the driver's devices; pair_strip() when all are made */
	PAIR_GUARDED,  /* nft and BPF */
	PAIR_NETNS,    /* lanes in namespaces; nft and BPF besides */
	PAIR_SHAPED,   /* nft, BPF and HTB */
	PAIR_LEVEL_COUNT,
};

/* "bare", "vxlan", "nft+bpf", "netns", "shaped". */
extern const char *const pair_level_names[PAIR_LEVEL_COUNT];

/*
 * Once, as root: a mount namespace of our own, with our file systems on the
 * folder; exits with 77 and a reason where that cannot be.
 */
void pair_begin(const char *folder);
/* Cgroups go; the rest goes with the process. */
void pair_end(void);

struct pair;

/* The first node is 0, the other one 1. link_rate: as "1G", of PAIR_SHAPED. */
struct pair *pair_create(enum pair_level level, const char *link_rate);
void pair_destroy(struct pair *pair);

/*
 * Make the lane with that number (from 0) on one node, or take it back.
 * options: as of a job, "" for what a job has that asks for nothing.
 */
void pair_apply(struct pair *pair, int node, uint32_t number,
		const char *options);
void pair_revoke(struct pair *pair, int node, uint32_t number);
/* So many lanes, from the first on, together. */
void pair_revoke_all(struct pair *pair, int node, uint32_t count);
/* The driver looks after a node's lanes, and finds nothing amiss. */
void pair_tend(struct pair *pair, int node);
/* No rules any more, on neither node. */
void pair_strip(const struct pair *pair);

/*
 * A socket of the owner's on a node, bound to an address (port 0: any) and not
 * connected. lane: that the address is of; -1: none, it is on the veth.
 */
int pair_socket(const struct pair *pair, int node, int type, int lane);
/* What socket() and its like do is done by the owner in between. */
void pair_be_owner(void);
void pair_be_root(void);

/*
 * From now on each node receives on a processor of its own, as two machines
 * would: the first node on the first, the other on the second one.
 */
void pair_part(const struct pair *pair);

/* A command in a node's namespace; it has to succeed. */
void pair_run(const struct pair *pair, int node, const char *command);
