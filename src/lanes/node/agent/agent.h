/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent: the half of a node without privileges. Pure.
 *
 *   manager --frames--> agent_manager_*            requests --> guard
 *   guard ---replies--> agent_guard_received agent <--replies---
 *   clients --frames--> agent_client_*             frames ----> manager, clients
 *   time -------------> agent_tick
 *
 * It registers with the manager, and keeps the link until the manager has
 * acknowledged the node's confirmations. It hands commands, most of which come
 * by collectives, to the guard, and sends the guard's answers up, combined with
 * those from below. It retries busy lanes for ever, and serves local clients
 * (doc/rfc/client-protocol.md, the ops of a node). It decides nothing about
 * lanes: what it knows of grants is a copy of what the guard has shown.
 *
 * Life cycle: agent_create, agent_start, events in any order, agent_destroy.
 * One thread. Time comes from the clock seam; agent_tick() is wanted at
 * agent_deadline_ms(). No event may come from within a call of a seam.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/seam.h"
#include "lanes/node/guard/core.h"

struct agent;

#define AGENT_ASKS_MAX           512 /* requests that the guard has not answered */
#define AGENT_COMMANDS_MAX       256  /* of them, commands; more are dropped */
#define AGENT_USER_CLIENTS_MAX   64   /* connections of a user but root */
#define AGENT_WORKS_MAX          1024 /* requests of clients under way */
#define AGENT_OTHERS_WORKS_MAX   256  /* of these, others than root's */
#define AGENT_RETRY_MS           1000 /* first pause before a busy lane is tried */
#define AGENT_RETRY_MS_MAX       60000
#define AGENT_PENDING_MS         1000 /* first pause before confirmations are resent */
#define AGENT_PENDING_MS_MAX     60000
#define AGENT_DIAL_MS            500 /* first pause before connecting again */
#define AGENT_DIAL_MS_MAX        30000
#define AGENT_GREET_MS           10000 /* from connection to HELLO */
#define AGENT_PING_MS            10000 /* of silence */
#define AGENT_LEASE_MS           30000 /* of silence: the link is dead */
#define AGENT_IDLE_MS            5000 /* that a link which is leased stays open */
#define AGENT_RETURN_MS          4000 /* mean pause when a lease has run out */
#define AGENT_QUICK_MS           200 /* first pause between an epilog's tries */
#define AGENT_QUICK_MS_MAX       1000
#define AGENT_DRAIN_MS           60000 /* that housekeeping waits for a drain */
#define AGENT_PROLOG_MS          30000 /* default timeout */
#define AGENT_TIMEOUT_MS_MAX     86400000
#define AGENT_ROUNDS_MAX         256     /* that go through this node at once */
#define AGENT_WAITERS_MAX        256     /* requests that wait for one answer */
#define AGENT_OTHERS_WAITERS_MAX 32      /* of these, others than root's */
#define AGENT_FRESH_MS           1000    /* how old it may be, but for root */
#define AGENT_EARLY_MAX          4194304 /* bytes that wait for their command */

struct agent_ops {
	/*
	 * Begin to connect to the manager; whether it worked comes as
	 * agent_manager_opened or _closed. An error with a text: not even
	 * begun.
	 */
	int (*dial)(void *ctx, uint64_t *ret_peer,
		    struct fairlead_error *ret_error);
	/* Send a request to the guard; it is copied. -ENOBUFS, -ENOTCONN. */
	int (*ask)(void *ctx, const void *request, size_t size);
	/*
	 * What a member of collectives has to have, now and whenever it has
	 * changed; NULL: no need.
	 */
	void (*hops)(void *ctx, const struct hop_keys *keys);
	/*
	 * A part of the answer to a round, which is copied. is_last: the
	 * round is over. NULL: there are none.
	 */
	void (*answer)(void *ctx, uint64_t round, const void *bytes,
		       size_t size, bool is_last);
	/*
	 * The manager has greeted us, and nothing has come from it by
	 * collectives for the lease: it may be another start of it. NULL: no
	 * need.
	 */
	void (*returned)(void *ctx);
};

struct agent_timeouts {
	uint32_t epilog_ms;
	uint32_t housekeeping_ms;
};

/* All by reference, but for texts, timeouts, incarnation and address. */
struct agent_options {
	const char *name;
	const char *manager; /* its address, for people */
	const char *software;
	uint8_t incarnation[INCARNATION_SIZE];
	/* See agent_locate(); copied. */
	uint8_t address[COLLECTIVE_ADDRESS_MAX];
	size_t address_size;
	struct agent_timeouts timeouts;
	/* Drivers as this process has opened them: to look, not to change. */
	const struct guard_driver *drivers;
	size_t driver_count;
	struct clock_seam clock;
	struct rng_seam rng;
	struct net_seam manager_net;
	struct net_seam clients_net;
	const struct agent_ops *ops;
	void *ops_ctx;
	const struct log *log; /* NULL: none */
};

struct agent *agent_create(const struct agent_options *options);
void agent_destroy(struct agent *agent);
DEFINE_AUTO(struct agent, agent_destroy)

/* Learn from the guard what is there, and connect to the manager. */
int agent_start(struct agent *agent);
uint64_t agent_deadline_ms(const struct agent *agent);
void agent_tick(struct agent *agent);

/*
 * restart: what of the configuration waits for a restart, a line each, which
 * node-status shows to clients; "" when nothing does.
 */
void agent_configure(struct agent *agent, const struct agent_timeouts *timeouts,
		     const char *restart);
/* Have the guard read its key file again; the result goes to the log. */
void agent_reload(struct agent *agent);

/*
 * Where our endpoint for collectives is, as the registrations to come say it:
 * at most COLLECTIVE_ADDRESS_MAX bytes. Size 0: there is none.
 */
void agent_locate(struct agent *agent, const void *address, size_t size);
/* For node-status: its address, or why there is none; copied. */
void agent_endpoint_say(struct agent *agent, bool is_open, const char *text);

/* --- the link to the manager: frames without their length --- */

void agent_manager_opened(struct agent *agent, uint64_t peer);
void agent_manager_received(struct agent *agent, uint64_t peer,
			    const void *frame, size_t size);
void agent_manager_closed(struct agent *agent, uint64_t peer, int reason);

/* --- the guard --- */

/*
 * A reply of the guard. -EBADMSG when it is none, or not the answer to the
 * oldest request: the agent is to be ended.
 */
int agent_guard_received(struct agent *agent, const void *reply, size_t size);

/*
 * --- collectives: commands that come by them (doc/rfc/fan-out.md) ---
 *
 * A number of the owner's names one that goes through this node, until its
 * answer ended. It is received at most once, gets any number of parts from
 * the nodes below, and is closed once; then its answer ends, maybe from within.
 * More than AGENT_ROUNDS_MAX at once are answered with nothing, as is one
 * whose command does not come or cannot be read.
 */

/* bulk: the command, when the payload says so; else NULL. */
void agent_round_command(struct agent *agent, uint64_t round,
			 const void *payload, size_t size, const void *bulk,
			 size_t bulk_size);
/* A part of the answer of a node below. */
void agent_round_part(struct agent *agent, uint64_t round, const void *bytes,
		      size_t size);
/* No more will come from below. */
void agent_round_closed(struct agent *agent, uint64_t round);

/* --- clients --- */

/* uid: as the kernel says it. */
void agent_client_opened(struct agent *agent, uint64_t peer, uid_t uid);
void agent_client_received(struct agent *agent, uint64_t peer,
			   const void *frame, size_t size);
/* The framing was broken: says so before the connection is closed. */
void agent_client_violated(struct agent *agent, uint64_t peer, int reason);
void agent_client_closed(struct agent *agent, uint64_t peer);
