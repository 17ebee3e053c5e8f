/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes that are up: each begins with a registration, and outlives the
 * connection on which it came. It goes when its lease has run out, when it has
 * left the configuration, and with the core.
 *
 *	registered -> greeted -> leased, leased, ... -> lost
 *
 * A node that is not greeted is in no command but its HELLO.
 */
#pragma once

#include "lanes/manager/internal.h"
#include "lanes/proto/message.h"

#define LEVEL_MAX 15 /* bytes, without the zero */

/*
 * How well a driver keeps others out of lanes on a node, in one word, as the
 * node's summary says it. Nodes are counted by it.
 */
struct manager_level {
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	char name[LEVEL_MAX + 1]; /* "unusable" where the driver is */
};

struct live_node {
	char name[NODE_NAME_MAX + 1];
	uint64_t nid;
	uint8_t incarnation[INCARNATION_SIZE];
	uint8_t address[COLLECTIVE_ADDRESS_MAX]; /* of its endpoint */
	size_t address_size;
	uint8_t start[NONCE_START_SIZE]; /* of its daemon */
	struct session *session;         /* its link, or NULL */
	bool is_greeted;    /* HELLO was sent, in this incarnation */
	uint64_t leased_ms; /* it registered, or confirmed a LEASE */
	uint64_t seen_ms;
	uint64_t poll_ms;     /* when it is asked again; poll.c */
	bool has_reported;    /* something that is not ours */
	uint64_t poll_number; /* of the poll under way; 0: none */
	uint32_t key_id;      /* the newest that it has shown; 0: none */
	char *drivers; /* how they work there: a JSON array; NULL: not known */
	struct manager_level *levels; /* of those that have one */
	size_t level_count;
	UT_hash_handle hh; /* by name */
};

/* NULL: it is not up. */
struct live_node *live_find(const struct engine *engine, const char *node);
/*
 * The node has registered, on this session; its other session is closed.
 */
struct live_node *live_register(struct engine *engine, struct session *session,
				const struct registration *registration);
/*
 * Store what the node reports of its drivers, also after its registration, as
 * far as it fits.
 */
void live_set_drivers(struct engine *engine, struct live_node *live,
		      const struct registration *registration);
/* The session is its node's no more. */
void live_unlink(struct session *session);
/* Remove all; the core is not notified. */
void live_clear(struct engine *engine);
/* Drop nodes that the core does not know after a new configuration. */
void live_check_all(struct engine *engine);

/* It has answered by a collective. */
void live_contacted(struct engine *engine, const char *node);
/* It has confirmed a LEASE. */
void live_leased(struct engine *engine, const char *node);
/* The same, when it was given up: it was alive when it was asked. */
void live_leased_late(struct engine *engine, const char *node,
		      const uint8_t incarnation[INCARNATION_SIZE],
		      uint64_t asked_ms);
/* Leases that run out, LEASE for the others, and polls. */
void live_tick(struct engine *engine, uint64_t now_ms);
uint64_t live_deadline_ms(const struct engine *engine);
