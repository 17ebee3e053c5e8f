/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One endpoint for the life of the process. Without one a node still serves its
 * own clients, but the manager refuses it and points to this node's log.
 */
#include "lanes/node/fanout/fanout.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "sys/endpoint/endpoint.h"
#include "sys/endpoint/place.h"
#include "lanes/proto/collective.h"
#include "lanes/node/agent/agent.h"

struct node_endpoint {
	uv_loop_t *loop;
	const struct config_fabric *fabric;
	const struct log *log;
	struct agent *agent;
	struct hop hop;
	struct endpoint *endpoint; /* NULL: not yet */
	struct node_rounds *rounds;
	struct endpoint_place place;
	struct fairlead_error error; /* the last one that was logged */
};

struct node_endpoint *node_endpoint_create(uv_loop_t *loop,
					   const struct config_fabric *fabric,
					   const char *name,
					   const struct log *log)
{
	struct node_endpoint *node = memory_alloc(sizeof(*node));

	node->loop = loop;
	node->fabric = fabric;
	node->log = log;
	hop_init(&node->hop, nid_of_node(name));
	keys_lock(&node->hop.keys, sizeof(node->hop.keys), log);
	return node;
}

void node_endpoint_close(struct node_endpoint *node)
{
	if (!node)
		return;
	endpoint_close(take_ptr(node->endpoint));
	node_rounds_destroy(take_ptr(node->rounds));
}

void node_endpoint_destroy(struct node_endpoint *node)
{
	if (!node)
		return;
	hop_fini(&node->hop);
	free(node);
}

void node_endpoint_keys(struct node_endpoint *node, const struct hop_keys *keys)
{
	hop_take(&node->hop, keys);
}

void node_endpoint_serve(struct node_endpoint *node, struct agent *agent)
{
	node->agent = agent;
}

void node_endpoint_returned(struct node_endpoint *node)
{
	if (node->rounds)
		node_rounds_returned(node->rounds);
}

void node_endpoint_answer(struct node_endpoint *node, uint64_t round,
			  const void *bytes, size_t size, bool is_last)
{
	node_rounds_answer(node->rounds, round, bytes, size, is_last);
}

static int take_part(struct node_endpoint *node,
		     struct fairlead_error *ret_error)
{
	int result;

	node->rounds = node_rounds_create(endpoint_scoll(node->endpoint));
	result = node_rounds_serve(node->rounds, &node_rounds_agent_events,
				   node->agent);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot register with libscoll: %s",
				 strerror(-result));
	return 0;
}

static int open_endpoint(struct node_endpoint *node, const char *local,
			 struct fairlead_error *ret_error)
{
	const struct place_terms terms = {
		.listen = node->fabric->listen,
		.bound = local,
		.name = "",
	};
	struct endpoint_options options = {
		.loop = node->loop,
		.nid = node->hop.nid,
		.provider = node->fabric->provider,
		.host = node->place.host,
		.authenticator = &node->hop.authenticator,
	};
	int result = place_choose(&terms, &node->place, ret_error);

	options.port = node->place.port;
	if (result == 0)
		result = endpoint_open(&options, &node->endpoint, ret_error);
	if (result == 0)
		result = take_part(node, ret_error);
	if (result < 0) {
		node_endpoint_close(node);
		return result;
	}
	return 0;
}

/* Log a reason once. */
static void say(struct node_endpoint *node, const struct fairlead_error *error)
{
	agent_endpoint_say(node->agent, false, error->text);
	if (strcmp(node->error.text, error->text) != 0)
		log_error(node->log,
			  "there is no endpoint, without which the manager "
			  "refuses this node error=\"%s\"",
			  error->text);
	node->error = *error;
}

/* Of a provider that has addresses of the internet: its port, or 0. */
static uint16_t port_of(const uint8_t *address, size_t size)
{
	struct sockaddr_in6 six = { 0 };
	struct sockaddr_in four = { 0 };

	if (size == sizeof(four))
		memcpy(&four, address, size);
	if (size == sizeof(six))
		memcpy(&six, address, size);
	if (four.sin_family == AF_INET)
		return ntohs(four.sin_port);
	return six.sin6_family == AF_INET6 ? ntohs(six.sin6_port) : 0;
}

static void say_open(struct node_endpoint *node, const uint8_t *address,
		     size_t size)
{
	char text[256];

	snprintf(text, sizeof(text), "provider '%s' at %s, port %u",
		 node->fabric->provider, node->place.host,
		 port_of(address, size));
	agent_endpoint_say(node->agent, true, text);
}

int node_endpoint_open(struct node_endpoint *node, const char *local)
{
	uint8_t address[ENDPOINT_ADDRESS_MAX];
	struct fairlead_error error;
	size_t size;

	static_assert(ENDPOINT_ADDRESS_MAX <= COLLECTIVE_ADDRESS_MAX,
		      "REGISTER carries any address");
	if (node->endpoint)
		return place_is_here(node->place.host) ? 0 : -EADDRNOTAVAIL;
	if (open_endpoint(node, local, &error) < 0) {
		say(node, &error);
		return 0;
	}
	node->error.text[0] = 0;
	size = endpoint_address(node->endpoint, address);
	agent_locate(node->agent, address, size);
	say_open(node, address, size);
	log_info(node->log, "the endpoint is open provider=%s host=%s",
		 node->fabric->provider, node->place.host);
	return 0;
}
