/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager's endpoint among its nodes', at one address: that which they all
 * reach.
 */
#include <errno.h>
#include <string.h>

#include "base/address.h"
#include "lanes/endpoint/place.h"
#include "lanes/manager/role_internal.h"
#include "lanes/proto/nid.h"

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
		.log = manager->log,
		.nid = NID_MANAGER,
		.provider = config->fabric.provider,
		.started = epoch,
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
	endpoint_keys(manager->endpoint, &manager->hops);
	log_info(manager->log, "the endpoint is open provider=%s host=%s",
		 options.provider, place.host);
	return 0;
}

void role_endpoint_close(struct manager *manager)
{
	endpoint_close(take_ptr(manager->endpoint));
	rounds_destroy(take_ptr(manager->rounds));
}

void role_endpoint_keys(struct manager *manager,
			const struct manager_keys *keys)
{
	manager_keys_hops(keys, &manager->hops);
	if (manager->endpoint != NULL)
		endpoint_keys(manager->endpoint, &manager->hops);
}
