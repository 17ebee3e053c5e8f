/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libscoll's descriptor is watched, and its time is asked for just before the
 * loop waits, since any call may have moved it.
 */
#include "sys/endpoint/endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_LIFETIME_NS (INT64_C(7 * 24 * 3600) * 1000000000)
#define RTT_NS            INT64_C(1000000000) /* of a busy machine */
#define NS_PER_MS         1000000
#define PORT_TEXT         6

struct endpoint {
	uv_loop_t *loop;
	void (*progressed)(void *ctx);
	void *ctx;
	scoll_t *scoll;
	uint8_t address[ENDPOINT_ADDRESS_MAX];
	size_t address_size;
	uv_poll_t poll;
	uv_prepare_t prepare;
	uv_timer_t timer;
	unsigned int open_handles;
};

/* --- what goes on --- */

static void progress(struct endpoint *endpoint)
{
	if (scoll_progress(endpoint->scoll) > 0 && endpoint->progressed != NULL)
		endpoint->progressed(endpoint->ctx);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	progress(poll->data);
}

static void on_timer(uv_timer_t *timer)
{
	progress(timer->data);
}

static void on_prepare(uv_prepare_t *prepare)
{
	struct endpoint *endpoint = prepare->data;
	scoll_duration_t left_ns = scoll_timeout(endpoint->scoll);

	if (left_ns < 0) {
		uv_timer_stop(&endpoint->timer);
		return;
	}
	uv_update_time(endpoint->loop);
	uv_timer_start(&endpoint->timer, on_timer,
		       (uint64_t)(left_ns + NS_PER_MS - 1) / NS_PER_MS, 0);
}

/* --- beginning --- */

static int instance_open(struct endpoint *endpoint,
			 const struct endpoint_options *options,
			 struct fairlead_error *ret_error)
{
	char port[PORT_TEXT];
	const struct scoll_params params = {
		.size = sizeof(params),
		.nid = options->nid,
		.provider = options->provider,
		.node = options->host,
		.service = options->port != 0 ? port : NULL,
		/* Not for the environment to choose. */
		.tree = SCOLL_TREE_KNOMIAL(4),
		.rtt = RTT_NS,
		.discovery = SCOLL_DISCOVERY_GIVEN,
		/* Of jobs that run long: to make it again costs a round. */
		.group_lifetime = GROUP_LIFETIME_NS,
		.authenticator = options->authenticator,
		.share_addresses = true,
		.started = options->started,
	};
	struct fairlead_error error;
	int result;

	snprintf(port, sizeof(port), "%u", options->port);
	result = scoll_init(&params, &endpoint->scoll, &error);
	if (result == -ENODATA)
		return error_set(ret_error, result,
				 "libfabric has no provider '%s' that can do "
				 "messages, tags and RMA at %s: 'fi_info -l' "
				 "lists those that there are; set 'provider' "
				 "in the section 'fabric'",
				 options->provider, options->host);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot open an endpoint at %s: %s",
				 options->host, error.text);
	return 0;
}

static int address_get(struct endpoint *endpoint, const char *provider,
		       struct fairlead_error *ret_error)
{
	int result;

	endpoint->address_size = sizeof(endpoint->address);
	result = scoll_address(endpoint->scoll, endpoint->address,
			       &endpoint->address_size);
	if (result == -ENOSPC)
		return error_set(ret_error, result,
				 "addresses of provider '%s' have %zu bytes, "
				 "and a node can tell %d: use another provider",
				 provider, endpoint->address_size,
				 ENDPOINT_ADDRESS_MAX);
	if (result < 0)
		return error_set(ret_error, result,
				 "provider '%s' does not say its address: %s",
				 provider, strerror(-result));
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct endpoint *endpoint = handle->data;

	if (--endpoint->open_handles == 0)
		free(endpoint);
}

static int watch(struct endpoint *endpoint, struct fairlead_error *ret_error)
{
	uv_loop_t *loop = endpoint->loop;
	int result =
		uv_poll_init(loop, &endpoint->poll, scoll_fd(endpoint->scoll));

	if (result < 0)
		return error_set(ret_error, result,
				 "cannot wait for the endpoint: %s",
				 uv_strerror(result));
	uv_prepare_init(loop, &endpoint->prepare);
	uv_timer_init(loop, &endpoint->timer);
	endpoint->poll.data = endpoint;
	endpoint->prepare.data = endpoint;
	endpoint->timer.data = endpoint;
	endpoint->open_handles = 3;
	uv_poll_start(&endpoint->poll, UV_READABLE, on_readable);
	uv_prepare_start(&endpoint->prepare, on_prepare);
	return 0;
}

int endpoint_open(const struct endpoint_options *options,
		  struct endpoint **ret_endpoint,
		  struct fairlead_error *ret_error)
{
	struct endpoint *endpoint = calloc(1, sizeof(*endpoint));
	int result;

	if (endpoint == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	endpoint->loop = options->loop;
	endpoint->progressed = options->progressed;
	endpoint->ctx = options->ctx;
	result = instance_open(endpoint, options, ret_error);
	if (result == 0)
		result = address_get(endpoint, options->provider, ret_error);
	if (result == 0)
		result = watch(endpoint, ret_error);
	if (result < 0) {
		endpoint_close(endpoint);
		return result;
	}
	*ret_endpoint = endpoint;
	return 0;
}

/* --- end --- */

void endpoint_close(struct endpoint *endpoint)
{
	if (endpoint == NULL)
		return;
	if (endpoint->open_handles > 0) {
		uv_close((uv_handle_t *)&endpoint->poll, on_closed);
		uv_close((uv_handle_t *)&endpoint->prepare, on_closed);
		uv_close((uv_handle_t *)&endpoint->timer, on_closed);
	}
	scoll_fini(endpoint->scoll);
	if (endpoint->open_handles == 0)
		free(endpoint);
}

/* --- what there is --- */

scoll_t *endpoint_scoll(const struct endpoint *endpoint)
{
	return endpoint->scoll;
}

size_t endpoint_address(const struct endpoint *endpoint,
			uint8_t ret_address[ENDPOINT_ADDRESS_MAX])
{
	memcpy(ret_address, endpoint->address, endpoint->address_size);
	return endpoint->address_size;
}
