/* SPDX-License-Identifier: BSD-3-Clause */
/* All flows of an endpoint: which are looked at when, how fast rails are. */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "link/av.h"
#include "link/flow.h"
#include "link/unlisted.h"

#define PAUSE_US         500 /* between looks where nothing happens */
#define PAUSE_REFUSED_US 20
#define TRIES            16 /* of the oldest, before a new one is refused */

/* --- progress --- */

void flows_go_on(struct link_ep *ep, bool has_events)
{
	struct flows *flows = ep->flows;
	struct flow *flow, *next;
	bool is_all = true;
	uint64_t now_us;

	stripes_go_on(flows);
	if (flows->busy == NULL)
		return;
	now_us = flow_now_us();
	if (!has_events && now_us < flows->next_us)
		return;
	DL_FOREACH_SAFE2(flows->busy, flow, next, after)
	is_all &= flow_look(flow, now_us);
	flows->next_us = now_us + (is_all ? PAUSE_US : PAUSE_REFUSED_US);
}

void flows_each_silent(struct rail *rail, loss_report *report, void *arg)
{
	struct flows *flows = rail->ep->flows;
	unsigned int place = fabric_place(rail);
	struct flow *flow;

	DL_FOREACH2(flows->busy, flow, after)
	{
		const struct order_rail *r = &flow->order.rails[place];
		if (r->is_there && !r->was_refused &&
		    (r->is_asked || r->has_failed))
			report(rail, flow->number, arg);
	}
}

/* --- peers not in the vector --- */

static bool has_words_under_way(const struct flow *flow)
{
	const struct flows *flows = flow->ep->flows;

	for (unsigned int i = 0; i < flows->count; i++) {
		const struct slab *slab = fabric_rail(flow->ep, i)->made_slabs;
		for (; slab != NULL; slab = slab->next_made)
			if (slab->flow == flow && slab->at != NULL)
				return true;
	}
	return false;
}

static void flow_free(struct flow *flow)
{
	struct flows *flows = flow->ep->flows;

	unlisted_drop(fabric_rail(flow->ep, 0), flow->number);
	if (flow->is_listed)
		DL_DELETE2(flows->busy, flow, before, after);
	for (unsigned int i = 0; i < flows->count; i++)
		if (flow->cores[i] != FI_ADDR_NOTAVAIL)
			fi_av_remove(fabric_rail(flow->ep, i)->av,
				     &flow->cores[i], 1, 0);
	HASH_DEL(flows->by_number, flow);
	free(flow);
}

/* Who has done more than say who it is goes on to count frames with us. */
static bool newcomer_forget(struct flows *flows)
{
	for (unsigned int i = 0; i < TRIES && flows->newcomers != NULL; i++) {
		struct flow *flow = flows->newcomers;
		DL_DELETE2(flows->newcomers, flow, elder, younger);
		if (flow->order.taken != 0 || flow->order.last != 0 ||
		    flow->order.wants > 0 ||
		    av_find(flow->ep->av, flow->number) != FI_ADDR_NOTAVAIL)
			continue;
		if (has_words_under_way(flow)) {
			DL_APPEND2(flows->newcomers, flow, elder, younger);
			continue;
		}
		flow_free(flow);
		return true;
	}
	return false;
}

int flows_admit(struct link_ep *ep, const struct link_address *address,
		struct flow **ret_flow)
{
	struct flows *flows = ep->flows;
	struct flow *flow = flow_find(ep, address->number);
	int result;

	if (flow != NULL) {
		*ret_flow = flow;
		return 0;
	}
	if (HASH_COUNT(flows->by_number) >= LINK_FLOWS &&
	    !newcomer_forget(flows)) {
		link_warn(EP_DATA, "too many peers outside the address "
				   "vector: another one is not answered\n");
		return -FI_EHOSTUNREACH;
	}
	result = flow_get(ep, address, &flow);
	if (result != 0)
		return result;
	DL_APPEND2(flows->newcomers, flow, elder, younger);
	*ret_flow = flow;
	return 0;
}

/* --- open and close --- */

/* As the kernel tells it, in bits a second; 0: it does not. */
static uint64_t device_speed(const char *device)
{
	struct ethtool_cmd command = { .cmd = ETHTOOL_GSET };
	struct ifreq request = { .ifr_data = (char *)&command };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t speed = 0;

	if (fd < 0)
		return 0;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%.*s",
		 IFNAMSIZ - 1, device);
	if (ioctl(fd, SIOCETHTOOL, &request) == 0)
		speed = ethtool_cmd_speed(&command);
	close(fd);
	return speed == (uint32_t)SPEED_UNKNOWN ? 0 : (uint64_t)speed * 1000000;
}

static uint64_t rail_speed(const struct rail *rail)
{
	const struct link_domain *domain = rail->ep->domain;
	const struct fi_info *info =
		domain->cores.cores[rail->text - domain->text.rails].info;

	if (info->nic != NULL && info->nic->link_attr != NULL &&
	    info->nic->link_attr->speed > 0)
		return info->nic->link_attr->speed;
	return device_speed(rail->text->domain);
}

int flows_open(struct link_ep *ep)
{
	unsigned int first = has_local(ep) ? 1 : 0;
	struct flows *flows;

	if (ep->rail_count < first + 2)
		return 0;
	flows = calloc(1, sizeof(*flows));
	if (flows == NULL)
		return -FI_ENOMEM;
	flows->ep = ep;
	flows->first = first;
	flows->count = ep->rail_count - first;
	flows->come_end = &flows->come;
	link_lock_init(&flows->working, ep->domain->is_threaded);
	ep->flows = flows;
	for (unsigned int i = 0; i < flows->count; i++) {
		struct rail *rail = fabric_rail(ep, i);
		rail->speed = rail_speed(rail);
		rail->name = rail->text->domain;
	}
	return 0;
}

bool flows_have_unsent(const struct flows *flows)
{
	const struct flow *flow;

	if (flows->over != NULL)
		return true; /* it is to be answered */
	DL_FOREACH2(flows->busy, flow, after)
	if (flow->order.sent != flow->order.last && !flow->order.is_lost)
		return true;
	return false;
}

void flows_finish(struct link_ep *ep)
{
	struct rail *rail = fabric_rail(ep, 0);
	struct flow *flow;

	link_lock(&rail->lock);
	for (flow = ep->flows->by_number; flow != NULL; flow = flow->hh.next)
		if (flow->order.unacked > 0) {
			struct order_control control = {
				.rail = flow->order.rail,
				.up_to = flow->order.taken
			};
			(void)flow_send_control(flow, &control);
		}
	link_unlock(&rail->lock);
}

void flows_close(struct link_ep *ep)
{
	struct flow *flow, *next;

	if (ep->flows == NULL)
		return;
	stripes_close(ep->flows);
	HASH_ITER (hh, ep->flows->by_number, flow, next) {
		HASH_DEL(ep->flows->by_number, flow);
		free(flow);
	}
	link_lock_fini(&ep->flows->working);
	free(ep->flows);
}
