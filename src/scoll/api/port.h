/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The endpoint of gossip: one of its own, so that bulk data cannot starve the
 * signs of life. Messages are sealed as all others, with the seal behind them.
 * Nothing is allocated for a message.
 */
#pragma once

#include "base/error.h"
#include "scoll/member/gossip.h"
#include "scoll/transport/transport.h"

struct scoll_port;

struct port_options {
	struct transport_options transport;
	scoll_nid_t nid;
	const scoll_nid_t *members; /* borrowed for port_open() */
	size_t member_count;
	uint64_t cycle_ns;
	const struct scoll_authenticator *authenticator; /* NULL: none */
	struct rng_seam rng;
	struct clock_seam clock;
};

/*
 * -EINVAL: this node is not among the members; -EEXIST: one is there twice;
 * -ENOSPC, -ENOMEM, ...
 */
int port_open(const struct port_options *options, uint64_t now_ns,
	      struct scoll_port **ret_port, struct fairlead_error *ret_error);
void port_close(struct scoll_port *port);
#define PORT_SERVICE_MAX 128
/*
 * The service beside the one of the collectives. -EINVAL: there is none beside
 * that number, or the name is too long.
 */
int port_service(const char *service, char ret_text[PORT_SERVICE_MAX]);
/* Say goodbye. */
void port_leave(struct scoll_port *port, uint64_t now_ns);
struct discovery *port_discovery(struct scoll_port *port);
/* NULL: of no port. */
const struct transport *port_transport(const struct scoll_port *port);
void port_run(struct scoll_port *port, uint64_t now_ns);
uint64_t port_due_ns(struct scoll_port *port);
/* Messages that were refused. */
uint64_t port_refused_count(const struct scoll_port *port);
