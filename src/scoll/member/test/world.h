/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cluster that gossips and everything that may happen to it, from a seed,
 * and what has to be true all the time:
 *
 *  - nobody undisturbed is taken for dead, and no counter moves without cause
 *  - who crashed, or left, is dead to all others in time
 *  - when a node that was restarted speaks again, the counters of all who saw
 *    its predecessor alive have moved, and they do not move because of it
 *  - a single node cannot make others believe in a cycle
 *  - in the end all live nodes see each other, and count the same cycle, which
 *    went as fast as time
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum world_count {
	WORLD_LOST,
	WORLD_DOUBLED,
	WORLD_LATE,
	WORLD_CUT,
	WORLD_HELD,
	WORLD_OVERFLOWN,
	WORLD_GONE,
	WORLD_CRASH,
	WORLD_MASS_CRASH,
	WORLD_QUICK_REBOOT,
	WORLD_SLOW_REBOOT,
	WORLD_BRIEF_LIFE,
	WORLD_SHORT_PAUSE,
	WORLD_LONG_PAUSE,
	WORLD_PARTITION,
	WORLD_LEAVE,
	WORLD_POISON,
	WORLD_POISON_IN_STEALTH,
	WORLD_CREEP,
	WORLD_DETECTED,    /* deaths that were checked to be known in time */
	WORLD_REBOOT_SEEN, /* reboots that were checked, by observer */
	WORLD_EARLY,       /* ends of stealth */
	WORLD_STEP,        /* of the cycle */
	WORLD_JUMP,
	WORLD_BACK,
	WORLD_NONCE_REBOOT, /* seen by the nonce alone */
	WORLD_COUNT,
};

extern const char *const world_count_names[WORLD_COUNT];

struct world_result {
	uint64_t counts[WORLD_COUNT];
	uint64_t hash; /* of all that the nodes know in the end */
	uint64_t simulated_ms;
	char broken[256]; /* which of the above is not true; "": none */
};

/* Adds to the counts. When memory runs out, the process ends. */
void world_run(uint64_t seed, struct world_result *result);
