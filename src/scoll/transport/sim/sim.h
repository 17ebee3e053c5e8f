/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport seam in virtual time, for many members in one process: a
 * network that costs what LogGP says, replays from a seed, and fails as
 * networks do, and worse.
 *
 *	transport_sim_create -> transport_sim_open (each member)
 *	-> transport_timeline_run until it is false
 *	-> transport_sim_destroy
 *
 * A *port* is a member's place in the network. It outlives the member: a
 * member that dies is closed, one that reboots opens the same port again, and
 * what was sent to its earlier life may still reach it.
 *
 * Costs: a message or reply of b bytes that is sent at t leaves at t' = t or
 * when the sender's earlier ones have left, keeps the sender busy for gap + b
 * G, and arrives at t' + latency + b G; then it waits for its receiver, which
 * takes receive_ns for each. A read is a small message there and b bytes back.
 *
 * Replies match on port and tag alone; those without a buffer are dropped and
 * counted. Descriptors of memory hold no addresses, so that a run with the
 * same seed sends the same bytes. Reads copy when they reach their source: a
 * peer's bytes have to be valid then, and no later.
 *
 * One thread. When memory runs out, the process ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "scoll/transport/sim/timeline.h"
#include "scoll/transport/transport.h"

#define TRANSPORT_SIM_SIDES 8

struct transport_sim;
struct transport_sim_port;

struct transport_sim_costs {
	uint64_t latency_ns; /* l */
	uint64_t gap_ns;     /* o, of the sender for each */
	uint64_t receive_ns; /* of the receiver for each */
	uint32_t byte_ps;    /* G: picoseconds */
	uint32_t jitter_ppm; /* a latency is up to so much longer */
};

/* What goes wrong by chance. */
enum transport_sim_fault {
	TRANSPORT_SIM_LOST,      /* ends with an error, not delivered */
	TRANSPORT_SIM_DENIED,    /* ends with an error, but delivered */
	TRANSPORT_SIM_LATE_END,  /* its end comes long after */
	TRANSPORT_SIM_HELD,      /* others overtake it */
	TRANSPORT_SIM_FULL,      /* -EAGAIN */
	TRANSPORT_SIM_ALTERED,   /* a bit is flipped on the way */
	TRANSPORT_SIM_CUT_SHORT, /* its end is missing */
	TRANSPORT_SIM_READ_LOST, /* a read fails half way */
	TRANSPORT_SIM_KEPT, /* a cancel comes too late for the next reply */
	/* What becomes of what meets a partition or a dead member. */
	TRANSPORT_SIM_REFUSED,   /* its end says so */
	TRANSPORT_SIM_VANISHED,  /* its end is 0 */
	TRANSPORT_SIM_KEPT_BACK, /* it arrives when the partition heals */
	TRANSPORT_SIM_NEXT_LIFE, /* it arrives at the member that rebooted */
	TRANSPORT_SIM_FAULT_COUNT,
};

/* A word for reports. */
const char *transport_sim_fault_text(enum transport_sim_fault fault);

struct transport_sim_options {
	uint64_t seed;
	struct transport_sim_costs costs;
	/* Chances per million of a transfer; only those before REFUSED. */
	uint32_t faults_ppm[TRANSPORT_SIM_FAULT_COUNT];
	uint64_t held_ns; /* HELD and LATE_END: up to so much */
	/* A member reaches only members whose addresses it knows. */
	bool needs_addresses;
	/* Sends of a member under way, else -EAGAIN; 0: any number. */
	uint32_t window;
	struct transport_timeline *timeline; /* borrowed */
};

struct transport_sim_stats {
	uint64_t messages, replies, reads; /* sent */
	uint64_t bytes;                    /* of all three */
	uint64_t messages_in, replies_in;  /* delivered */
	uint64_t replies_unexpected;       /* no buffer: dropped */
	uint64_t reads_denied;             /* the memory was not open */
	uint64_t cancels;
	uint64_t connects;
	uint64_t injected;
	uint64_t faults[TRANSPORT_SIM_FAULT_COUNT];
};

/* What a member has with the network. */
struct transport_sim_use {
	uint32_t sends;   /* under way */
	uint32_t reads;   /* the same */
	uint32_t posts;   /* buffers for replies, ends of cancels not yet in */
	uint32_t regions; /* open */
};

/* What arrives, before it is delivered; bytes are valid during the call. */
struct transport_sim_packet {
	uint64_t sent_ns; /* when it was given to the network */
	scoll_nid_t from, to;
	uint64_t tag;
	const void *bytes;
	size_t size;
	bool is_reply;
	bool is_injected;
};

struct transport_sim *transport_sim_create(
	const struct transport_sim_options *options);
/* Ports too. The timeline is not run any more. NULL is allowed. */
void transport_sim_destroy(struct transport_sim *sim);
DEFINE_AUTO(struct transport_sim, transport_sim_destroy)

/*
 * A member starts. Its events are called with `ctx` until it is closed. When
 * addresses are needed there may be several of one NID at once; who has the
 * address of one reaches that one.
 */
struct transport_sim_port *transport_sim_open(
	struct transport_sim *sim, scoll_nid_t nid,
	const struct transport_events *events, void *ctx);
/*
 * It is no more: its transfers have no end, its memory is not touched again,
 * what it has sent still arrives.
 */
void transport_sim_close(struct transport_sim_port *port);
/*
 * All it has under way ends now, with -ECANCELED; what it starts from now on
 * does so too, and nothing comes in. For a member that is to be destroyed in
 * good order although it is dead to all others.
 */
void transport_sim_sever(struct transport_sim_port *port);
/*
 * Its program knows where everybody is, at any time: each start of a member is
 * at another address. Others know what they learn.
 */
void transport_sim_know_all(struct transport_sim_port *port);
/* Of how many it has learned where they are. */
uint32_t transport_sim_known_count(const struct transport_sim_port *port);
struct transport_seam transport_sim_seam(struct transport_sim_port *port);

/* Nothing reaches it until then; it does not even know. */
void transport_sim_pause(struct transport_sim_port *port, uint64_t until_ns);
uint64_t transport_sim_paused_ns(const struct transport_sim_port *port);
/* Its latency, gap and receive_ns are so many times as long. */
void transport_sim_slow(struct transport_sim_port *port, uint32_t factor);
/* Ports of different sides (0: the first one) do not reach each other. */
void transport_sim_side_set(struct transport_sim_port *port, unsigned int side);
/* For what a simulation carries by itself. */
unsigned int transport_sim_side(const struct transport_sim_port *port);
/* All are of one side again; what was kept back is on its way. */
void transport_sim_heal(struct transport_sim *sim);
/* The chances from now on. */
void transport_sim_faults_set(struct transport_sim *sim,
			      const uint32_t *faults_ppm);

/* An attacker sends; a reply finds the buffer of that tag. */
void transport_sim_inject(struct transport_sim *sim, scoll_nid_t to,
			  bool is_reply, uint64_t tag, const void *bytes,
			  size_t size);
/* See all that arrives; NULL: no more. */
void transport_sim_tap(struct transport_sim *sim,
		       void (*tap)(void *ctx,
				   const struct transport_sim_packet *packet),
		       void *ctx);

void transport_sim_use(const struct transport_sim_port *port,
		       struct transport_sim_use *ret_use);
/*
 * Whether a transfer of the member may still write into these bytes, or a peer
 * read them.
 */
bool transport_sim_borrows(const struct transport_sim_port *port,
			   const void *bytes, size_t size);
const struct transport_sim_stats *transport_sim_stats(
	const struct transport_sim *sim);
/* Of everything that has happened: the same for the same seed. */
uint64_t transport_sim_hash(const struct transport_sim *sim);
