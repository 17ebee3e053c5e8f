/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the manager role. */
#pragma once

#include "sys/endpoint/endpoint.h"
#include "lanes/manager/site_command.h"
#include "lanes/manager/engine.h"
#include "lanes/manager/fanout/fanout.h"
#include "lanes/manager/tcp_clients.h"
#include "lanes/manager/http.h"
#include "lanes/manager/manager.h"
#include "lanes/manager/store/store.h"
#include "lanes/manager/store/worker.h"
#include "sys/descriptors.h"
#include "sys/net.h"

/* The configuration as the engine wants it. */
struct role_config {
	struct engine_config engine;
	struct core_driver_config drivers[CORE_DRIVERS_MAX];
	struct engine_submitter submitters[CONFIG_SUBMITTERS_MAX];
};

/* Borrowed from config; ret->engine points into ret. */
void role_config_fill(const struct config *config, struct role_config *ret);

struct backend; /* outside/backend.h */

/* The fabric managers that drivers name. */
struct role_outside {
	size_t count;
	struct {
		const char *driver;
		struct backend *backend;
	} list[CORE_DRIVERS_MAX];
};

/* A call of the site's tools that has ended. */
struct ended_command {
	char node[NODE_NAME_MAX + 1];
	uint64_t id;
	int result;
	struct ended_command *next;
};

struct manager {
	uv_loop_t *loop;
	char *config_path;
	unsigned int roles;
	const struct fairlead_driver *const *drivers;
	size_t driver_count;
	struct log *log;
	struct clock_seam clock;

	struct config *config;
	struct config *started;     /* as of the start; NULL: it is config */
	struct role_config *filled; /* from config; the engine points to it */
	struct store *store;
	struct store_worker *worker;
	struct engine *engine;
	struct turns *turns; /* of all who connect */
	struct net *nodes_net;
	size_t sessions_max; /* of the engine: some links are being closed */
	struct net *clients_net;
	struct tcp_clients *tcp_clients; /* NULL: no clients over TCP */
	struct hop hop;                  /* of the endpoint */
	struct endpoint *endpoint;
	struct rounds *rounds; /* over it, for the engine */
	struct commands *commands;
	struct http *http;
	struct role_outside outside;
	struct ended_command *ended_commands;

	uv_prepare_t prepare;
	uv_timer_t timer;
	unsigned int open_count; /* of the two */
	/* The engine hears of nothing more but the ends of its commits. */
	bool is_over;
	void (*stopped)(void *ctx);
	void *stopped_ctx;
};

/* Nobody is taken before they listen. Errors have a text. */
int role_nets_create(struct manager *manager,
		     const struct descriptor_shares *shares,
		     struct fairlead_error *ret_error);
int role_nets_listen(struct manager *manager, struct fairlead_error *ret_error);

/*
 * In this epoch, by which nodes know our messages from those of an earlier
 * start. Errors have a text.
 */
int role_endpoint_open(struct manager *manager, uint64_t epoch,
		       struct fairlead_error *ret_error);
/* When the engine has been destroyed. */
void role_endpoint_close(struct manager *manager);
/* Of this configuration. Errors have a text. */
int role_outside_open(struct manager *manager, const struct config *config,
		      struct role_outside *ret_outside,
		      struct fairlead_error *ret_error);
void role_outside_fini(struct role_outside *outside);
/* In place of those that are there; what these had to do is tried again. */
void role_outside_take(struct manager *manager,
		       const struct role_outside *outside);
void role_outside_send(struct manager *manager,
		       const struct outside_request *request);

int role_keys_load(const char *path, struct manager_keys *ret_keys,
		   struct fairlead_error *ret_error);
