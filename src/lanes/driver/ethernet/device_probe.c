/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device of a kind that wants data, asked for without any, is refused by
 * every kernel that has the kind, and so nothing is made; a kernel without it
 * does not know the word. Its module is loaded, if there is one.
 */
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "lanes/driver/ethernet/device.h"

int device_probe(struct netlink *netlink, const char *kind,
		 struct fairlead_error *ret_error)
{
	const struct ifinfomsg info = { 0 };
	struct nl_msg *message =
		netlink_message(RTM_NEWLINK, NLM_F_CREATE, &info, sizeof(info));
	struct fairlead_error error;
	struct nlattr *nest;
	int result;

	nest = nla_nest_start(message, IFLA_LINKINFO);
	nla_put_string(message, IFLA_INFO_KIND, kind);
	nla_nest_end(message, nest);
	result = netlink_call(netlink, message, &error, "cannot try %s", kind);
	if (result == -EOPNOTSUPP)
		return error_set(ret_error, result,
				 "the kernel has no devices of kind %s, nor a "
				 "module for them",
				 kind);
	if (result == -EPERM)
		return error_set(ret_error, result,
				 "may not make network devices: this needs "
				 "root, with CAP_NET_ADMIN");
	return 0;
}
