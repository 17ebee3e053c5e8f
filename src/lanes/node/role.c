/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wiring: two nets (the manager over TCP, clients over a Unix socket), the
 * channel to the guard, and one timer for the agent's deadline, which is
 * looked at before the loop waits, since any event may have moved it.
 */
#include "lanes/node/role.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "lanes/proto/client.h"
#include "lanes/node/agent/agent.h"
#include "lanes/node/fanout/fanout.h"
#include "sys/clock.h"
#include "sys/net.h"
#include "sys/rng.h"

#define SOCKET_MODE           0666 /* permissions go by the peer's uid */
#define MANAGER_LINKS_MAX     4    /* one, and those that are being closed */
#define GUARD_PATIENCE_MS     10000
#define GUARD_QUEUE_BYTES_MAX (16u << 20) /* of requests, not written yet */

struct node_role {
	struct node_options options;
	char *config_path;
	struct config *config;
	struct guard_driver drivers[GUARD_DRIVERS_MAX];
	size_t driver_count;
	struct net *manager_net;
	struct net *clients_net;
	struct net *guard_net;
	uint64_t guard_peer;
	struct node_endpoint *endpoint;
	struct agent *agent;
	uv_prepare_t prepare;
	uv_timer_t timer;
	unsigned int open_handles;
};

/* --- the node's name and drivers, for both halves --- */

static int name_get(const struct config *config, char name[NODE_NAME_MAX + 1],
		    struct fairlead_error *ret_error)
{
	char host[256] = "";

	if (*config->node.name)
		snprintf(host, sizeof(host), "%s", config->node.name);
	else if (gethostname(host, sizeof(host) - 1) < 0)
		return error_set(ret_error, -errno,
				 "cannot know the host's name: %s",
				 strerror(errno));
	else
		host[strcspn(host, ".")] = 0;
	if (!name_is_node(host))
		return error_set(ret_error, -EINVAL,
				 "'%s' cannot be the name of a node; set "
				 "'name' in the section 'node'",
				 host);
	snprintf(name, NODE_NAME_MAX + 1, "%.*s", NODE_NAME_MAX, host);
	return 0;
}

/* The drivers that are on: how many. */
static size_t drivers_get(
	const struct config *config,
	struct guard_driver_options drivers[GUARD_DRIVERS_MAX])
{
	size_t count = 0;

	for (size_t i = 0;
	     i < config->driver_count && count < GUARD_DRIVERS_MAX; i++) {
		const struct config_driver *driver = &config->drivers[i];

		if (config_driver_find(config, driver->driver->name) != driver)
			continue;
		drivers[count++] = (struct guard_driver_options){
			.driver = driver->driver,
			.settings = driver->settings,
			.setting_count = driver->setting_count,
		};
	}
	return count;
}

int node_guard_start(const struct config *config, const struct log *log,
		     struct guard_handle *ret_guard,
		     struct fairlead_error *ret_error)
{
	struct guard_driver_options drivers[GUARD_DRIVERS_MAX];
	char name[NODE_NAME_MAX + 1];
	struct guard_options options = {
		.name = name,
		.run = config->node.run,
		.jobs = config->node.jobs,
		.key = config->node.key,
		.incarnation = config->node.incarnation,
		.drivers = drivers,
		.driver_count = drivers_get(config, drivers),
		.patience_ms = GUARD_PATIENCE_MS,
		.log = log,
	};
	int result = name_get(config, name, ret_error);

	return result < 0 ? result
			  : guard_start(&options, ret_guard, ret_error);
}

/* --- events --- */

static void on_manager_opened(void *ctx, uint64_t peer,
			      const struct net_peer_info *info)
{
	struct node_role *node = ctx;

	if (node_endpoint_open(node->endpoint, info->local) < 0)
		node->options.ended(node->options.ended_ctx,
				    "the address of the endpoint is this "
				    "machine's no more");
	agent_manager_opened(node->agent, peer);
}

static void on_manager_received(void *ctx, uint64_t peer, const void *frame,
				size_t size)
{
	struct node_role *node = ctx;

	agent_manager_received(node->agent, peer, frame, size);
}

static void on_manager_closed(void *ctx, uint64_t peer, int reason)
{
	struct node_role *node = ctx;

	agent_manager_closed(node->agent, peer, reason);
}

static const struct net_events manager_events = {
	.opened = on_manager_opened,
	.received = on_manager_received,
	.closed = on_manager_closed,
};

static void on_client_opened(void *ctx, uint64_t peer,
			     const struct net_peer_info *info)
{
	struct node_role *node = ctx;

	agent_client_opened(node->agent, peer, info->uid);
}

static void on_client_received(void *ctx, uint64_t peer, const void *frame,
			       size_t size)
{
	struct node_role *node = ctx;

	agent_client_received(node->agent, peer, frame, size);
}

static void on_client_violated(void *ctx, uint64_t peer, int reason)
{
	struct node_role *node = ctx;

	agent_client_violated(node->agent, peer, reason);
}

static void on_client_closed(void *ctx, uint64_t peer, int reason)
{
	struct node_role *node = ctx;

	agent_client_closed(node->agent, peer);
}

static const struct net_events client_events = {
	.opened = on_client_opened,
	.received = on_client_received,
	.violated = on_client_violated,
	.closed = on_client_closed,
};

static void on_guard_closed(void *ctx, uint64_t peer, int reason)
{
	struct node_role *node = ctx;
	char why[128] = "the guard has ended";

	/* A reset is the same end, with a request on its way. */
	if (reason < 0 && reason != -ECONNRESET && reason != -EPIPE)
		snprintf(why, sizeof(why), "cannot speak with the guard: %s",
			 strerror(-reason));
	node->options.ended(node->options.ended_ctx, why);
}

static void on_guard_received(void *ctx, uint64_t peer, const void *message,
			      size_t size)
{
	struct node_role *node = ctx;
	int result = agent_guard_received(node->agent, message, size);

	if (result < 0)
		node->options.ended(node->options.ended_ctx,
				    "the guard sent an unexpected message");
}

static const struct net_events guard_events = {
	.received = on_guard_received,
	.closed = on_guard_closed,
};

/* --- seams --- */

static int on_dial(void *ctx, uint64_t *ret_peer,
		   struct fairlead_error *ret_error)
{
	struct node_role *node = ctx;

	return net_dial(node->manager_net, node->config->node.manager, ret_peer,
			ret_error);
}

static int on_ask(void *ctx, const void *request, size_t size)
{
	struct node_role *node = ctx;
	struct net_seam net = net_seam(node->guard_net);

	return net.ops->send(net.ctx, node->guard_peer, request, size);
}

static void on_hops(void *ctx, const struct hop_keys *keys)
{
	struct node_role *node = ctx;

	node_endpoint_keys(node->endpoint, keys);
}

static void on_returned(void *ctx)
{
	struct node_role *node = ctx;

	node_endpoint_returned(node->endpoint);
}

static void on_answer(void *ctx, uint64_t round, const void *bytes, size_t size,
		      bool is_last)
{
	struct node_role *node = ctx;

	node_endpoint_answer(node->endpoint, round, bytes, size, is_last);
}

static const struct agent_ops agent_ops = {
	.dial = on_dial,
	.ask = on_ask,
	.hops = on_hops,
	.answer = on_answer,
	.returned = on_returned,
};

static void on_timer(uv_timer_t *timer)
{
	struct node_role *node = timer->data;

	agent_tick(node->agent);
}

static void on_prepare(uv_prepare_t *prepare)
{
	struct node_role *node = prepare->data;
	struct clock_seam clock = sys_clock();
	uint64_t deadline_ms = agent_deadline_ms(node->agent);
	uint64_t now_ms = clock_monotonic_ms(&clock);

	if (deadline_ms == DEADLINE_NONE) {
		uv_timer_stop(&node->timer);
		return;
	}
	uv_update_time(node->options.loop);
	uv_timer_start(&node->timer, on_timer,
		       deadline_ms > now_ms ? deadline_ms - now_ms : 0, 0);
}

/* --- beginning --- */

static int nets_open(struct node_role *node, struct fairlead_error *ret_error)
{
	size_t clients_max = node->options.shares->clients;
	struct net_options manager = {
		.events = &manager_events,
		.events_ctx = node,
		.connections_max = MANAGER_LINKS_MAX,
	};
	struct net_options clients = {
		.events = &client_events,
		.events_ctx = node,
		.connections_max = clients_max,
		.root_connections = clients_max / 4 < CLIENT_ROOT_CONNECTIONS
					    ? clients_max / 4
					    : CLIENT_ROOT_CONNECTIONS,
		.user_connections_max = CLIENT_USER_CONNECTIONS,
		.clog_bytes = CLIENT_CLOG_BYTES,
		.frame_timeout_ms = CLIENT_FRAME_TIMEOUT_MS,
	};
	struct net_options guard = {
		.events = &guard_events,
		.events_ctx = node,
		.connections_max = 1,
		.frame_bytes_max = GUARD_MESSAGE_MAX,
		.queue_bytes_max = GUARD_QUEUE_BYTES_MAX,
		.frame_timeout_ms = UINT64_MAX, /* it may wait for a driver */
	};
	uv_loop_t *loop = node->options.loop;
	int result;

	node->manager_net = net_create(loop, &manager);
	node->clients_net = net_create(loop, &clients);
	node->guard_net = net_create(loop, &guard);
	result = net_adopt(node->guard_net, node->options.guard->fd,
			   &node->guard_peer);
	if (result < 0)
		return error_set(ret_error, result, "cannot begin: %s",
				 strerror(-result));
	return net_listen_unix(node->clients_net, node->config->node.socket,
			       SOCKET_MODE, (uid_t)-1, (gid_t)-1, ret_error);
}

static int agent_begin(struct node_role *node, struct fairlead_error *ret_error)
{
	const struct config_node *config = &node->config->node;
	char name[NODE_NAME_MAX + 1];
	struct agent_options options = {
		.name = name,
		.manager = config->manager,
		.software = FAIRLEAD_VERSION,
		.timeouts = { .epilog_ms = config->epilog_timeout_ms,
			      .housekeeping_ms =
				      config->housekeeping_timeout_ms },
		.drivers = node->drivers,
		.driver_count = node->driver_count,
		.clock = sys_clock(),
		.rng = sys_rng(),
		.manager_net = net_seam(node->manager_net),
		.clients_net = net_seam(node->clients_net),
		.ops = &agent_ops,
		.ops_ctx = node,
		.log = node->options.log,
	};
	int result = name_get(node->config, name, ret_error);

	if (result < 0)
		return result;
	memcpy(options.incarnation, node->options.guard->incarnation,
	       INCARNATION_SIZE);
	node->endpoint =
		node_endpoint_create(node->options.loop, &node->config->fabric,
				     name, node->options.log);
	node->agent = agent_create(&options);
	node_endpoint_serve(node->endpoint, node->agent);
	result = agent_start(node->agent);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot begin to speak with the guard: %s",
				 strerror(-result));
	return 0;
}

static void watch_deadline(struct node_role *node)
{
	uv_prepare_init(node->options.loop, &node->prepare);
	uv_timer_init(node->options.loop, &node->timer);
	node->prepare.data = node;
	node->timer.data = node;
	node->open_handles = 2;
	uv_prepare_start(&node->prepare, on_prepare);
	/* What keeps the loop alive are the sockets. */
	uv_unref((uv_handle_t *)&node->prepare);
}

int node_start(const struct node_options *options, struct config *config_owned,
	       struct node_role **ret_node, struct fairlead_error *ret_error)
{
	struct node_role *node = memory_alloc(sizeof(*node));
	struct guard_driver_options drivers[GUARD_DRIVERS_MAX];
	int result;

	node->options = *options;
	node->config = config_owned;
	node->config_path = memory_text(options->config_path);
	if (!*config_owned->node.manager)
		result = error_set(ret_error, -EINVAL,
				   "the section 'node' does not say where the "
				   "manager is; set 'manager'");
	else
		result = nets_open(node, ret_error);
	if (result == 0) {
		node->driver_count = drivers_get(node->config, drivers);
		/* The guard has logged which ones cannot be opened. */
		guard_drivers_open(drivers, node->driver_count, NULL,
				   node->drivers);
		result = agent_begin(node, ret_error);
	}
	if (result < 0) {
		node_stop(node);
		return result;
	}
	watch_deadline(node);
	*ret_node = node;
	return 0;
}

/* --- reload --- */

void node_reload(struct node_role *node)
{
	const struct node_options *options = &node->options;
	_auto_(freep) char *errors = NULL;
	_auto_(freep) char *ignored = NULL;
	_auto_(config_destroyp) struct config *config = NULL;
	struct agent_timeouts timeouts;
	char *rest;

	if (config_load(node->config_path, options->roles, options->drivers,
			options->driver_count, &config, &errors) < 0) {
		log_error(options->log,
			  "the configuration stays as it was error=\"%s\"",
			  errors);
		return;
	}
	timeouts.epilog_ms = config->node.epilog_timeout_ms;
	timeouts.housekeeping_ms = config->node.housekeeping_timeout_ms;
	/* Compare with the settings of the start: reported until a restart. */
	ignored = config_restart_needed(node->config, config, CONFIG_ROLE_NODE);
	agent_configure(node->agent, &timeouts, ignored);
	options->log->level = config->log_level;
	for (char *line = strtok_r(ignored, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		log_warning(options->log,
			    "ignored until a restart setting=\"%s\"", line);
	log_info(options->log, "the configuration was read again");
	agent_reload(node->agent);
}

/* --- end --- */

static void node_free(struct node_role *node)
{
	config_destroy(node->config);
	free(node->config_path);
	free(node);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct node_role *node = handle->data;

	if (--node->open_handles == 0)
		node_free(node);
}

void node_stop(struct node_role *node)
{
	if (!node)
		return;
	net_destroy(node->guard_net);
	net_destroy(node->manager_net);
	net_destroy(node->clients_net);
	node_endpoint_close(node->endpoint);
	agent_destroy(node->agent);
	node_endpoint_destroy(node->endpoint);
	guard_drivers_close(node->drivers, node->driver_count);
	if (node->open_handles == 0) {
		node_free(node);
		return;
	}
	uv_close((uv_handle_t *)&node->prepare, on_handle_closed);
	uv_close((uv_handle_t *)&node->timer, on_handle_closed);
}
