/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One NETLINK_ROUTE socket, through libnl: what devices, addresses, neighbours
 * and queueing disciplines are made with. It belongs to the network namespace
 * that its thread was in when it was opened.
 */
#pragma once

#include <netlink/netlink.h>

#include "base/cleanup.h"
#include "base/error.h"

struct netlink {
	struct nl_sock *socket;
};

/* -EPERM is not noticed before something is changed. */
int netlink_open(struct netlink **ret_netlink,
		 struct fairlead_error *ret_error);
/* NULL allowed. */
void netlink_close(struct netlink *netlink);
DEFINE_AUTO(struct netlink, netlink_close)

/* libnl's error as a negative errno; the kernel's own where there was one. */
int netlink_errno(int nl_error);
/*
 * Send the message, which is used up, and wait for the kernel's answer. A
 * negative errno with a text: `what`, and the kernel's own words if it has any.
 */
int netlink_call(struct netlink *netlink, struct nl_msg *message,
		 struct fairlead_error *ret_error, const char *what, ...)
	__attribute__((format(printf, 4, 5)));
