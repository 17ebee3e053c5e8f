/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic control: what of a dump is kept, and how rates become HTB's options. */
#include "lanes/driver/ethernet/tc.h"

#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* The kernel's unit of time in options (PSCHED_SHIFT). */
#define NS_PER_TICK 64
/* What a class may send at once: the largest packet before it is segmented. */
#define BURST_BYTES 65536
#define BURST_NS    1000000

static void read_class(struct nlattr *options, struct tc_item *item)
{
	struct nlattr *attrs[TCA_HTB_MAX + 1];
	struct tc_htb_opt opt;

	if (nla_parse_nested(attrs, TCA_HTB_MAX, options, NULL) < 0 ||
	    !attrs[TCA_HTB_PARMS] ||
	    nla_len(attrs[TCA_HTB_PARMS]) < (int)sizeof(opt))
		return;
	memcpy(&opt, nla_data(attrs[TCA_HTB_PARMS]), sizeof(opt));
	item->rate = opt.rate.rate;
	item->ceil = opt.ceil.rate;
	item->quantum = opt.quantum;
	item->priority = opt.prio;
	if (attrs[TCA_HTB_RATE64] && nla_len(attrs[TCA_HTB_RATE64]) == 8)
		item->rate = nla_get_u64(attrs[TCA_HTB_RATE64]);
	if (attrs[TCA_HTB_CEIL64] && nla_len(attrs[TCA_HTB_CEIL64]) == 8)
		item->ceil = nla_get_u64(attrs[TCA_HTB_CEIL64]);
}

/* Each kind of filter has its own number for the class. */
static void read_filter(struct nlattr *options, struct tc_item *item)
{
	static const struct {
		const char *kind;
		int attr;
	} kinds[] = {
		{ "u32", TCA_U32_CLASSID },
		{ "bpf", TCA_BPF_CLASSID },
		{ "fw", TCA_FW_CLASSID },
		{ "basic", TCA_BASIC_CLASSID },
		{ "flower", TCA_FLOWER_CLASSID },
		{ "matchall", TCA_MATCHALL_CLASSID },
	};
	struct nlattr *attr;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].kind, item->kind) != 0)
			continue;
		attr = nla_find(nla_data(options), nla_len(options),
				kinds[i].attr);
		if (attr && nla_len(attr) == sizeof(uint32_t))
			item->class_id = nla_get_u32(attr);
	}
}

static uint64_t read_packets(struct nlattr *stats)
{
	struct nlattr *attrs[TCA_STATS_MAX + 1];
	struct gnet_stats_basic basic = { 0 };

	if (nla_parse_nested(attrs, TCA_STATS_MAX, stats, NULL) < 0 ||
	    !attrs[TCA_STATS_BASIC])
		return 0;
	nla_memcpy(&basic, attrs[TCA_STATS_BASIC], sizeof(basic));
	return basic.packets;
}

struct dump {
	int index;
	int result;
	struct tc_list list;
};

static int keep(struct tc_list *list, const struct tc_item *item)
{

	if (list->count == TC_LIST_MAX)
		return -E2BIG;
	/* A power of two is full. */
	if ((list->count & (list->count - 1)) == 0)
		list->items = memory_resize(list->items,
					    list->count ? list->count * 2 : 1,
					    sizeof(*list->items));
	list->items[list->count++] = *item;
	return 0;
}

static void take_item(void *arg, const struct nlmsghdr *header)
{
	struct dump *dump = arg;
	struct nlattr *attrs[TCA_MAX + 1];
	struct tc_item item = { .type = header->nlmsg_type };
	struct tcmsg tc;
	int result;

	if (nlmsg_parse((struct nlmsghdr *)header, sizeof(tc), attrs, TCA_MAX,
			NULL) < 0)
		return;
	memcpy(&tc, nlmsg_data(header), sizeof(tc));
	/* Kernels may give those of all interfaces. */
	if (tc.tcm_ifindex != dump->index || !attrs[TCA_KIND])
		return;
	item.handle = tc.tcm_handle;
	item.parent = tc.tcm_parent;
	nla_strlcpy(item.kind, attrs[TCA_KIND], sizeof(item.kind));
	if (attrs[TCA_OPTIONS] && item.type == RTM_NEWTCLASS &&
	    strcmp(item.kind, "htb") == 0)
		read_class(attrs[TCA_OPTIONS], &item);
	if (attrs[TCA_OPTIONS] && item.type == RTM_NEWTFILTER)
		read_filter(attrs[TCA_OPTIONS], &item);
	if (attrs[TCA_STATS2])
		item.packets = read_packets(attrs[TCA_STATS2]);
	result = keep(&dump->list, &item);
	if (dump->result == 0)
		dump->result = result;
}

int tc_dump(struct netlink *netlink, int type, const struct underlay *underlay,
	    uint32_t parent, struct tc_list *ret_list,
	    struct fairlead_error *ret_error)
{
	const struct tc_item item = { .parent = parent };
	struct dump dump = { .index = underlay->index };
	struct nl_msg *message =
		tc_message(type, NLM_F_DUMP, underlay->index, &item);
	int result;

	result = netlink_get(netlink, message, take_item, &dump, ret_error,
			     "cannot read the queueing of NIC %s",
			     underlay->name);
	if (result == 0 && dump.result < 0)
		result = error_set(ret_error, dump.result,
				   "cannot read the queueing of NIC %s: %s",
				   underlay->name, strerror(-dump.result));
	if (result < 0)
		tc_list_fini(&dump.list);
	else
		*ret_list = dump.list;
	return result;
}

void tc_list_fini(struct tc_list *list)
{
	free(list->items);
	*list = (struct tc_list){ 0 };
}

struct nl_msg *tc_message(int type, int flags, int index,
			  const struct tc_item *item)
{
	struct tcmsg tc = {
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = index,
		.tcm_handle = item->handle,
		.tcm_parent = item->parent,
	};
	struct nl_msg *message = netlink_message(type, flags, &tc, sizeof(tc));

	if (item->kind[0])
		nla_put_string(message, TCA_KIND, item->kind);
	return message;
}

void tc_put_qdisc(struct nl_msg *message, uint32_t default_minor)
{
	const struct tc_htb_glob glob = {
		.version = 3,
		.rate2quantum = 10,
		.defcls = default_minor,
	};
	struct nlattr *options = nla_nest_start(message, TCA_OPTIONS);

	nla_put(message, TCA_HTB_INIT, sizeof(glob), &glob);
	nla_nest_end(message, options);
}

/* The time in which a burst is sent, which is how the kernel wants its size. */
static uint32_t burst_ticks(uint64_t rate)
{
	uint64_t ns = BURST_BYTES * UINT64_C(1000000000) / rate;
	uint64_t ticks = (ns < BURST_NS ? BURST_NS : ns) / NS_PER_TICK;

	return ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks;
}

static struct tc_ratespec rate_spec(uint64_t rate)
{
	return (struct tc_ratespec){
		.linklayer = TC_LINKLAYER_ETHERNET,
		.rate = rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate,
	};
}

void tc_put_class(struct nl_msg *message, const struct tc_item *item)
{
	const struct tc_htb_opt opt = {
		.rate = rate_spec(item->rate),
		.ceil = rate_spec(item->ceil),
		.buffer = burst_ticks(item->rate),
		.cbuffer = burst_ticks(item->ceil),
		.quantum = item->quantum,
		.prio = item->priority,
	};
	struct nlattr *options = nla_nest_start(message, TCA_OPTIONS);

	nla_put(message, TCA_HTB_PARMS, sizeof(opt), &opt);
	nla_put_u64(message, TCA_HTB_RATE64, item->rate);
	nla_put_u64(message, TCA_HTB_CEIL64, item->ceil);
	nla_nest_end(message, options);
}

void tc_format(const struct tc_item *item, char text[TC_TEXT_MAX])
{
	if (item->type == RTM_NEWTCLASS)
		snprintf(text, TC_TEXT_MAX, "class %x:%x",
			 TC_H_MAJ(item->handle) >> 16, TC_H_MIN(item->handle));
	else if (item->type == RTM_NEWTFILTER)
		snprintf(text, TC_TEXT_MAX, "filter %s", item->kind);
	else
		snprintf(text, TC_TEXT_MAX, "%s %x:", item->kind,
			 TC_H_MAJ(item->handle) >> 16);
}
