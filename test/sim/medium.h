/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libscoll in virtual time: what scoll.h declares, as far as the manager and
 * its nodes use it, on the shipped core and a simulated network. So the code
 * between them and libscoll runs here as it ships.
 *
 *	medium_create -> medium_join (each member) -> medium_leave
 *	-> medium_destroy
 *
 * A member gets what has come by its callbacks, and then one call of `settled`,
 * in which it may do everything, even leave.
 */
#pragma once

#include "base/cleanup.h"
#include "base/seam.h"
#include "scoll.h"
#include "scoll/member/given.h"
#include "scoll/transport/sim/sim.h"

struct medium;

struct medium_options {
	struct transport_sim_options network; /* its timeline is made */
	struct given *given; /* of all, for very many; NULL: each its own */
	/* Another clock that time follows, ns; NULL: none. */
	uint64_t (*now_ns)(void *ctx);
	/* Something is to be done at medium_next_ns(), maybe earlier now. */
	void (*wake)(void *ctx);
	void *ctx;
};

struct medium_member {
	scoll_nid_t nid;
	const struct scoll_authenticator *authenticator;
	struct rng_seam rng;
	uint64_t started_us;
	bool share_addresses;
	void (*settled)(void *ctx);
	void *ctx;
};

struct medium *medium_create(const struct medium_options *options);
/* All members have left. NULL is allowed. */
void medium_destroy(struct medium *medium);
DEFINE_AUTO(struct medium, medium_destroy)

struct transport_sim *medium_network(struct medium *medium);
uint64_t medium_now_ns(const struct medium *medium);
/* DEADLINE_NONE: nothing will happen. */
uint64_t medium_next_ns(struct medium *medium);
/* What is due before that moment. */
void medium_run(struct medium *medium, uint64_t until_ns);

scoll_t *medium_join(struct medium *medium, const struct medium_member *member);
/*
 * As a process that is killed: nobody is notified, and no callback is called.
 * NULL is allowed.
 */
void medium_leave(scoll_t *scoll);
struct transport_sim_port *medium_port(const scoll_t *scoll);
struct scoll_core;
struct scoll_core *medium_core(const scoll_t *scoll);
/* Requests and replies, as those of this member are under way. */
bool medium_is_idle(const scoll_t *scoll);
