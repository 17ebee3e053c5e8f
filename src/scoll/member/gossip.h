/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Discovery by gossip (doc/rfc/gossip). All nodes of a roster count cycles
 * together. In each cycle a node exchanges views with a few others: for every
 * node of the roster, the last cycle in which that node is known to have been
 * alive. Whoever was not alive for `dead_after` cycles is dead: that is each
 * node's own conclusion, and all come to it.
 *
 *	gossip_create -> gossip_run, gossip_receive -> gossip_leave
 *	-> gossip_destroy
 *
 * Pure: the caller carries messages, says the time, and calls gossip_run() at
 * gossip_deadline_ns(). Messages may be lost, late, doubled and out of order;
 * but whoever could change them could say anything, so seal and verify them
 * outside. A message is at most GOSSIP_MESSAGE_SIZE_MAX bytes.
 *
 * No memory is allocated after gossip_create().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/seam.h"
#include "scoll/member/discovery.h"
#include "scoll/member/roster.h"

#define GOSSIP_MESSAGE_SIZE_MAX 3840
#define GOSSIP_CYCLE_NS         UINT64_C(250000000) /* default */
#define GOSSIP_FANOUT_MAX       8
/* Two clocks of one cluster count at most so many cycles apart. */
#define GOSSIP_SKEW_CYCLES 2
/* A step of the cycle number that is believed without further ado. */
#define GOSSIP_STEP_CYCLES 3
/* So many nodes have to say it before a larger one is believed. */
#define GOSSIP_QUORUM 3

struct gossip;

/* What follows from the number of nodes, in cycles. */
struct gossip_bounds {
	unsigned int age_max;    /* A(N): of what is known of a live node */
	unsigned int dead_after; /* T_dead: longer without a sign of life */
	unsigned int stealth;    /* from the start */
	/*
	 * A sign of life of this node that is older than that shows that
	 * nobody takes it for alive any more; once age_max cycles of stealth
	 * are over.
	 */
	unsigned int very_old;
	unsigned int fanout; /* exchanges that a node begins in a cycle */
};

struct gossip_bounds gossip_bounds_of(size_t node_count);

struct gossip_ops {
	/*
	 * Send to the node; may fail or be lost, which is counted only. The
	 * bytes are valid during the call. Must not call the gossip.
	 */
	int (*send)(void *ctx, uint64_t nid, const void *bytes, size_t size);
};

struct gossip_options {
	const struct roster *roster; /* borrowed; outlives the gossip */
	uint64_t nid;                /* this node */
	uint64_t boot_nonce;         /* random, another one at each start */
	uint64_t cycle_ns;           /* the same on all nodes; 0: the default */
	/*
	 * The time since 1970 in cycles: so what an earlier start of the whole
	 * cluster said is of a lower one. Clocks need not agree. Below 2^61.
	 */
	uint64_t first_cycle;
	unsigned int fanout; /* 0: by the number of nodes */
	const struct gossip_ops *ops;
	void *ctx;
	struct rng_seam rng;
};

/* Why a message was not taken. */
enum gossip_refusal {
	GOSSIP_MALFORMED,
	GOSSIP_VERSION,
	GOSSIP_ROSTER,  /* made with another list of nodes */
	GOSSIP_UNKNOWN, /* its sender is not on the roster */
	GOSSIP_SELF,    /* it says that it is from this node */
	GOSSIP_AHEAD,   /* its cycle is further on than can be believed */
	GOSSIP_REFUSAL_COUNT,
};

struct gossip_stats {
	uint64_t sent_count, sent_bytes, send_failed_count;
	uint64_t request_count, answer_count, probe_count;
	uint64_t received_count; /* all, also those refused */
	uint64_t refused_count[GOSSIP_REFUSAL_COUNT];
	uint64_t death_count;  /* verdicts */
	uint64_t birth_count;  /* nodes seen alive that were not */
	uint64_t reboot_count; /* seen by the boot nonce alone */
	uint64_t step_count;   /* the cycle followed another node's */
	uint64_t jump_count;   /* more than a step, believed */
	uint64_t back_count;   /* the cycle went back to the others' */
	uint64_t pause_count;  /* this node slept for more than a step */
	uint64_t early_count;  /* stealth ended early: 0 or 1 */
};

/* -EINVAL: the node is not on the roster, or an option is bad; -ENOMEM. */
int gossip_create(const struct gossip_options *options, uint64_t now_ns,
		  struct gossip **ret_gossip);
/* Says nothing to anybody. NULL is allowed. */
void gossip_destroy(struct gossip *gossip);
DEFINE_AUTO(struct gossip, gossip_destroy)

struct discovery *gossip_discovery(struct gossip *gossip);

/* When to call gossip_run() next; DEADLINE_NONE after a leave. */
uint64_t gossip_deadline_ns(const struct gossip *gossip);
void gossip_run(struct gossip *gossip, uint64_t now_ns);
/*
 * A message has come. 0, or why it was not taken, which is also counted:
 * -EBADMSG (malformed), -EPROTONOSUPPORT (version), -ESTALE (roster), -ENOENT
 * (sender not on the roster), -EADDRINUSE (from this node's NID), -ERANGE (its
 * cycle is too far ahead).
 */
int gossip_receive(struct gossip *gossip, uint64_t now_ns, const void *bytes,
		   size_t size);
/* The sender that a message names. -EBADMSG, -EPROTONOSUPPORT. */
int gossip_sender(const void *bytes, size_t size, uint64_t *ret_nid);
/*
 * Tell some nodes that this one goes; it is dead to all within age_max cycles.
 * From now on this node is in stealth, for good.
 */
void gossip_leave(struct gossip *gossip, uint64_t now_ns);

uint64_t gossip_cycle(const struct gossip *gossip);
const struct gossip_stats *gossip_stats(const struct gossip *gossip);
