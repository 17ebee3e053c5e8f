/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One NETLINK_ROUTE socket: what devices, addresses, neighbours and queueing
 * disciplines are made with; or (netlink_open_filter) one for rules. It belongs
 * to the network namespace that its thread was in when it was opened.
 *
 * Requests are libnl's messages (netlink_message, nla_put); the functions here
 * set what all requests have, and use the message up.
 */
#pragma once

#include <netlink/attr.h>
#include <netlink/msg.h>

#include "base/cleanup.h"
#include "base/error.h"

struct netlink {
	int fd;
	uint32_t seq;    /* of the last request */
	uint8_t *answer; /* buffer for what comes */
	/* Of netlink_queue: requests that wait to be sent, and what was. */
	uint8_t *queue;
	size_t queue_size; /* bytes */
	size_t queued;     /* requests in it */
	size_t sent;       /* requests before them */
	size_t failed;     /* which one, when failure.code is not 0 */
	struct fairlead_error failure;
	/* What is known of devices meanwhile, see links_hold; NULL: ask. */
	const struct links_held *held;
};

/* -EPERM is not noticed before something is changed. */
int netlink_open(struct netlink **ret_netlink,
		 struct fairlead_error *ret_error);
/* One of NETLINK_NETFILTER, for rules. */
int netlink_open_filter(struct netlink **ret_netlink,
			struct fairlead_error *ret_error);
/* NULL allowed. */
void netlink_close(struct netlink *netlink);
DEFINE_AUTO(struct netlink, netlink_close)

/* A request that begins with that header of its type; never NULL. */
struct nl_msg *netlink_message(int type, int flags, const void *head,
			       size_t size);
/*
 * Send the message, which is used up, and wait for the kernel's answers; with
 * the flag NLM_F_DUMP there are as many as there are. They are emitted when all
 * are there: none on a failure, and none of a list that changed while it was
 * read, which is read again. A header is valid within emit, which may be NULL.
 * A negative errno, the kernel's own, with a text: `what`, and the kernel's
 * words if it has any. -EAGAIN: a list changed each time; -E2BIG: more than 64
 * MiB.
 */
int netlink_get(struct netlink *netlink, struct nl_msg *message,
		void (*emit)(void *arg, const struct nlmsghdr *header),
		void *arg, struct fairlead_error *ret_error, const char *what,
		...) __attribute__((format(printf, 6, 7)));
/* The same of a request that has no answer but that it was done. */
#define netlink_call(netlink, message, ret_error, ...) \
	netlink_get(netlink, message, NULL, NULL, ret_error, __VA_ARGS__)

/*
 * Requests of the firewall, between its two frames, that are done wholly or not
 * at all: they are numbered, sent as one datagram, and their answer is waited
 * for. The text is `what`, and the kernel's words.
 */
int netlink_batch(struct netlink *netlink, void *requests, size_t size,
		  struct fairlead_error *ret_error, const char *what);

/*
 * Many requests without a wait for each: queue them all, then flush. The first
 * failure ends it: what is queued later is not sent, though of what was queued
 * already some may be carried out. A queue that was begun must be flushed
 * before anything else is done with the socket.
 */
void netlink_queue(struct netlink *netlink, struct nl_msg *message);
/*
 * 0, or the first failure, with the kernel's words as text (error_prefix puts
 * before them what it was) and the request's place in the queue, from 0.
 */
int netlink_flush(struct netlink *netlink, size_t *ret_failed,
		  struct fairlead_error *ret_error);
