/* SPDX-License-Identifier: BSD-3-Clause */
/* It is known by the counter that says who wrote it, and in which version. */
#include "lanes/driver/ethernet/table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <string.h>

static struct nl_msg *ask(int request, int flags, uint8_t family)
{
	const struct nfgenmsg info = { .nfgen_family = family };

	return netlink_message(NFNL_SUBSYS_NFTABLES << 8 | request, flags,
			       &info, sizeof(info));
}

/* NULL: it has none. */
static struct nlattr *find(const struct nlmsghdr *header, int type)
{
	return nlmsg_find_attr((struct nlmsghdr *)header,
			       sizeof(struct nfgenmsg), type);
}

static bool is_text(const struct nlattr *attribute, const char *text)
{
	return attribute && nla_strcmp(attribute, text) == 0;
}

static void generation_take(void *arg, const struct nlmsghdr *header)
{
	const struct nlattr *attribute = find(header, NFTA_GEN_ID);

	if (attribute && nla_len(attribute) >= (int)sizeof(uint32_t))
		*(uint32_t *)arg = ntohl(nla_get_u32(attribute));
}

int table_generation(struct netlink *filter, uint32_t *ret_generation,
		     struct fairlead_error *ret_error)
{
	*ret_generation = 0;
	return netlink_get(filter, ask(NFT_MSG_GETGEN, 0, AF_UNSPEC),
			   generation_take, ret_generation, ret_error,
			   "cannot ask which rules there are");
}

int table_change(struct netlink *filter, struct writer *batch,
		 struct fairlead_error *ret_error)
{
	int result = 0;

	if (batch->size > 0)
		result = netlink_batch(filter, batch->data, batch->size,
				       ret_error,
				       "cannot change table inet " RULES_TABLE);
	writer_fini(batch);
	return result;
}

/* Without netfilter there is no such socket, without nf_tables no such message. */
int table_open(struct netlink **ret_filter, struct fairlead_error *ret_error)
{
	_auto_(netlink_closep) struct netlink *filter = NULL;
	struct fairlead_error error;
	uint32_t generation;
	int result = netlink_open_filter(&filter, &error);

	if (result == 0)
		result = table_generation(filter, &generation, &error);
	if (result == -EPROTONOSUPPORT || result == -EINVAL ||
	    result == -EOPNOTSUPP)
		return error_set(ret_error, -EOPNOTSUPP,
				 "the kernel has no nftables "
				 "(CONFIG_NF_TABLES, CONFIG_NF_TABLES_INET), "
				 "nor a module for them");
	if (result < 0)
		*ret_error = error;
	else
		*ret_filter = take_ptr(filter);
	return result;
}

/* --- counters --- */

struct counting {
	bool is_ours;
	struct rules_counters counters;
};

static uint64_t packets_of(struct nlattr *data)
{
	struct nlattr *attributes[NFTA_COUNTER_MAX + 1];
	uint64_t packets = 0;

	if (!data ||
	    nla_parse_nested(attributes, NFTA_COUNTER_MAX, data, NULL) < 0 ||
	    !attributes[NFTA_COUNTER_PACKETS])
		return 0;
	nla_memcpy(&packets, attributes[NFTA_COUNTER_PACKETS], sizeof(packets));
	return __builtin_bswap64(packets);
}

static void counter_take(void *arg, const struct nlmsghdr *header)
{
	struct counting *counting = arg;
	const struct {
		const char *name;
		uint64_t *packets;
	} counters[] = {
		{ "refused_send", &counting->counters.refused_send },
		{ "refused_raw", &counting->counters.refused_raw },
		{ "refused_host", &counting->counters.refused_host },
		{ "refused_way", &counting->counters.refused_way },
	};
	const struct nlattr *name = find(header, NFTA_OBJ_NAME);

	if (!is_text(find(header, NFTA_OBJ_TABLE), RULES_TABLE))
		return;
	counting->is_ours |= is_text(name, RULES_VERSION);
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		if (is_text(name, counters[i].name))
			*counters[i].packets =
				packets_of(find(header, NFTA_OBJ_DATA));
	}
}

static void seen(void *arg, const struct nlmsghdr *header)
{
}

int table_read(struct netlink *filter, struct rules_counters *ret_counters,
	       struct fairlead_error *ret_error)
{
	struct nl_msg *message = ask(NFT_MSG_GETOBJ, NLM_F_DUMP, NFPROTO_INET);
	struct counting counting = { 0 };
	int result =
		netlink_get(filter, message, counter_take, &counting, ret_error,
			    "cannot look for table inet " RULES_TABLE);

	if (result == 0 && ret_counters)
		*ret_counters = counting.counters;
	if (result < 0 || counting.is_ours)
		return result < 0 ? result : TABLE_OURS;
	message = ask(NFT_MSG_GETTABLE, 0, NFPROTO_INET);
	nla_put_string(message, NFTA_TABLE_NAME, RULES_TABLE);
	result = netlink_get(filter, message, seen, NULL, ret_error,
			     "cannot look for table inet " RULES_TABLE);
	if (result < 0)
		return result == -ENOENT ? TABLE_NONE : result;
	return TABLE_FOREIGN;
}

/* --- digest --- */

struct digesting {
	uint64_t digest;
	int table;        /* attribute that names it */
	int list;         /* whose items are in no order, or 0 */
	uint64_t ignored; /* bits of attributes that say nothing */
};

static void digest_take(void *arg, const struct nlmsghdr *header)
{
	struct digesting *digesting = arg;
	struct nlattr *attribute, *item;
	uint64_t own = ETHERNET_DIGEST_START, items = 0;
	int left, items_left;

	if (!is_text(find(header, digesting->table), RULES_TABLE))
		return;
	nlmsg_for_each_attr(attribute, (struct nlmsghdr *)header,
			    sizeof(struct nfgenmsg), left)
	{
		int type = nla_type(attribute);

		if (type < 64 && digesting->ignored >> type & 1)
			continue;
		if (type != digesting->list)
			own = ethernet_digest(own, attribute,
					      attribute->nla_len);
		else
			nla_for_each_nested(item, attribute, items_left)
				items += ethernet_digest(ETHERNET_DIGEST_START,
							 nla_data(item),
							 (size_t)nla_len(item));
	}
	if (digesting->list)
		digesting->digest += items;
	else
		digesting->digest =
			ethernet_digest(digesting->digest, &own, sizeof(own));
}

#define BIT(number) (UINT64_C(1) << (number))

int table_digest(struct netlink *filter, uint64_t *ret_digest,
		 struct fairlead_error *ret_error)
{
	static const struct {
		int request;
		struct digesting how;
	} parts[] = {
		{ NFT_MSG_GETTABLE,
		  { 0, NFTA_TABLE_NAME, 0,
		    BIT(NFTA_TABLE_HANDLE) | BIT(NFTA_TABLE_USE) } },
		{ NFT_MSG_GETCHAIN,
		  { 0, NFTA_CHAIN_TABLE, 0,
		    BIT(NFTA_CHAIN_HANDLE) | BIT(NFTA_CHAIN_USE) } },
		{ NFT_MSG_GETRULE,
		  { 0, NFTA_RULE_TABLE, 0,
		    BIT(NFTA_RULE_HANDLE) | BIT(NFTA_RULE_POSITION) } },
		{ NFT_MSG_GETSET,
		  { 0, NFTA_SET_TABLE, 0, BIT(NFTA_SET_HANDLE) } },
	};
	uint64_t sum = ETHERNET_DIGEST_START;
	int result = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && result == 0;
	     i++) {
		struct digesting digesting = parts[i].how;

		result = netlink_get(
			filter, ask(parts[i].request, NLM_F_DUMP, NFPROTO_INET),
			digest_take, &digesting, ret_error,
			"cannot read table inet " RULES_TABLE);
		sum = ethernet_digest(sum, &digesting.digest, sizeof(sum));
	}
	for (size_t i = 0; rules_set_name(i) && result == 0; i++) {
		struct digesting digesting = {
			.table = NFTA_SET_ELEM_LIST_TABLE,
			.list = NFTA_SET_ELEM_LIST_ELEMENTS,
		};
		struct nl_msg *message =
			ask(NFT_MSG_GETSETELEM, NLM_F_DUMP, NFPROTO_INET);

		nla_put_string(message, NFTA_SET_ELEM_LIST_TABLE, RULES_TABLE);
		nla_put_string(message, NFTA_SET_ELEM_LIST_SET,
			       rules_set_name(i));
		result = netlink_get(filter, message, digest_take, &digesting,
				     ret_error,
				     "cannot read table inet " RULES_TABLE);
		sum = ethernet_digest(sum, &digesting.digest, sizeof(sum));
	}
	if (result == 0)
		*ret_digest = sum;
	return result;
}
