/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's part in the fan-out (doc/rfc/fan-out.md): the endpoint where the
 * manager's rounds reach it, and the service of libscoll through which its
 * agent passes commands on and combines answers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "lanes/config/config.h"
#include "lanes/proto/keyfile.h"
#include "scoll.h"

struct agent;

/* --- rounds. Pure: everything goes through the scoll_t --- */

/* Of what goes through this node at once; more is refused. */
#define NODE_ROUNDS_MAX 256
#define NODE_BULK_MAX   268435456 /* bytes of commands: 256 MiB */

/*
 *	scoll_init -> node_rounds_create -> agent_create with an op `answer`
 *	that calls node_rounds_answer -> node_rounds_serve
 *	scoll_fini -> node_rounds_destroy -> agent_destroy
 *
 * After scoll_progress() the agent may want its tick at another time.
 */
struct node_rounds;

/* As agent_round_command() and its like. */
struct node_round_events {
	void (*command)(void *ctx, uint64_t round, const void *payload,
			size_t size, const void *bulk, size_t bulk_size);
	void (*part)(void *ctx, uint64_t round, const void *bytes, size_t size);
	void (*closed)(void *ctx, uint64_t round);
};

/* ctx: the agent. */
extern const struct node_round_events node_rounds_agent_events;

struct node_rounds *node_rounds_create(scoll_t *scoll);
/* After scoll_fini(). NULL is allowed. */
void node_rounds_destroy(struct node_rounds *rounds);
DEFINE_AUTO(struct node_rounds, node_rounds_destroy)

/*
 * Take part from now on; the events by reference. As scoll_service_register().
 */
int node_rounds_serve(struct node_rounds *rounds,
		      const struct node_round_events *events, void *ctx);
/* As `answer` of struct agent_ops. */
void node_rounds_answer(struct node_rounds *rounds, uint64_t round,
			const void *bytes, size_t size, bool is_last);
/* As `returned` of struct agent_ops. */
void node_rounds_returned(struct node_rounds *rounds);
/* How many go through this node now: simulations look whether one is left. */
size_t node_rounds_count(const struct node_rounds *rounds);

/* --- the endpoint --- */

/*
 * It is opened when it is known by which address the node reaches the manager.
 *
 *	node_endpoint_create -> agent_create -> node_endpoint_serve
 *	a link is up: node_endpoint_open
 *	node_endpoint_close -> agent_destroy -> node_endpoint_destroy
 */
struct node_endpoint;

/* By reference: fabric, log. */
struct node_endpoint *node_endpoint_create(uv_loop_t *loop,
					   const struct config_fabric *fabric,
					   const char *name,
					   const struct log *log);
/* At once; ends of rounds under way are reported from inside. */
void node_endpoint_close(struct node_endpoint *node);
/* After it was closed; NULL is allowed. */
void node_endpoint_destroy(struct node_endpoint *node);

/* The keys, now and whenever they have changed. */
void node_endpoint_keys(struct node_endpoint *node,
			const struct hop_keys *keys);
/* Whose part in rounds it is. */
void node_endpoint_serve(struct node_endpoint *node, struct agent *agent);
/* As those of struct agent_ops. */
void node_endpoint_returned(struct node_endpoint *node);
void node_endpoint_answer(struct node_endpoint *node, uint64_t round,
			  const void *bytes, size_t size, bool is_last);
/*
 * The manager was reached from the address `local`: open the endpoint, if there
 * is none yet, and tell the agent where it is. What fails goes to the log, and
 * is tried again next time. -EADDRNOTAVAIL: its address was this machine's and
 * is no more, which takes a restart.
 */
int node_endpoint_open(struct node_endpoint *node, const char *local);
