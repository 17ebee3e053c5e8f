/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random life of a cluster: groups and requests of all kinds from several
 * roots at once, and everything that can go wrong; then calm, and the end.
 */
#pragma once

#include "cluster.h"

/* What befalls a cluster besides the faults of its network. */
enum chaos {
	CHAOS_CRASH,
	CHAOS_QUICK_REBOOT, /* before anybody has noticed */
	CHAOS_PAUSE,
	CHAOS_PARTITION,
	CHAOS_SLOW,
	CHAOS_STARVE, /* an allocation fails */
	CHAOS_LEAVE,
	CHAOS_BARE,       /* a service is not there for a while */
	CHAOS_DRIFT,      /* a service names other members of an OOB group */
	CHAOS_FALSE_NEWS, /* discovery takes the living for dead */
	CHAOS_REPLAY,     /* an attacker sends a message again */
	CHAOS_REDIRECT,   /* to somebody else */
	CHAOS_FORGE,      /* with a field changed */
	CHAOS_TRUNCATE,
	CHAOS_GARBAGE,
	CHAOS_FORGE_REPLY,
	CHAOS_COUNT,
};

struct scenario_options {
	uint64_t seed;
	uint32_t node_count; /* 0: the seed decides */
	bool is_verbose;
	bool prints_hash;
	struct coverage *coverage;
};

struct scenario_result {
	uint64_t events;
	uint64_t virtual_ns;
	uint64_t hash; /* of cluster_hash, now and then and at the end */
};

/* What has to happen in enough seeds. */
void scenario_expect(struct coverage *coverage);
void scenario_run(const struct scenario_options *options,
		  struct scenario_result *ret_result);
