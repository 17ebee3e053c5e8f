/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One endpoint for the life of the process: a node that cannot open one serves
 * its own clients meanwhile, and is refused by the manager, whose text says to
 * look here.
 */
#include "lanes/node/station.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/endpoint/endpoint.h"
#include "lanes/endpoint/place.h"
#include "lanes/proto/nid.h"
#include "lanes/node/agent/agent.h"
#include "lanes/node/collectives.h"

struct station {
	uv_loop_t *loop;
	const struct config_fabric *fabric;
	uint64_t nid;
	const struct log *log;
	struct agent *agent;
	struct hop_keys keys;
	struct endpoint *endpoint; /* NULL: not yet */
	struct collectives *collectives;
	struct place place;
	struct fairlead_error error; /* the last one that was logged */
};

int station_create(uv_loop_t *loop, const struct config_fabric *fabric,
		   const char *node, const struct log *log,
		   struct station **ret_station)
{
	struct station *station = calloc(1, sizeof(*station));

	if (!station)
		return -ENOMEM;
	station->loop = loop;
	station->fabric = fabric;
	station->nid = nid_of_node(node);
	station->log = log;
	*ret_station = station;
	return 0;
}

void station_close(struct station *station)
{
	if (!station)
		return;
	endpoint_close(take_ptr(station->endpoint));
	collectives_destroy(take_ptr(station->collectives));
}

void station_destroy(struct station *station)
{
	if (!station)
		return;
	hop_keys_fini(&station->keys);
	free(station);
}

void station_keys(struct station *station, const struct hop_keys *keys)
{
	station->keys = *keys;
	if (station->endpoint)
		endpoint_keys(station->endpoint, keys);
}

void station_serve(struct station *station, struct agent *agent)
{
	station->agent = agent;
}

void station_returned(struct station *station)
{
	if (station->collectives)
		collectives_returned(station->collectives);
}

void station_gathered(struct station *station, uint64_t collective,
		      const void *bytes, size_t size, bool is_last)
{
	collectives_gathered(station->collectives, collective, bytes, size,
			     is_last);
}

static int take_part(struct station *station, struct fairlead_error *ret_error)
{
	int result = collectives_create(endpoint_scoll(station->endpoint),
					&station->collectives);

	if (result == 0)
		result = collectives_serve(station->collectives,
					   &collectives_agent_events,
					   station->agent);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot take part in collectives: %s",
				 strerror(-result));
	return 0;
}

static int open_endpoint(struct station *station, const char *local,
			 struct fairlead_error *ret_error)
{
	const struct place_terms terms = {
		.listen = station->fabric->listen,
		.bound = local,
		.name = "",
	};
	struct endpoint_options options = {
		.loop = station->loop,
		.nid = station->nid,
		.provider = station->fabric->provider,
		.host = station->place.host,
	};
	int result = place_choose(&terms, &station->place, ret_error);

	options.port = station->place.port;
	if (result == 0)
		result = endpoint_open(&options, &station->endpoint, ret_error);
	if (result == 0)
		result = take_part(station, ret_error);
	if (result < 0) {
		station_close(station);
		return result;
	}
	endpoint_keys(station->endpoint, &station->keys);
	return 0;
}

/* The same reason again is not said again. */
static void say(struct station *station, const struct fairlead_error *error)
{
	agent_endpoint_say(station->agent, false, error->text);
	if (strcmp(station->error.text, error->text) != 0)
		log_error(station->log,
			  "there is no endpoint, without which the manager "
			  "refuses this node error=\"%s\"",
			  error->text);
	station->error = *error;
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

static void say_open(struct station *station, const uint8_t *address,
		     size_t size)
{
	char text[256];

	snprintf(text, sizeof(text), "provider '%s' at %s, port %u",
		 station->fabric->provider, station->place.host,
		 port_of(address, size));
	agent_endpoint_say(station->agent, true, text);
}

int station_open(struct station *station, const char *local)
{
	uint8_t address[COLLECTIVE_ADDRESS_MAX];
	struct fairlead_error error;
	size_t size;

	if (station->endpoint)
		return place_is_here(station->place.host) ? 0 : -EADDRNOTAVAIL;
	if (open_endpoint(station, local, &error) < 0) {
		say(station, &error);
		return 0;
	}
	station->error.text[0] = 0;
	size = endpoint_address(station->endpoint, address);
	agent_locate(station->agent, address, size);
	say_open(station, address, size);
	log_info(station->log, "the endpoint is open provider=%s host=%s",
		 station->fabric->provider, station->place.host);
	return 0;
}
