/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The software adapter of a node: messages between processes that are attached
 * by the same capability. A *port* is such a process's place, its rank on one
 * rail. Pure: datagrams, processes, time and random bytes come through seams.
 *
 * A port has one message under way. It is *taken* when it is in the hands of
 * the receiver's node, which has it once, and is repeated until that has said
 * so. What an attacker keeps of an earlier time is refused: a receiver draws an
 * incarnation for each port, which it sends on request and without which it
 * takes nothing; and of one sender it takes only what comes after, by epoch and
 * sequence.
 */
#pragma once

#include "base/cleanup.h"
#include "base/seam.h"
#include "elan/adapter/frame.h"
#include "elan/route.h"

#define ADAPTER_RETRY_MIN_MS 10
#define ADAPTER_RETRY_MAX_MS 160
#define ADAPTER_FOREVER      UINT64_MAX

struct adapter;
struct adapter_port;

struct adapter_ops {
	/* It may be lost. */
	void (*transmit)(void *ctx, const struct route *to, const void *bytes,
			 size_t size);
	/* Into a process's hands. -EAGAIN: its socket is full. */
	int (*deliver)(void *ctx, void *port_ctx, uint32_t from,
		       const void *bytes, size_t size);
	/* What came of a port's message. The port may be closed from here. */
	void (*answer)(void *ctx, void *port_ctx, int result);
};

struct adapter_seams {
	const struct adapter_ops *ops;
	void *ctx;
	struct clock_seam clock;
	struct rng_seam rng;
};

struct adapter *adapter_create(const struct adapter_seams *seams);
/* Closes its ports. */
void adapter_destroy(struct adapter *adapter);
DEFINE_AUTO(struct adapter, adapter_destroy)

struct adapter_place {
	uint32_t program;
	uint8_t rail;
	int32_t context; /* absolute */
	int32_t node;    /* this one's ElanID; -1: not known */
	const struct elan_capability *cap;
	const struct route *routes; /* of the lane's nodes */
	size_t route_count;
};

/*
 * place is copied. -ENODEV: it is not known which of the capability's nodes
 * this is; -ENOENT: the capability has no virtual process there.
 */
int adapter_open(struct adapter *adapter, const struct adapter_place *place,
		 void *port_ctx, struct adapter_port **ret_port);
/* What is under way is not answered any more. NULL is allowed. */
void adapter_close(struct adapter_port *port);
/*
 * Send to a rank; there is an answer later, or from within: 0, when it is
 * taken; -ETIMEDOUT: nobody took it in time, as far as is known; -EINVAL: no
 * such rank; -EMSGSIZE; -EBUSY: one is under way; -EHOSTUNREACH: the address of
 * that node's adapter is not known.
 */
void adapter_send(struct adapter_port *port, uint32_t to, uint64_t timeout_ms,
		  const void *bytes, size_t size);
/* A datagram came. */
void adapter_receive(struct adapter *adapter, const void *bytes, size_t size);
/* Rails that are there, a bit for each: on others nothing comes or goes. */
void adapter_rails_set(struct adapter *adapter, uint32_t rails);
/* When to run it; DEADLINE_NONE. */
uint64_t adapter_deadline_ms(const struct adapter *adapter);
void adapter_run(struct adapter *adapter);
