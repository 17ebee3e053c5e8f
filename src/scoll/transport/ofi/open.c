/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which provider, what of it, and in which order it is opened and closed. What
 * a provider must have is asked of libfabric; what it does beside that is in
 * the table of habits, one line for each that was tried.
 */
#include "scoll/transport/ofi/internal.h"

#include <stdlib.h>
#include <string.h>

/* How often rxm looks for connections, while it makes none itself; us. */
#define CONNECTIONS_VARIABLE "FI_OFI_RXM_CM_PROGRESS_INTERVAL"
#define CONNECTIONS_US       "100"

static struct habits habits_of(const struct fi_fabric_attr *fabric)
{
	const char *name = fabric->prov_name;

	/* Over any connected provider. */
	if (strstr(name, ";ofi_rxm") != NULL)
		return (struct habits){
			.removal_ends = true,
			.has_peek = true,
			.cancel_is_done = true,
			.has_multi_recv = strncmp(name, "tcp;", 4) != 0,
		};
	return (struct habits){ .has_multi_recv = true };
}

static struct fi_info *hints_alloc(const struct transport_options *options,
				   uint64_t caps)
{
	struct fi_info *hints = fi_allocinfo();

	if (hints == NULL)
		return NULL;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_SEND | FI_RECV |
		      FI_READ | FI_REMOTE_READ | caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
				      FI_MR_ALLOCATED | FI_MR_PROV_KEY |
				      FI_MR_ENDPOINT;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	if (options->provider != NULL) {
		hints->fabric_attr->prov_name = strdup(options->provider);
		if (hints->fabric_attr->prov_name == NULL) {
			fi_freeinfo(hints);
			return NULL;
		}
	}
	return hints;
}

static int info_get(struct transport_ofi *t,
		    const struct transport_options *options)
{
	static const uint64_t capabilities[] = { FI_MULTI_RECV, 0 };
	uint64_t flags = 0;
	int result = -FI_ENODATA;

	if (options->node != NULL || options->service != NULL)
		flags = FI_SOURCE; /* they say where we are */
	for (int i = 0; result == -FI_ENODATA && i < 2; i++) {
		struct fi_info *hints = hints_alloc(options, capabilities[i]);

		if (hints == NULL)
			return -ENOMEM;
		result = fi_getinfo(API_VERSION, options->node,
				    options->service, flags, hints, &t->info);
		t->has_multi_recv = capabilities[i] != 0;
		fi_freeinfo(hints);
	}
	return result;
}

/* Reject at the start what the provider cannot do. */
static int info_check(struct transport_ofi *t, struct fairlead_error *error)
{
	const struct fi_info *info = t->info;
	const char *name = info->fabric_attr->prov_name;

	if (info->tx_attr->iov_limit < TRANSPORT_IOV_MAX ||
	    info->rx_attr->iov_limit < TRANSPORT_IOV_MAX)
		return error_set(error, -ENODATA,
				 "provider '%s' takes fewer than %d pieces "
				 "of a message",
				 name, TRANSPORT_IOV_MAX);
	if (info->ep_attr->max_msg_size < SINK_BYTES)
		return error_set(error, -ENODATA,
				 "provider '%s' sends at most %zu bytes", name,
				 info->ep_attr->max_msg_size);
	if (info->ep_attr->mem_tag_format < (TRANSPORT_TAG_MAX >> 1) + 1)
		return error_set(error, -ENODATA,
				 "tags of provider '%s' have too few bits",
				 name);
	return 0;
}

static int queue_open(struct transport_ofi *t)
{
	struct fi_cq_attr attr = {
		.format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = FI_WAIT_FD,
	};
	int result;

	result = fi_cq_open(t->domain, &attr, &t->cq, NULL);
	if (result == 0)
		return 0;
	attr.wait_obj = FI_WAIT_NONE;
	return fi_cq_open(t->domain, &attr, &t->cq, NULL);
}

static int endpoint_enable(struct transport_ofi *t)
{
	int result = fi_endpoint(t->domain, t->info, &t->ep, NULL);

	if (result != 0)
		return result;
	result = fi_ep_bind(t->ep, &t->cq->fid, FI_TRANSMIT | FI_RECV);
	if (result == 0)
		result = fi_ep_bind(t->ep, &t->av->fid, 0);
	if (result == 0)
		result = fi_enable(t->ep);
	if (result != 0) {
		fi_close(&t->ep->fid);
		t->ep = NULL;
	}
	return result;
}

/* -errno of libfabric, and what failed. */
static int endpoint_open(struct transport_ofi *t, const char **ret_what)
{
	struct fi_av_attr av = { .type = FI_AV_UNSPEC };
	size_t least = SCOLL_BCAST_MAX;
	int result;

	*ret_what = "fabric";
	result = fi_fabric(t->info->fabric_attr, &t->fabric, NULL);
	if (result != 0)
		return result;
	*ret_what = "domain";
	result = fi_domain(t->fabric, t->info, &t->domain, NULL);
	if (result != 0)
		return result;
	*ret_what = "completion queue";
	result = queue_open(t);
	if (result != 0)
		return result;
	*ret_what = "address vector";
	result = fi_av_open(t->domain, &av, &t->av, NULL);
	if (result != 0)
		return result;
	*ret_what = "endpoint";
	result = endpoint_enable(t);
	if (result == 0 && t->has_multi_recv)
		result =
			fi_setopt(&t->ep->fid, FI_OPT_ENDPOINT,
				  FI_OPT_MIN_MULTI_RECV, &least, sizeof(least));
	return result;
}

static int buffers_open(struct transport_ofi *t)
{
	int result = pool_init(t);

	if (result == 0)
		result = stale_init(t);
	if (result == 0)
		result = wait_open(t);
	return result;
}

/*
 * Over rxm the descriptor is readable while connections wait, and progress does
 * not take them before this time is over: with the 10 ms of 1.17 each costs 20
 * ms of a processor. libfabric reads it once, at its first call.
 */
static void habits_set(void)
{
	setenv(CONNECTIONS_VARIABLE, CONNECTIONS_US, 0);
}

int ofi_open(const struct transport_options *options, void **ret_ctx,
	     struct fairlead_error *ret_error)
{
	const char *provider =
		options->provider != NULL ? options->provider : "any";
	struct transport_ofi *t = calloc(1, sizeof(*t));
	const char *what = "";
	int result;

	if (t == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	t->rng = options->rng;
	t->fd = -1;
	t->timer_fd = -1;
	t->check_ns = DEADLINE_NONE;
	habits_set();
	result = info_get(t, options);
	if (result != 0) {
		result = errno_of(result);
		error_set(ret_error, result,
			  "libfabric has no provider '%s' for messages, tags "
			  "and RMA at '%s', '%s': %s",
			  provider, options->node != NULL ? options->node : "",
			  options->service != NULL ? options->service : "",
			  strerror(-result));
		ofi_close(t);
		return result;
	}
	t->habits = habits_of(t->info->fabric_attr);
	t->has_multi_recv &= t->habits.has_multi_recv;
	if ((options->flags & TRANSPORT_OFI_PLAIN_RECEIVES) != 0)
		t->has_multi_recv = false;
	t->has_local_memory =
		(t->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0 ||
		(options->flags & TRANSPORT_OFI_LOCAL_MEMORY) != 0;
	result = info_check(t, ret_error);
	if (result == 0) {
		result = endpoint_open(t, &what);
		if (result == 0) {
			what = "buffers";
			result = buffers_open(t);
		}
		if (result < 0) {
			result = errno_of(result);
			error_set(ret_error, result,
				  "cannot open the %s of provider '%s': %s",
				  what, t->info->fabric_attr->prov_name,
				  strerror(-result));
		}
	}
	if (result < 0) {
		ofi_close(t);
		return result;
	}
	*ret_ctx = t;
	return 0;
}

static void fid_close(struct fid *fid)
{
	if (fid != NULL)
		fi_close(fid);
}

void ofi_stop(void *ctx)
{
	struct transport_ofi *t = ctx;
	if (t->is_stopped)
		return;
	t->is_stopped = true;
	/* An endpoint that memory is bound to could not be closed. */
	pools_close(t);
	pool_close(t);
	stale_close(t);
	fid_close(t->ep != NULL ? &t->ep->fid : NULL);
	t->ep = NULL;
	if (t->events != NULL)
		pools_stop(t);
}

void ofi_close(void *ctx)
{
	struct transport_ofi *t = ctx;
	if (t == NULL)
		return;
	t->events = NULL;
	ofi_stop(t);
	wait_close(t);
	fid_close(t->cq != NULL ? &t->cq->fid : NULL);
	fid_close(t->av != NULL ? &t->av->fid : NULL);
	fid_close(t->domain != NULL ? &t->domain->fid : NULL);
	fid_close(t->fabric != NULL ? &t->fabric->fid : NULL);
	peers_fini(t);
	pools_fini(t);
	free(t->pool);
	free(t->sink);
	fi_freeinfo(t->info);
	free(t);
}

void ofi_listen(void *ctx, const struct transport_events *events,
		void *events_ctx)
{
	struct transport_ofi *t = ctx;
	t->events = events;
	t->events_ctx = events_ctx;
}

int ofi_address(void *ctx, void *ret_address, size_t *size)
{
	struct transport_ofi *t = ctx;
	int result;

	if (t->is_stopped)
		return -ESHUTDOWN;
	result = fi_getname(&t->ep->fid, ret_address, size);
	if (result == -FI_ETOOSMALL)
		return -ENOSPC;
	return result != 0 ? errno_of(result) : 0;
}

void ofi_stats(void *ctx, struct transport_stats *ret_stats)
{
	struct transport_ofi *t = ctx;
	*ret_stats = t->stats;
	ret_stats->waiting_count = t->pending_count;
}

__attribute__((visibility("default")))
const struct transport_kind transport_ofi_kind = {
	.version = TRANSPORT_VERSION,
	.open = ofi_open,
	.stop = ofi_stop,
	.close = ofi_close,
	.listen = ofi_listen,
	.ops = &transport_ofi_ops,
	.progress = ofi_progress,
	.fd = ofi_fd,
	.deadline_ns = ofi_deadline_ns,
	.address = ofi_address,
	.peer_set = ofi_peer_set,
	.resolve = ofi_resolve,
	.peer_refresh = ofi_peer_refresh,
	.stats = ofi_stats,
};
