/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate's place in the manager role: before the net of Unix sockets, with
 * the same events, so that the engine sees one set of clients.
 */
#include "lanes/manager/role_internal.h"

int role_gate_create(struct manager *manager, size_t connections_max,
		     struct fairlead_error *ret_error)
{
	const struct gate_options options = {
		.loop = manager->loop,
		.turns = manager->turns,
		.munge_socket = manager->config->manager.munge_socket,
		.connections_max = connections_max,
		.events = &role_client_events,
		.events_ctx = manager,
		.local = net_seam(manager->clients_net),
		.log = manager->log,
	};

	return gate_create(&options, &manager->gate, ret_error);
}

int role_gate_listen(struct manager *manager, struct fairlead_error *ret_error)
{
	uint16_t port;
	int result;

	if (manager->gate == NULL)
		return 0;
	result = gate_listen(manager->gate,
			     manager->config->manager.listen_clients, &port,
			     ret_error);
	if (result == 0)
		log_info(manager->log, "clients are taken over TCP port=%u",
			 port);
	return result;
}
