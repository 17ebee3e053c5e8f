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
		.progressed = on_progressed,
		.ctx = manager,
	};
	struct place place;
	int result = place_choose(&terms, &place, ret_error);

	if (result == 0) {
		options.host = place.host;
		options.port = place.port;
		result = endpoint_open(&options, &manager->endpoint, ret_error);
	}
	if (result == 0)
		result = broadcasts_begin(manager, ret_error);
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
	broadcasts_destroy(take_ptr(manager->broadcasts));
}

void role_endpoint_keys(struct manager *manager,
			const struct manager_keys *keys)
{
	manager_keys_hops(keys, &manager->hops);
	if (manager->endpoint != NULL)
		endpoint_keys(manager->endpoint, &manager->hops);
}

/* --- for the engine, which is older than the endpoint --- */

static int on_start(void *ctx, const struct collective_request *request)
{
	const struct manager *manager = ctx;
	struct collective_seam seam = broadcasts_seam(manager->broadcasts);

	return manager->broadcasts == NULL ? -ENOTCONN
					   : seam.ops->start(seam.ctx, request);
}

static void on_cancel(void *ctx, uint64_t id)
{
	const struct manager *manager = ctx;
	struct collective_seam seam = broadcasts_seam(manager->broadcasts);

	if (manager->broadcasts != NULL)
		seam.ops->cancel(seam.ctx, id);
}

static void on_address(void *ctx, uint64_t nid, const void *address,
		       size_t size)
{
	const struct manager *manager = ctx;
	struct collective_seam seam = broadcasts_seam(manager->broadcasts);

	if (manager->broadcasts != NULL)
		seam.ops->address(seam.ctx, nid, address, size);
}

static void on_group_drop(void *ctx, uint64_t group)
{
	const struct manager *manager = ctx;
	struct collective_seam seam = broadcasts_seam(manager->broadcasts);

	if (manager->broadcasts != NULL)
		seam.ops->group_drop(seam.ctx, group);
}

static void on_counters(void *ctx, struct collective_counters *ret_counters)
{
	const struct manager *manager = ctx;

	*ret_counters = manager->broadcasts == NULL
				? (struct collective_counters){ 0 }
				: *broadcasts_counters(manager->broadcasts);
}

static const struct collective_ops collective_ops = {
	.start = on_start,
	.cancel = on_cancel,
	.address = on_address,
	.group_drop = on_group_drop,
	.counters = on_counters,
};

struct collective_seam role_collective_seam(struct manager *manager)
{
	return (struct collective_seam){ .ops = &collective_ops,
					 .ctx = manager };
}
