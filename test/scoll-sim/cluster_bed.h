/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of whole clusters share: members, teams of all, what was sent. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cluster.h"

#define LATENCY_NS UINT64_C(10000)
#define GAP_NS     UINT64_C(2000)
#define R_NS       (100 * CLUSTER_MS) /* the default */

/* Nothing fails in it. */
struct cluster_options plain(uint32_t node_count);
/* 100 bytes, a second. */
extern const struct job_options small;

/* The caller frees it. */
uint32_t *everybody(const struct cluster *cluster);
/* A team of all members, known to the services. */
struct team *oob_of_all(struct cluster *cluster, uint32_t owner);
struct team *team_of_all(struct cluster *cluster, uint32_t owner,
			 bool populate_now);
struct job *job_new_of(struct team *team);

/* Messages and replies so far. */
uint64_t messages(const struct cluster *cluster);
uint64_t groups(const struct cluster *cluster, uint32_t index);
/* Each that is there, but the owner, has so many. */
void assert_groups(const struct cluster *cluster, uint32_t owner,
		   uint64_t count);
