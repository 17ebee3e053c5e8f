/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node for tests that kill the driver: a network namespace with two NICs,
 * eth1 and eth2, each with a far end that shows what leaves. The driver works
 * in a child, which is watched and killed; the namespace, rules and programs
 * stay.
 */
#pragma once

#include <stdbool.h>

#include "fairlead_driver.h"

#define CRASH_OWNER      20001u
#define CRASH_OTHER_USER 20002u
/* Of the program alone, and only root can write it. */
#define CRASH_DIRECTORY "/mnt"

/* FAIRLEAD_TEST=long: everything that takes its time. */
bool crash_is_long(void);

/* Once a program. False, with the reason printed: the tests are to be skipped. */
bool crash_world_enter(void);
/* Of each group and test: a fresh namespace. */
int crash_setup(void **state);
int crash_teardown(void **state);
/* False: this kernel has not what the driver needs, and has said so. */
bool crash_is_there(void);

/* A start and an end of the driver, in this process. */
void *crash_open(void);
/* The same, when it may fail. */
int crash_try_open(void **ret_state, struct fairlead_error *ret_error);
void crash_close(void *state);

/* A lane between this node and one more, whose members are its own. */
struct crash_lane {
	struct fairlead_lane lane;
	struct fairlead_record record; /* of the last apply */
	bool is_netns;
	uint8_t members[256]; /* lane.members, from crash_apply on */
};

void crash_lane_make(struct crash_lane *lane, const char *options);
int crash_apply(void *state, struct crash_lane *lane);
int crash_revoke(void *state, struct crash_lane *lane);
/* Together; 0, or the first result that is not. */
int crash_revoke_all(void *state, struct crash_lane *lanes, size_t count);

/*
 * Do something in a child, with the driver open, and kill it before its nth
 * call that changes anything outside itself. False: it was through before, and
 * has succeeded. act: NULL is the driver's start itself.
 */
bool crash_kill_at(int (*act)(void *state), unsigned int nth);

/*
 * Does what that user sends to the other node of the lane leave this one?
 * Root's packets on the NICs, sent afterwards, say that it would have left by
 * then.
 */
bool crash_gets_out(const struct crash_lane *lane, uid_t uid);

/* But for what every start makes: the table, programs, and HTB's own. */
void crash_assert_nothing_left(void);
