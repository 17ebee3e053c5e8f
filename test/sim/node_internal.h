/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of a node share. */
#pragma once

#include "base/hash.h"
#include "elan.h"
#include "endpoint.h"
#include "fabric.h"
#include "node.h"
#include "lanes/node/agent/agent.h"
#include "lanes/node/guard/core.h"
#include "sim/disk.h"

#define NODE_DRIVERS    4 /* the last one in some seeds only */
#define NODE_OBEYED_MAX 8

/* Something that happens to the daemon later, unless it dies before. */
struct node_task {
	struct node *node;
	void (*run)(struct node *node, const void *bytes, size_t size);
	uint64_t handle;
	struct node_task *prev, *next;
	size_t size;
	uint8_t bytes[];
};

/* An environment file. */
struct environment {
	char key[REQUEST_KEY_MAX + 1];
	uid_t uid;
	char *content;
	struct environment *prev, *next;
};

/* A request of a local client. */
struct inquiry {
	struct node *node;
	uint64_t peer;
	uid_t uid;
	char *text;     /* the request */
	json_t *answer; /* NULL: none yet, or never */
	node_answer_fn *done;
	void *ctx;
	uint64_t handle; /* of the event that begins or ends it */
	struct inquiry *prev, *next;
};

/* The guard's view of a grant, read from its journal. */
struct record {
	uint64_t grant_id;
	uint8_t kind; /* the last LEDGER_ kind: APPLYING, APPLIED, ... */
	UT_hash_handle hh;
};

/* A job whose local teardown was asked for. */
struct expected_revoke {
	char job[REQUEST_KEY_MAX + 1];
	struct expected_revoke *prev, *next;
};

struct node {
	struct world *world;
	struct sim_rng rng;
	unsigned int index;
	char name[16];
	bool is_powered;
	bool is_locked; /* it gets no power */
	bool is_held;   /* the daemon is not started again by itself */
	uint64_t boot_count;
	uint8_t incarnation[INCARNATION_SIZE];
	uint64_t boot_event, start_event;

	struct hardware *hardware;
	struct fabric_node *fabric;
	struct elan_node *elan;
	bool is_foreign;
	struct sim_disk *run; /* as long as there is power */
	struct sim_file *journal;
	struct record *records;
	struct environment *environments;
	int environment_error;
	struct node_keys keys;

	/* The daemon; NULL while it is not there. */
	struct guard_driver drivers[NODE_DRIVERS];
	size_t driver_count;
	struct guard *guard;
	struct agent *agent;
	struct sim_host *host;
	struct endpoint *endpoint;
	struct node_task *tasks;
	struct node_task *asked; /* requests that the guard has not begun */
	uint64_t tick_event, tick_ms;
	bool is_turning; /* the guard's next turn is on its way */
	bool is_dead;    /* it died in the midst of a call */
	unsigned int crash_at;
	bool has_order;
	struct node_order order;
	struct writer
		obeyed[NODE_OBEYED_MAX]; /* each an APPLY, of any daemon */
	size_t obeyed_count;             /* ever */

	struct inquiry *inquiries;
	uint64_t peer_last;
	struct expected_revoke *expected_revokes;
};

/* node.c */
/* A call of a seam begins: true when the daemon is dead. */
bool node_step(struct node *node);
void node_later(struct node *node, uint64_t delay_ms,
		void (*run)(struct node *node, const void *bytes, size_t size),
		const void *bytes, size_t size);
/* After each call of agent or guard: see to death and time. */
void node_settle(struct node *node);

/* node_run.c: /run */
struct journal_file node_journal(struct node *node);
extern const struct guard_ops node_guard_ops;
void node_run_begin(struct node *node);
void node_run_end(struct node *node);

/* node_guard.c: the conversation of the halves */
int node_guard_ask(void *ctx, const void *request, size_t size);
void node_guard_fini(struct node *node);

/* node_client.c: local clients */
extern const struct net_ops node_clients_ops;
/* The daemon is gone: nobody is answered any more. */
void node_clients_lost(struct node *node);
void node_clients_fini(struct node *node);
