/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_getinfo: each link that can do what is asked, as one endpoint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "link/address/address.h"
#include "link/format.h"
#include "link/hints.h"
#include "link/links/lane.h"
#include "link/place.h"
#include "link/setting.h"

#define QUEUE_SIZE     1024
#define QUEUE_SIZE_MAX (1 << 20)
/* How many objects of a kind: but for memory there is no maximum of ours. */
#define OBJECTS    65536
#define OBJECTS_MR (1 << 20)

static bool is_address(const void *bytes, size_t size)
{
	struct link_address address;

	return !place_is_given(bytes, size) ||
	       (size == LINK_ADDRESS_SIZE &&
		link_address_decode(bytes, &address, NULL) == 0);
}

/* Why an address of the hints is none, or NULL. */
static const char *addresses_refused(const struct fi_info *hints)
{
	if (hints == NULL)
		return NULL;
	if (hints->addr_format != FI_FORMAT_UNSPEC)
		return "addresses have a format of their own, or one of "
		       "sockets";
	if (!is_address(hints->src_addr, hints->src_addrlen) ||
	    !is_address(hints->dest_addr, hints->dest_addrlen))
		return "an address that is none of this provider";
	return NULL;
}

/* What is asked for, and what that is good for. */
static uint64_t caps_of(const struct fi_info *hints)
{
	uint64_t caps =
		hints == NULL || hints->caps == 0 ? CAPS_ALL : hints->caps;
	const uint64_t ways = FI_SEND | FI_RECV;

	if ((caps & CAPS_PRIMARY) != 0 && (caps & ways) == 0)
		caps |= ways;
	if ((caps & (FI_RMA | FI_ATOMIC)) != 0 &&
	    (caps & CAPS_RMA & ~FI_RMA) == 0)
		caps |= CAPS_RMA & ~FI_RMA;
	return caps | FI_LOCAL_COMM | FI_REMOTE_COMM;
}

static size_t queue_size(size_t asked)
{
	return asked == 0               ? QUEUE_SIZE
	       : asked > QUEUE_SIZE_MAX ? QUEUE_SIZE_MAX
					: asked;
}

static void queues_fill(struct fi_info *info, const struct fi_info *hints)
{
	const struct fi_tx_attr *tx = hints == NULL ? NULL : hints->tx_attr;
	const struct fi_rx_attr *rx = hints == NULL ? NULL : hints->rx_attr;

	info->tx_attr->caps = info->caps & (CAPS_PRIMARY | FI_SEND | FI_RMA |
					    FI_ATOMIC | FI_READ | FI_WRITE);
	info->tx_attr->op_flags = tx == NULL ? 0 : tx->op_flags;
	info->tx_attr->inject_size = LINK_INJECT_SIZE;
	info->tx_attr->size = queue_size(tx == NULL ? 0 : tx->size);
	info->tx_attr->iov_limit = LINK_IOV_MAX;
	info->tx_attr->rma_iov_limit = LINK_IOV_MAX;

	info->rx_attr->caps =
		info->caps &
		(CAPS_PRIMARY | FI_RECV | FI_MULTI_RECV | FI_DIRECTED_RECV |
		 FI_SOURCE | FI_RMA | FI_ATOMIC | FI_REMOTE_READ |
		 FI_REMOTE_WRITE | FI_RMA_EVENT);
	info->rx_attr->op_flags = rx == NULL ? 0 : rx->op_flags;
	info->rx_attr->total_buffered_recv = setting_number(
		"FI_FAIRLEAD_UNEXPECTED_MAX", LINK_UNEXPECTED_MAX);
	info->rx_attr->size = queue_size(rx == NULL ? 0 : rx->size);
	info->rx_attr->iov_limit = LINK_IOV_MAX;
}

/* One field, of as many bits as there are. */
static uint64_t tag_format_within(uint64_t mask)
{
	uint64_t even = TAG_GENERIC & mask, odd = TAG_GENERIC >> 1 & mask;

	return even > odd ? even : odd;
}

static void endpoint_fill(struct fi_info *info, const struct fi_info *hints,
			  uint64_t tag_mask)
{
	const struct fi_ep_attr *ep = hints == NULL ? NULL : hints->ep_attr;

	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->protocol = FI_PROTO_UNSPEC;
	info->ep_attr->protocol_version = LINK_PROTOCOL;
	info->ep_attr->max_msg_size = SIZE_MAX;
	info->ep_attr->mem_tag_format =
		ep == NULL || ep->mem_tag_format == 0 ||
				ep->mem_tag_format == TAG_GENERIC
			? tag_format_within(tag_mask)
			: ep->mem_tag_format;
	info->ep_attr->tx_ctx_cnt = 1;
	info->ep_attr->rx_ctx_cnt = 1;
}

static void domain_fill(struct fi_info *info, const struct fi_info *hints,
			uint32_t version)
{
	struct fi_domain_attr *attr = info->domain_attr;
	const struct fi_domain_attr *want =
		hints == NULL ? NULL : hints->domain_attr;

	attr->threading = want == NULL || want->threading == FI_THREAD_UNSPEC
				  ? FI_THREAD_SAFE
				  : want->threading;
	attr->control_progress =
		want != NULL && want->control_progress == FI_PROGRESS_MANUAL
			? FI_PROGRESS_MANUAL
			: FI_PROGRESS_AUTO;
	/* Costs a thread and locks, so only on request. */
	attr->data_progress =
		want != NULL && want->data_progress == FI_PROGRESS_AUTO
			? FI_PROGRESS_AUTO
			: FI_PROGRESS_MANUAL;
	attr->resource_mgmt = FI_RM_ENABLED;
	attr->av_type = want == NULL ? FI_AV_UNSPEC : want->av_type;
	/* Programs before 1.5 know nothing but this and FI_MR_BASIC. */
	attr->mr_mode = (want != NULL && want->mr_mode == MR_SCALABLE) ||
					FI_VERSION_LT(version, FI_VERSION(1, 5))
				? MR_SCALABLE
				: 0;
	attr->mr_key_size = LINK_KEY_SIZE;
	attr->cq_data_size = sizeof(uint64_t);
	attr->cq_cnt = attr->ep_cnt = attr->cntr_cnt = OBJECTS;
	attr->tx_ctx_cnt = attr->rx_ctx_cnt = OBJECTS;
	attr->max_ep_tx_ctx = attr->max_ep_rx_ctx = 1;
	attr->mr_cnt = OBJECTS_MR;
	attr->caps = CAPS_DOMAIN;
}

/*
 * Who is on one fabric can talk. Programs that have several answers take any of
 * one fabric: Open MPI another one in each process of a node.
 */
static char *fabric_name(const struct link_text *link)
{
	char name[RAILS_MAX * 2 * RAIL_NAME_MAX];
	struct link_text cores = *link;

	for (unsigned int i = 0; i < cores.count; i++)
		cores.rails[i].domain[0] = '\0';
	links_format(&cores, name, sizeof(name));
	return strdup(name);
}

static struct fi_info *info_make(const struct link_text *link,
				 const struct fi_info *hints, uint64_t tag_mask,
				 uint32_t version)
{
	char name[RAILS_MAX * 2 * RAIL_NAME_MAX];
	struct fi_info *info = fi_allocinfo();

	if (info == NULL)
		return NULL;
	links_format(link, name, sizeof(name));
	info->caps = caps_of(hints);
	info->addr_format = FI_FORMAT_UNSPEC;
	queues_fill(info, hints);
	endpoint_fill(info, hints, tag_mask);
	domain_fill(info, hints, version);
	info->domain_attr->name = strdup(name);
	info->fabric_attr->name = fabric_name(link);
	info->fabric_attr->prov_version = link_provider.version;
	info->fabric_attr->api_version = version;
	if (info->domain_attr->name == NULL ||
	    info->fabric_attr->name == NULL) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}

/* Whether the hints ask for another provider, fabric or domain than this. */
static bool is_named_otherwise(const struct fi_info *hints,
			       const struct fi_info *info)
{
	if (hints == NULL)
		return false;
	if (hints->fabric_attr != NULL && hints->fabric_attr->name != NULL &&
	    strcmp(hints->fabric_attr->name, info->fabric_attr->name) != 0)
		return true;
	return hints->domain_attr != NULL && hints->domain_attr->name != NULL &&
	       strcmp(hints->domain_attr->name, info->domain_attr->name) != 0;
}

/* The bits that a program is particular about; 0: any. */
static uint64_t tag_format_of(const struct fi_info *hints)
{
	return hints == NULL || hints->ep_attr == NULL ||
			       hints->ep_attr->mem_tag_format == TAG_GENERIC
		       ? 0
		       : hints->ep_attr->mem_tag_format;
}

/*
 * What a program learns of memory. Where a core chooses keys, a program that
 * can bear that gets keys that no other region had: nobody has to be notified
 * to forget one. A core with virtual addresses has one for each part of a
 * region.
 */
static void memory_fill(struct fi_info *info, const struct fi_info *hints,
			const struct core_set *set)
{
	struct fi_domain_attr *attr = info->domain_attr;
	int want = hints == NULL || hints->domain_attr == NULL
			   ? 0
			   : hints->domain_attr->mr_mode;
	int modes = 0;

	for (unsigned int i = 0; i < set->count; i++)
		if (set->cores[i].info != NULL)
			modes |= set->cores[i].info->domain_attr->mr_mode;
	if (want == MR_BASIC)
		attr->mr_mode = MR_BASIC;
	else if (attr->mr_mode != MR_SCALABLE)
		attr->mr_mode =
			modes & want & (FI_MR_PROV_KEY | FI_MR_ALLOCATED);
	if (attr->mr_mode == MR_BASIC || (modes & FI_MR_VIRT_ADDR) != 0)
		attr->mr_iov_limit = 1;
}

/* Of what somebody has named, and nothing else, more than some want to know. */
static void leave_out(const char *why, bool is_named)
{
	if (is_named)
		link_warn(FABRIC, "no link: %s\n", why);
	else
		link_info(FABRIC, "a link is left out: %s\n", why);
}

static int link_offer(struct link_text *link, const struct link_place *place,
		      const struct fi_info *hints, uint32_t version,
		      bool is_named, struct fi_info ***tail)
{
	struct fairlead_error error = { 0 };
	struct core_set set;
	struct fi_info *info;
	int result;
	uint64_t tag_mask;
	const char *unmet;

	if (core_set_find(link, place, &set, &error) != 0) {
		leave_out(error.text, is_named);
		return 0;
	}
	tag_mask = core_set_settle(&set, tag_format_of(hints));
	info = info_make(link, hints, tag_mask, version);
	if (info != NULL)
		memory_fill(info, hints, &set);
	result = info == NULL ? -FI_ENOMEM
			      : place_fill(info, hints, link, &set, place);
	if (result == 0)
		offer_fill(info, hints, &set);
	core_set_fini(&set);
	if (result != 0) {
		fi_freeinfo(info);
		return result == -FI_ENODATA ? 0 : result;
	}
	unmet = hints_unmet(hints, info, version);
	if (unmet != NULL)
		link_info(FABRIC,
			  "a link is left out: the hints want more than its "
			  "%s\n",
			  unmet);
	else if (!is_named_otherwise(hints, info)) {
		**tail = info;
		*tail = &info->next;
		return 0;
	}
	fi_freeinfo(info);
	return 0;
}

/* Of the job that this process is of: its devices, or NULL. */
static const char *lane_of_environment(void)
{
	const char *lane = getenv("FAIRLEAD_INTERFACES");

	return lane == NULL || lane[0] == '\0' ? NULL : lane;
}

/*
 * What a job sends stays in its lane, or is not sent: links that leave it are
 * left out.
 */
static int links_confine(struct links *links, const char *lane)
{
	struct fairlead_error error = { 0 };
	unsigned int kept = 0;

	if (lane_check(lane, &error) != 0) {
		link_warn(FABRIC, "FAIRLEAD_INTERFACES: %s\n", error.text);
		return -FI_EINVAL;
	}
	for (unsigned int i = 0; i < links->count; i++) {
		struct link_text link = links->links[i];
		if (lane_confine(lane, &link, &error) == 0)
			links->links[kept++] = link;
		else
			link_warn(FABRIC, "no link: %s\n", error.text);
	}
	links->count = kept;
	return 0;
}

/* The first variable that says anything, with its name; or NULL. */
static const char *links_text(const char **ret_name)
{
	static const char *const names[] = LINK_TEXT_VARIABLES;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);
		*ret_name = names[i];
		if (value != NULL && value[0] != '\0')
			return value;
	}
	return NULL;
}

/* What to join: what a variable says, or what is sensible here. */
static int links_of_environment(struct links *ret_links, bool *ret_is_named)
{
	struct fairlead_error error = { 0 };
	const char *lane = lane_of_environment(), *name;
	const char *text = links_text(&name);

	*ret_is_named = text != NULL || lane != NULL;
	if (text == NULL)
		text = lane != NULL ? "shm+tcp;ofi_rxm"
				    : "shm+cxi|shm+verbs;ofi_rxm|"
				      "shm+tcp;ofi_rxm|shm+net";
	if (links_parse(text, ret_links, &error) != 0) {
		link_warn(FABRIC, "%s: %s\n", name, error.text);
		return -FI_EINVAL;
	}
	return lane == NULL ? 0 : links_confine(ret_links, lane);
}

static int getinfo_of_sockets(uint32_t version, const char *node,
			      const char *service, uint64_t flags,
			      const struct fi_info *hints,
			      struct fi_info **ret_info)
{
	struct fi_info *ours = place_hints(hints), *list;
	int result;

	if (ours == NULL)
		return -FI_ENODATA;
	result = link_getinfo(version, node, service, flags, ours, &list);
	fi_freeinfo(ours);
	if (result == 0)
		result = place_list(&list, hints->addr_format);
	if (result == 0)
		*ret_info = list;
	return result;
}

int link_getinfo(uint32_t version, const char *node, const char *service,
		 uint64_t flags, const struct fi_info *hints,
		 struct fi_info **ret_info)
{
	struct fi_info *list = NULL, **tail = &list;
	struct link_place place = { .node = node,
				    .service = service,
				    .flags = flags &
					     (FI_SOURCE | FI_NUMERICHOST) };
	struct link_address source;
	struct links links;
	const char *why;
	bool is_named;
	int result;

	/* libfabric looks for what a layer can stand on; we are no such. */
	if ((flags & GETINFO_CORE_ONLY) != 0)
		return layer_getinfo(version, node, service, flags, hints,
				     ret_info);
	if (hints != NULL && format_is_socket(hints->addr_format))
		return getinfo_of_sockets(version, node, service, flags, hints,
					  ret_info);
	why = hints_refused(hints, version);
	if (why == NULL)
		why = addresses_refused(hints);
	if (why != NULL) {
		link_info(FABRIC, "not what the hints ask for: %s\n", why);
		return -FI_ENODATA;
	}
	if (hints != NULL &&
	    place_is_given(hints->src_addr, hints->src_addrlen) &&
	    link_address_decode(hints->src_addr, &source, NULL) == 0 &&
	    source.known_count > 0)
		place.source = &source.rails[0];
	result = links_of_environment(&links, &is_named);
	for (unsigned int i = 0; result == 0 && i < links.count; i++)
		result = link_offer(&links.links[i], &place, hints, version,
				    is_named && links.count == 1, &tail);
	if (result == 0 && list == NULL)
		result = -FI_ENODATA;
	if (result != 0)
		fi_freeinfo(list);
	else
		*ret_info = list;
	return result;
}
