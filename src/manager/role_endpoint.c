/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager's endpoint among its nodes', at one address: that which they all
 * reach.
 */
#include <string.h>

#include "base/address.h"
#include "endpoint/place.h"
#include "manager/role_internal.h"
#include "manager/wire/nid.h"

static const char *host_of(const char *text, struct address *address)
{
	return address_parse(text, address, NULL) < 0 ? "" : address->host;
}

static void on_part(void *ctx, uint64_t id, const void *bytes, size_t size)
{
	struct manager *manager = ctx;

	if (!manager->is_over)
		engine_collective_part(manager->engine, id, bytes, size);
}

static void on_ended(void *ctx, uint64_t id, int result,
		     const struct collective_failure *failures, size_t count)
{
	struct manager *manager = ctx;

	if (!manager->is_over)
		engine_collective_ended(manager->engine, id, result, failures,
					count);
}

static const struct broadcast_events broadcast_events = {
	.part = on_part,
	.ended = on_ended,
};

static void on_progressed(void *ctx)
{
	struct manager *manager = ctx;

	broadcasts_settle(manager->broadcasts);
}

static int broadcasts_begin(struct manager *manager,
			    struct fairlead_error *ret_error)
{
	int result = broadcasts_create(endpoint_scoll(manager->endpoint),
				       &broadcast_events, manager,
				       &manager->broadcasts);

	if (result < 0)
		return error_set(ret_error, result,
				 "cannot begin collectives: %s",
				 strerror(-result));
	return 0;
}

int role_endpoint_open(struct manager *manager, const struct manager_keys *keys,
		       struct fairlead_error *ret_error)
{
	const struct config *config = manager->config;
	struct address bound, named;
	const struct place_wish wish = {
		.listen = config->fabric.listen,
		.bound = host_of(config->manager.listen, &bound),
		.name = host_of(config->node.manager, &named),
	};
	struct endpoint_options options = {
		.loop = manager->loop,
		.nid = NID_MANAGER,
		.provider = config->fabric.provider,
		.progressed = on_progressed,
		.ctx = manager,
	};
	struct place place;
	int result = place_choose(&wish, &place, ret_error);

	if (result == 0) {
		options.host = place.host;
		options.port = place.port;
		result = endpoint_open(&options, &manager->endpoint, ret_error);
	}
	if (result == 0)
		result = broadcasts_begin(manager, ret_error);
	if (result < 0)
		return error_prefix(ret_error, "fabric");
	role_endpoint_keys(manager, keys);
	log_info(manager->log, "the endpoint is open provider=%s host=%s",
		 options.provider, place.host);
	return 0;
}

void role_endpoint_close(struct manager *manager)
{
	endpoint_close(take_ptr(manager->endpoint));
	broadcasts_destroy(take_ptr(manager->broadcasts));
}

void role_endpoint_keys(struct manager *manager,
			const struct manager_keys *keys)
{
	struct hop_key hops[KEYS_MAX];
	size_t count = manager_keys_hops(keys, hops);

	endpoint_keys(manager->endpoint, hops, count);
	explicit_bzero(hops, sizeof(hops));
}
