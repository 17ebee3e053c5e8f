/* SPDX-License-Identifier: BSD-3-Clause */
/* What the simulated network's files share. */
#pragma once

#include "base/hash.h"
#include "sim/network.h"

struct machine {
	char *name;
	bool is_cut_in, is_cut_out;
	UT_hash_handle hh;
};

struct sim_host {
	struct sim_network *network;
	struct machine *machine;
	const struct sim_network_events *events;
	void *ctx;
	struct sim_host *prev, *next;
};

struct sim_listener {
	char *address;
	struct sim_host *host;
	UT_hash_handle hh;
};

enum end_state {
	END_DIALING, /* no event yet */
	END_OPEN,
	END_CLOSING, /* closed by its owner, whose event is on its way */
	END_CLOSED,
};

struct sim_end {
	struct sim_host *host; /* NULL: its process is gone */
	struct machine *machine;
	enum end_state state;
	uint64_t floor_ms; /* nothing that keeps the order arrives before */
};

struct sim_connection {
	uint64_t number;
	uid_t uid;              /* of the dialer */
	struct sim_end ends[2]; /* dialer, listener */
	UT_hash_handle hh;
};

enum flight_kind {
	FLIGHT_SYN,    /* a dial, on its way to the listener */
	FLIGHT_OPENED, /* its answer, on the way back */
	FLIGHT_FRAME,
	FLIGHT_LATE,   /* a frame between machines */
	FLIGHT_CLOSED, /* the other side learns of the end */
	FLIGHT_OWN,    /* the own side is notified of the end */
};

struct flight {
	struct sim_network *network;
	enum flight_kind kind;
	uint64_t handle;           /* of its event */
	uint64_t number;           /* of its connection */
	unsigned int side;         /* that it goes to */
	struct machine *from, *to; /* FLIGHT_LATE */
	char *address;             /* FLIGHT_SYN */
	struct flight *prev, *next;
	size_t size;
	uint8_t frame[];
};

struct sim_network {
	struct sim_queue *queue;
	struct sim_rng rng;
	struct sim_network_faults faults;
	struct sim_network_stats stats;
	struct machine *machines;
	struct sim_listener *listeners;
	struct sim_host *hosts;
	struct sim_connection *connections;
	uint64_t number_last;
	struct flight *flights;
	sim_tap_fn *tap;
	void *tap_ctx;
};

/* network.c: memory that is there. */
void *network_allocate(size_t size);
uint64_t peer_of(const struct sim_connection *connection, unsigned int side);
struct sim_connection *connection_find(const struct sim_network *network,
				       uint64_t number);
/* Free it when neither side has it any more. */
void connection_end(struct sim_network *network,
		    struct sim_connection *connection);

/* network_flight.c */

/* A delay as the faults say. */
uint64_t flight_delay_ms(struct sim_network *network);
/* A delay after which what goes to this end is not before its predecessors. */
uint64_t flight_ordered_delay_ms(struct sim_network *network,
				 struct sim_end *to);
/* The flight's frame is to be filled. */
struct flight *flight_to(struct sim_network *network, enum flight_kind kind,
			 const struct sim_connection *connection,
			 unsigned int side, uint64_t delay_ms, size_t size);
struct flight *flight_between(struct sim_network *network, struct machine *from,
			      struct machine *to, uint64_t delay_ms,
			      size_t size);
void flight_destroy(struct flight *flight);
/* Let this side know that the other one has closed. */
void flight_closed(struct sim_network *network,
		   struct sim_connection *connection, unsigned int side);
