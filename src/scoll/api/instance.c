/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An instance: what its user wants of it, and the order in which its parts are
 * made and let go. Its end is bounded: what is still under way when a round
 * trip has passed is cut off together with the network.
 */
#include "scoll/api/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/versioned.h"
#include "scoll/core/membership.h"
#include "sys/clock.h"
#include "sys/rng.h"

#define RTT_NS 100000000
/* As messages say it: 32 bits of us. */
#define RTT_NS_MIN       1000
#define RTT_NS_MAX       (UINT32_MAX * INT64_C(1000))
#define BULK_BANDWIDTH   100000000
#define BULK_SEGMENT     (512 * 1024)
#define GROUP_LIFETIME_S 3600
#define TREE_VARIABLE    "SCOLL_TREE"
#define FINI_NS_MAX      UINT64_C(1000000000)
#define STARTED_MAX      ((UINT64_C(1) << 52) - 1)
#define PARAMS_SIZE_MIN  offsetof(struct scoll_params, permute)

/*
 * A struct of another version of the header: what it says, or that it cannot.
 */
static int params_read(const struct scoll_params *params,
		       struct scoll_params *ret_params,
		       struct fairlead_error *error)
{
	size_t size = params->size;

	if (size < PARAMS_SIZE_MIN)
		return error_set(error, -EINVAL,
				 "size of struct scoll_params is not set");
	memset(ret_params, 0, sizeof(*ret_params));
	if (!versioned_is_known(params, size, sizeof(*ret_params)))
		return error_set(error, -EINVAL,
				 "struct scoll_params has what this libscoll "
				 "does not know");
	memcpy(ret_params, params,
	       size < sizeof(*ret_params) ? size : sizeof(*ret_params));
	return 0;
}

static int kinds_add(struct tree_types *types,
		     const struct scoll_params *params,
		     struct fairlead_error *error)
{
	for (size_t i = 0; i < params->tree_kind_count; i++) {
		const struct scoll_tree_kind *kind = &params->tree_kinds[i];
		int result = tree_types_add(types, kind->type, kind->ops);

		if (result == -EEXIST)
			return error_set(error, result,
					 "type or name of tree kind %u is "
					 "taken",
					 kind->type);
		if (result < 0)
			return error_set(error, result,
					 "tree kind %u lacks something, or "
					 "its type is below %d",
					 kind->type, SCOLL_TREE_USER);
	}
	return 0;
}

static int tree_choose(const struct tree_types *types, scoll_tree_type_t given,
		       scoll_tree_type_t *ret_tree,
		       struct fairlead_error *error)
{
	const char *text = secure_getenv(TREE_VARIABLE);

	if (given != SCOLL_TREE_DEFAULT) {
		if (tree_type_check(types, given) < 0)
			return error_set(error, -EINVAL,
					 "tree 0x%08x is no kind of tree",
					 given);
		*ret_tree = given;
		return 0;
	}
	*ret_tree = SCOLL_TREE_KNOMIAL(4);
	if (text == NULL || text[0] == '\0')
		return 0;
	if (tree_type_parse(types, text, ret_tree, error) < 0) {
		if (error != NULL)
			error_prefix(error, TREE_VARIABLE);
		return -EINVAL;
	}
	return 0;
}

static int params_check(const struct scoll_params *params,
			struct fairlead_error *error)
{
	const struct scoll_authenticator *auth = params->authenticator;
	char service[PORT_SERVICE_MAX];

	if (params->nid == 0 || params->nid == SCOLL_NID_ANY)
		return error_set(error, -EINVAL, "nid names no node");
	if (params->rtt < 0 || params->gossip_cycle < 0 ||
	    params->group_lifetime < 0)
		return error_set(error, -EINVAL, "a duration is negative");
	if (params->rtt != 0 &&
	    (params->rtt < RTT_NS_MIN || params->rtt > RTT_NS_MAX))
		return error_set(error, -EINVAL,
				 "rtt is not between 1 us and 71 minutes");
	if (params->started > STARTED_MAX)
		return error_set(error, -EINVAL, "started is 2^52 or more");
	if (params->tree_kind_count > 0 && params->tree_kinds == NULL)
		return error_set(error, -EINVAL, "tree_kinds is missing");
	if (params->order != SCOLL_ORDER_DEPTH &&
	    params->order != SCOLL_ORDER_RANK)
		return error_set(error, -EINVAL, "no such order of children");
	if (params->discovery != SCOLL_DISCOVERY_GIVEN &&
	    params->discovery != SCOLL_DISCOVERY_GOSSIP)
		return error_set(error, -EINVAL, "no such discovery");
	if (params->discovery == SCOLL_DISCOVERY_GOSSIP &&
	    params->service != NULL &&
	    port_service(params->service, service) < 0)
		return error_set(error, -EINVAL,
				 "no service for gossip beside '%.40s'",
				 params->service);
	if ((params->discovery == SCOLL_DISCOVERY_GOSSIP) !=
		    (params->gossip_member_count > 0) ||
	    (params->gossip_members == NULL) !=
		    (params->gossip_member_count == 0))
		return error_set(error, -EINVAL,
				 "gossip needs gossip_members, and nothing "
				 "else does");
	if (auth != NULL &&
	    (auth->size < sizeof(*auth) ||
	     !versioned_is_known(auth, auth->size, sizeof(*auth)) ||
	     auth->seal == NULL || auth->verify == NULL ||
	     auth->seal_size > SCOLL_SEAL_MAX))
		return error_set(error, -EINVAL,
				 "authenticator lacks a function, or its seal "
				 "is larger than %d bytes",
				 SCOLL_SEAL_MAX);
	if (auth != NULL && auth->signature_size > 0 &&
	    (auth->sign == NULL || auth->check == NULL ||
	     auth->signature_size > SCOLL_SIGNATURE_MAX))
		return error_set(error, -EINVAL,
				 "authenticator lacks a function, or its "
				 "signature is larger than %d bytes",
				 SCOLL_SIGNATURE_MAX);
	if (params->share_addresses && auth == NULL)
		return error_set(error, -EINVAL,
				 "share_addresses without an authenticator: "
				 "nobody would believe them");
	return 0;
}

static uint64_t or_default(uint64_t value, uint64_t fallback)
{
	return value != 0 ? value : fallback;
}

static void options_fill(struct scoll *scoll, const struct scoll_params *params,
			 scoll_tree_type_t tree)
{
	struct clock_seam clock = sys_clock();

	scoll->options = (struct core_options){
		.nid = params->nid,
		.tree = tree,
		.order = params->order,
		.rtt_ns = or_default((uint64_t)params->rtt, RTT_NS),
		.bulk_bandwidth =
			or_default(params->bulk_bandwidth, BULK_BANDWIDTH),
		.bulk_segment = or_default(params->bulk_segment, BULK_SEGMENT),
		.group_lifetime_ns =
			or_default((uint64_t)params->group_lifetime,
				   GROUP_LIFETIME_S * UINT64_C(1000000000)),
		.authenticator = params->authenticator,
		.transport = transport_seam_of(&scoll->transport),
		.rng = sys_rng(),
		.started_us =
			or_default(params->started, clock_wall_us(&clock)),
		.memberships = scoll->memberships,
		.permute = params->permute,
		.permute_ctx = params->permute_ctx,
		.share_addresses = params->share_addresses,
		.tree_types = &scoll->tree_types,
		.discovery = scoll->discovery,
		.instance = scoll,
	};
}

static int discovery_open(struct scoll *scoll,
			  const struct scoll_params *params,
			  struct fairlead_error *error)
{
	char service[PORT_SERVICE_MAX];
	struct port_options options = {
		.transport = { .provider = params->provider,
			       .node = params->node,
			       .rng = sys_rng() },
		.nid = params->nid,
		.members = params->gossip_members,
		.member_count = (size_t)params->gossip_member_count,
		.cycle_ns = (uint64_t)params->gossip_cycle,
		.authenticator = params->authenticator,
		.rng = sys_rng(),
		.clock = sys_clock(),
	};
	int result;

	if (params->discovery == SCOLL_DISCOVERY_GIVEN) {
		if (given_create(true, &scoll->given) < 0)
			return error_set(error, -ENOMEM, "out of memory");
		scoll->discovery = given_discovery(scoll->given);
		return 0;
	}
	if (params->service != NULL &&
	    port_service(params->service, service) == 0)
		options.transport.service = service;
	result = port_open(&options, sys_monotonic_ns(), &scoll->port, error);
	if (result == 0)
		scoll->discovery = port_discovery(scoll->port);
	return result;
}

static int descriptor_add(struct scoll *scoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(scoll->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0
		       ? 0
		       : -errno;
}

static int descriptors_open(struct scoll *scoll, struct fairlead_error *error)
{
	const struct transport *port = port_transport(scoll->port);
	int result = 0;

	scoll->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	scoll->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (scoll->epoll_fd < 0 || scoll->event_fd < 0)
		result = -errno;
	if (result == 0)
		result = descriptor_add(scoll, scoll->event_fd);
	if (result == 0)
		result = descriptor_add(
			scoll, scoll->transport.kind->fd(scoll->transport.ctx));
	if (result == 0 && port != NULL)
		result = descriptor_add(scoll, port->kind->fd(port->ctx));
	if (result < 0)
		return error_set(error, result, "cannot open descriptors: %s",
				 strerror(-result));
	return 0;
}

static void destroy(struct scoll *scoll)
{
	scoll_core_destroy(scoll->core);
	transport_close(&scoll->transport);
	port_close(scoll->port);
	given_destroy(scoll->given);
	memberships_destroy(scoll->memberships);
	if (scoll->epoll_fd >= 0)
		close(scoll->epoll_fd);
	if (scoll->event_fd >= 0)
		close(scoll->event_fd);
	pthread_mutex_destroy(&scoll->lock);
	free(scoll);
}

static int open_all(struct scoll *scoll, const struct scoll_params *params,
		    struct fairlead_error *error)
{
	struct transport_options options = {
		.provider = params->provider,
		.node = params->node,
		.service = params->service,
		.rng = sys_rng(),
	};
	scoll_tree_type_t tree = SCOLL_TREE_DEFAULT;
	int result = kinds_add(&scoll->tree_types, params, error);

	if (result == 0)
		result = tree_choose(&scoll->tree_types, params->tree, &tree,
				     error);
	if (result == 0)
		result = transport_open(&options, &scoll->transport, error);
	if (result == 0)
		result = discovery_open(scoll, params, error);
	if (result == 0)
		result = descriptors_open(scoll, error);
	if (result < 0)
		return result;
	result = memberships_create(&scoll->memberships);
	options_fill(scoll, params, tree);
	if (result == 0)
		result = scoll_core_create(&scoll->options, &scoll->core);
	if (result < 0)
		return error_set(error, result, "cannot start: %s",
				 strerror(-result));
	scoll->transport.kind->listen(scoll->transport.ctx, &scoll_core_events,
				      scoll->core);
	return 0;
}

int scoll_init(const struct scoll_params *params, scoll_t **ret_scoll,
	       struct fairlead_error *ret_error)
{
	struct scoll_params wanted;
	struct scoll *scoll;
	int result = params_read(params, &wanted, ret_error);

	if (result == 0)
		result = params_check(&wanted, ret_error);
	if (result < 0)
		return result;
	scoll = calloc(1, sizeof(*scoll));
	if (scoll == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	pthread_mutex_init(&scoll->lock, NULL);
	scoll->epoll_fd = -1;
	scoll->event_fd = -1;
	result = open_all(scoll, &wanted, ret_error);
	if (result < 0) {
		destroy(scoll);
		return result;
	}
	*ret_scoll = scoll;
	return 0;
}

/* Nothing can come any more, so time is all that it can wait for. */
static void cut_off(struct scoll *scoll, uint64_t now_ns)
{
	scoll->transport.kind->stop(scoll->transport.ctx);
	while (!scoll_core_is_idle(scoll->core)) {
		uint64_t due_ns = scoll_core_work_deadline_ns(scoll->core);

		if (due_ns != DEADLINE_NONE && due_ns > now_ns)
			now_ns = due_ns;
		if (scoll_run(scoll, now_ns) == 0 && due_ns == DEADLINE_NONE)
			break;
	}
}

void scoll_fini(scoll_t *scoll)
{
	uint64_t now_ns, limit_ns;

	if (scoll == NULL)
		return;
	scoll_lock(scoll);
	scoll->is_busy = true;
	scoll->busy_thread = pthread_self();
	now_ns = sys_monotonic_ns();
	limit_ns = scoll->options.rtt_ns;
	limit_ns = now_ns + (limit_ns < FINI_NS_MAX ? limit_ns : FINI_NS_MAX);
	scoll_core_stop(scoll->core, now_ns);
	if (scoll->port != NULL)
		port_leave(scoll->port, now_ns);
	do {
		scoll_run(scoll, now_ns);
		if (scoll_core_is_idle(scoll->core))
			break;
		scoll_pause(scoll, limit_ns);
		now_ns = sys_monotonic_ns();
	} while (now_ns < limit_ns);
	cut_off(scoll, now_ns);
	scoll_unlock(scoll);
	destroy(scoll);
}
