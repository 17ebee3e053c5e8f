/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who connects to the manager: two nets (nodes over TCP, clients over a Unix
 * socket), clients over TCP, and the metrics. Each has its own
 * share of the descriptors: who reaches one of the ports can open connections
 * without end, and takes none of the others.
 */
#include <errno.h>
#include <string.h>

#include "base/address.h"
#include "base/hostlist.h"
#include "sys/endpoint/place.h"
#include "lanes/manager/role.h"
#include "lanes/proto/client.h"
#include "lanes/proto/collective.h"

#define SOCKET_MODE 0666 /* permissions go by the peer's uid */
#define TCP_SHARE   4    /* of clients: one in so many over TCP */
#define CLOSING_MAX 64   /* links; at most half of them are being closed */

/* --- limits --- */

static size_t least(size_t left, size_t right)
{
	return left < right ? left : right;
}

/* Open connections; the rest is reserved for connections being closed. */
static size_t sessions_of(const struct descriptor_shares *shares)
{
	return shares->links - least(CLOSING_MAX, shares->links / 2);
}

void manager_limits_check(const struct config *config, size_t roles,
			  const struct descriptor_shares *shares,
			  const struct log *log)
{
	_auto_(hostlist_destroyp) struct hostlist *nodes = NULL;
	size_t sessions = sessions_of(shares);

	if (hostlist_parse(config->manager.nodes, &nodes, NULL) < 0 ||
	    nodes->count <= sessions)
		return;
	log_warning(
		log,
		"the limit of descriptors is too low, nodes may stay down "
		"connected_max=%zu configured=%zu needed=%zu hint=\"raise "
		"LimitNOFILE in the unit, or 'ulimit -n'\"",
		sessions, nodes->count,
		roles * descriptors_need(nodes->count +
					 least(CLOSING_MAX, nodes->count - 1)));
}

/* --- events --- */

static void on_node_opened(void *ctx, uint64_t peer,
			   const struct net_peer_info *info)
{
	struct manager *manager = ctx;

	if (!manager->is_over)
		engine_node_opened(manager->engine, peer, info->address);
}

static void on_node_received(void *ctx, uint64_t peer, const void *frame,
			     size_t size)
{
	struct manager *manager = ctx;

	if (!manager->is_over)
		engine_node_received(manager->engine, peer, frame, size);
}

static void on_node_closed(void *ctx, uint64_t peer, int reason)
{
	struct manager *manager = ctx;

	if (!manager->is_over)
		engine_node_closed(manager->engine, peer);
}

static const struct net_events node_events = {
	.opened = on_node_opened,
	.received = on_node_received,
	.closed = on_node_closed,
};

static void on_client_opened(void *ctx, uint64_t peer,
			     const struct net_peer_info *info)
{
	struct manager *manager = ctx;

	if (!manager->is_over)
		engine_client_opened(manager->engine, peer, info->uid,
				     !info->is_unix);
}

static void on_client_received(void *ctx, uint64_t peer, const void *frame,
			       size_t size)
{
	struct manager *manager = ctx;

	if (!manager->is_over)
		engine_client_received(manager->engine, peer, frame, size);
}

static void on_client_violated(void *ctx, uint64_t peer, int reason)
{
	struct manager *manager = ctx;

	engine_client_violated(manager->engine, peer, reason);
}

static void on_client_closed(void *ctx, uint64_t peer, int reason)
{
	struct manager *manager = ctx;

	engine_client_closed(manager->engine, peer);
}

static bool client_goes_first(void *ctx, uid_t uid)
{
	const struct manager *manager = ctx;

	return engine_goes_first(manager->engine, uid);
}

static const struct net_events client_events = {
	.opened = on_client_opened,
	.received = on_client_received,
	.violated = on_client_violated,
	.closed = on_client_closed,
	.goes_first = client_goes_first,
};

/* --- beginning --- */

static char *render_metrics(void *ctx)
{
	struct manager *manager = ctx;

	return engine_metrics(manager->engine);
}

static int tcp_clients_open(struct manager *manager, size_t connections_max,
			    struct fairlead_error *ret_error)
{
	const struct tcp_clients_options options = {
		.loop = manager->loop,
		.turns = manager->turns,
		.munge_socket = manager->config->manager.munge_socket,
		.connections_max = connections_max,
		.events = &client_events,
		.events_ctx = manager,
		.local = net_seam(manager->clients_net),
		.log = manager->log,
	};

	return tcp_clients_create(&options, &manager->tcp_clients, ret_error);
}

int role_nets_create(struct manager *manager,
		     const struct descriptor_shares *shares,
		     struct fairlead_error *ret_error)
{
	struct turns *turns = turns_create(manager->loop);
	struct net_options nodes = {
		.turns = turns,
		.events = &node_events,
		.events_ctx = manager,
		.connections_max = shares->links,
	};
	struct net_options clients = {
		.turns = turns,
		.events = &client_events,
		.events_ctx = manager,
		.connections_max = shares->clients,
		.root_connections =
			least(CLIENT_ROOT_CONNECTIONS, shares->clients / 4),
		.user_connections_max = CLIENT_USER_CONNECTIONS,
		.clog_bytes = CLIENT_CLOG_BYTES,
		.frame_bytes_max = CLIENT_FRAME_MAX,
		.frame_timeout_ms = CLIENT_FRAME_TIMEOUT_MS,
	};
	size_t tcp_connections = 0;

	manager->turns = turns;
	manager->sessions_max = sessions_of(shares);
	if (*manager->config->manager.listen_clients != 0)
		tcp_connections = (shares->clients + TCP_SHARE - 1) / TCP_SHARE;
	clients.connections_max -= tcp_connections;
	manager->nodes_net = net_create(manager->loop, &nodes);
	manager->clients_net = net_create(manager->loop, &clients);
	return tcp_connections == 0
		       ? 0
		       : tcp_clients_open(manager, tcp_connections, ret_error);
}

static int tcp_clients_begin(struct manager *manager,
			     struct fairlead_error *ret_error)
{
	uint16_t port;
	int result = tcp_clients_listen(manager->tcp_clients,
					manager->config->manager.listen_clients,
					&port, ret_error);

	if (result == 0)
		log_info(manager->log, "clients are taken over TCP port=%u",
			 port);
	return result;
}

int role_nets_listen(struct manager *manager, struct fairlead_error *ret_error)
{
	const struct config_manager *config = &manager->config->manager;
	int result = net_listen_tcp(manager->nodes_net, config->listen, NULL,
				    ret_error);

	if (result == 0)
		result = net_listen_unix(manager->clients_net, config->socket,
					 SOCKET_MODE, (uid_t)-1, (gid_t)-1,
					 ret_error);
	if (result == 0 && manager->tcp_clients != NULL)
		result = tcp_clients_begin(manager, ret_error);
	if (result == 0 && *config->metrics != 0)
		result = http_start(manager->loop, manager->turns,
				    config->metrics, render_metrics, manager,
				    &manager->http, NULL, ret_error);
	return result;
}

/* --- the endpoint: at one address, which all nodes reach --- */

static const char *host_of(const char *text, struct address *address)
{
	return address_parse(text, address, NULL) < 0 ? "" : address->host;
}

static void on_part(void *ctx, uint64_t id, const void *bytes, size_t size)
{
	struct manager *manager = ctx;

	if (!manager->is_over)
		engine_round_part(manager->engine, id, bytes, size);
}

static void on_ended(void *ctx, uint64_t id, int result,
		     const struct round_failure *failures, size_t count)
{
	struct manager *manager = ctx;

	if (!manager->is_over)
		engine_round_ended(manager->engine, id, result, failures,
				   count);
}

static const struct round_events round_events = {
	.part = on_part,
	.ended = on_ended,
};

static void on_progressed(void *ctx)
{
	struct manager *manager = ctx;

	rounds_settle(manager->rounds);
}

static int rounds_begin(struct manager *manager,
			struct fairlead_error *ret_error)
{
	int result = rounds_create(endpoint_scoll(manager->endpoint),
				   &round_events, manager, &manager->rounds);

	if (result < 0)
		return error_set(ret_error, result,
				 "cannot register with libscoll: %s",
				 strerror(-result));
	return 0;
}

int role_endpoint_open(struct manager *manager, uint64_t epoch,
		       struct fairlead_error *ret_error)
{
	const struct config *config = manager->config;
	struct address bound, named;
	const struct place_terms terms = {
		.listen = config_fabric_of_manager(&config->fabric),
		.bound = host_of(config->manager.listen, &bound),
		.name = host_of(config->node.manager, &named),
	};
	struct endpoint_options options = {
		.loop = manager->loop,
		.nid = NID_MANAGER,
		.provider = config->fabric.provider,
		.started = epoch,
		.authenticator = &manager->hop.authenticator,
		.progressed = on_progressed,
		.ctx = manager,
	};
	struct endpoint_place place;
	int result = place_choose(&terms, &place, ret_error);

	if (result == 0) {
		options.host = place.host;
		options.port = place.port;
		result = endpoint_open(&options, &manager->endpoint, ret_error);
	}
	if (result == 0)
		result = rounds_begin(manager, ret_error);
	if (result < 0)
		return error_prefix(ret_error, "fabric");
	log_info(manager->log, "the endpoint is open provider=%s host=%s",
		 options.provider, place.host);
	return 0;
}

void role_endpoint_close(struct manager *manager)
{
	endpoint_close(take_ptr(manager->endpoint));
	rounds_destroy(take_ptr(manager->rounds));
}
