/* SPDX-License-Identifier: BSD-3-Clause */
/* A job on two nodes of a test bed, from its apply on. */
#pragma once

#include "bed.h"

/* A bed with two nodes up and a job on them that is being applied. */
struct scene {
	struct bed *bed;
	uint64_t client;
	uint64_t grant_id;
	struct bed_node nodes[2];
};

/* As cmocka's set-up and tear-down. */
int scene_set_up(void **state);
int scene_tear_down(void **state);
void scene_release(struct scene *scene);
/* Apply on both nodes, so that the job is active. */
void scene_make_active(struct scene *scene);
/* n0 says that the lane is gone. */
void scene_confirm_revoked(struct scene *scene, struct bed_round *round);
/* How many identifiers are in quarantine. */
size_t scene_count_quarantined(struct scene *scene);
/* The apply has failed on these nodes, with this error. */
void scene_assert_failed(struct scene *scene, const char *nodes, int code);
