/* SPDX-License-Identifier: BSD-3-Clause */
/* It is known by the counter that says who wrote it, and in which version. */
#include "lanes/driver/ethernet/table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdbool.h>

#include "lanes/driver/ethernet/rules.h"

static void answer_take(void *arg, const struct nlmsghdr *header)
{
	bool *is_there = arg;

	*is_there = true;
}

int table_is_there(struct netlink *filter, struct fairlead_error *ret_error)
{
	const struct nfgenmsg family = { .nfgen_family = NFPROTO_INET };
	const int type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETOBJ;
	struct nl_msg *message = nlmsg_alloc_simple(type, 0);
	bool is_there = false;
	int result;

	if (!message ||
	    nlmsg_append(message, (void *)&family, sizeof(family),
			 NLMSG_ALIGNTO) < 0 ||
	    nla_put_string(message, NFTA_OBJ_TABLE, RULES_TABLE) < 0 ||
	    nla_put_string(message, NFTA_OBJ_NAME, RULES_VERSION) < 0 ||
	    nla_put_u32(message, NFTA_OBJ_TYPE, htonl(NFT_OBJECT_COUNTER)) <
		    0) {
		nlmsg_free(message);
		return error_set(ret_error, -ENOMEM, "out of memory");
	}
	result = netlink_get(filter, message, answer_take, &is_there, ret_error,
			     "cannot look for table inet " RULES_TABLE);
	if (result == -ENOENT)
		return 0;
	return result < 0 ? result : is_there;
}

static void generation_take(void *arg, const struct nlmsghdr *header)
{
	const struct nlattr *attribute =
		nlmsg_find_attr((struct nlmsghdr *)header,
				sizeof(struct nfgenmsg), NFTA_GEN_ID);

	if (attribute && nla_len(attribute) >= (int)sizeof(uint32_t))
		*(uint32_t *)arg = ntohl(nla_get_u32(attribute));
}

int table_generation(struct netlink *filter, uint32_t *ret_generation,
		     struct fairlead_error *ret_error)
{
	const struct nfgenmsg family = { .nfgen_family = AF_UNSPEC };
	const int type = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN;
	struct nl_msg *message = nlmsg_alloc_simple(type, 0);

	if (!message || nlmsg_append(message, (void *)&family, sizeof(family),
				     NLMSG_ALIGNTO) < 0) {
		nlmsg_free(message);
		return error_set(ret_error, -ENOMEM, "out of memory");
	}
	*ret_generation = 0;
	return netlink_get(filter, message, generation_take, ret_generation,
			   ret_error, "cannot ask which rules there are");
}

int table_change(struct netlink *filter, const struct writer *requests,
		 struct fairlead_error *ret_error)
{
	if (requests->result < 0)
		return error_set(ret_error, requests->result, "out of memory");
	if (requests->size == 0)
		return 0;
	return netlink_batch(filter, requests->data, requests->size, ret_error,
			     "cannot change table inet " RULES_TABLE);
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
