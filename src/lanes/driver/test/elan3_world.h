/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node with a fairlead-rms of its own (elan/test/stage.h) on two rails, and
 * elan3's node half open on it: node n1 of the job n0,n1,n2. Whatever goes
 * wrong here fails the running test.
 */
#pragma once

#include "lanes/driver/elan3/elan3.h"
#include "elan/test/stage.h"

#define WORLD_PROGRAM     77
#define WORLD_FIRST       1030
#define WORLD_CONTEXTS    2 /* on each node; n0 has 2 tasks, n1 2, n2 1 */
#define WORLD_OBJECTS_MAX 32

struct world {
	struct fairlead_warnings warnings; /* first: what drivers are given */
	struct stage *stage;
	void *manager, *node; /* states */
	struct fairlead_error error;
	uint32_t warning_count;
	uint8_t *secrets; /* of world_lane() */
	size_t secrets_size;
	uint32_t object_count; /* without the rails' own */
	struct fairlead_object objects[WORLD_OBJECTS_MAX];
	uint32_t device_count;
	struct fairlead_device devices[WORLD_OBJECTS_MAX];
};

/* cmocka's: state is a world. */
int world_setup(void **state);
int world_teardown(void **state);
#define world_test(name) \
	cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* A lane of OWNER_UID on these rail sets, with its secrets. */
struct fairlead_lane world_lane(struct world *world, const char *rails);
/* The i-th capability of the lane. */
struct elan_capability world_cap(const struct fairlead_lane *lane, uint32_t i);
int world_apply(struct world *world, const struct fairlead_lane *lane,
		struct fairlead_record *ret_record);
/* By owner and identifiers alone. */
int world_revoke(struct world *world, const struct fairlead_lane *lane);
uint32_t world_list(struct world *world);
int world_probe(struct world *world);
/* Open the node half again, with one more setting. */
int world_open(struct world *world, const char *name, const char *value);
void assert_has(const char *text, const char *part);
