/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node role as a whole for one test: a real guard, real sockets, one loop. The
 * manager and the client are nets of their own on the same loop.
 */
#pragma once

#include <jansson.h>
#include <uv.h>

#include "lanes/proto/collective.h"
#include "sys/endpoint/endpoint.h"
#include "lanes/manager/fanout/fanout.h"
#include "lanes/node/role.h"
#include "lanes/node/test/launcher.h"
#include "lanes/proto/keyfile.h"
#include "sys/net.h"

struct bench {
	char folder[40];
	char conf[64];
	uint16_t port;
	const char *manager; /* instead of the port */
	struct manager_keys keys;
	struct command_key command_key;
	struct node_master masters[KEYS_MAX];
	size_t master_count;
	struct log log;
	char lines[16384];
	uv_loop_t loop;
	const struct launcher *launcher;
	struct guard_handle guard;
	struct node_role *node;
	char ended[128];
	/* The manager's end. */
	struct net *nodes;
	uint64_t peer;
	struct endpoint *endpoint;
	struct hop hop;
	struct rounds *rounds;
	unsigned int links;
	uint64_t sequence;
	unsigned int greeted;
	bool has_confirm;
	bool is_stopping;
	struct confirm confirm; /* the last one; without what it owned */
	/* The client's end. */
	struct net *client;
	uint64_t client_peer;
	bool is_open;
	json_t *answer;
};

#define run_until(bench, condition) \
	while (!(condition))        \
	uv_run(&(bench)->loop, UV_RUN_ONCE)

/* A file in the folder; the keys; the configuration. */
void role_bench_put(const struct bench *bench, const char *name,
		    const void *bytes, size_t size);
void role_bench_put_keys(const struct bench *bench);
void role_bench_configure_with(const struct bench *bench, unsigned int epilog_s,
			       const char *jobs, const char *more);
void role_bench_configure(const struct bench *bench, unsigned int epilog_s);
/* The guard and the node; then an apply, and a request of a client. */
void role_bench_start(struct bench *bench);
int role_bench_start_node(struct bench *bench, struct fairlead_error *error);
void role_bench_apply(struct bench *bench, uint64_t grant_id);
json_t *role_bench_call(struct bench *bench, const char *op, const char *job);
/* Of one test; *state: the launcher. */
int role_bench_setup(void **state);
int role_bench_teardown(void **state);
