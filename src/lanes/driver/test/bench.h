/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node with software NICs, and slingshot's node half open on it, for tests
 * of that half. Whatever goes wrong here fails the running test.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "lanes/driver/slingshot/slingshot.h"
#include "lanes/driver/test/softnic.h"

#define BENCH_OBJECTS_MAX 64

struct bench {
	struct fairlead_warnings warnings; /* first: what drivers are given */
	struct softnic softnic;
	void *state; /* of the node half */
	struct fairlead_error error;
	uint32_t warning_count;
	char all_warnings[8192]; /* one a line */
	uint32_t object_count;
	struct fairlead_object objects[BENCH_OBJECTS_MAX];
};

/* cmocka's set-up: start the daemon with further options, open the driver. */
#define bench_start(state, ...)                                            \
	(*(state) = bench_create(),                                        \
	 softnic_start(&((struct bench *)*(state))->softnic, __VA_ARGS__), \
	 bench_open(*(state), NULL, NULL))
struct bench *bench_create(void);
int bench_start_one(void **state); /* NIC */
int bench_start_two(void **state); /* NICs */
int bench_stop(void **state);
/* Open the node half with one more setting, or none. Returns 0. */
int bench_open(struct bench *bench, const char *name, const char *value);

/* A lane of softnic_owner() with one VNI. */
struct fairlead_lane bench_lane(uint32_t vni, uint32_t cores);
/* Each forgets earlier warnings and errors. */
int bench_apply(struct bench *bench, const struct fairlead_lane *lane,
		struct fairlead_record *record);
void bench_apply_well(struct bench *bench, const struct fairlead_lane *lane);
int bench_revoke(struct bench *bench, const struct fairlead_lane *lane);
/* Read all services; returns how many are neither default nor the system's. */
uint32_t bench_services(struct bench *bench);
/* As another program would: a service for uid and vni. Returns its id. */
uint32_t bench_make_foreign(struct bench *bench, uint32_t dev_id, uint32_t uid,
			    uint16_t vni);

void assert_has(const char *text, const char *part);
