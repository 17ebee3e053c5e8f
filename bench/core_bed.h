/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager's core with a configuration file's drivers and nodes, in a world
 * where every node is up and obeys at once. What the core wants in the journal
 * goes to the caller.
 *
 *	bed_create -> bed_start
		   -> (bed_reserve -> [bed_apply] -> [bed_release])*
		   -> bed_destroy
 *
 * An error ends the program: this is for benchmarks.
 */
#pragma once

#include <stdint.h>

#include "base/seam.h"
#include "lanes/config/config.h"
#include "lanes/manager/store/row.h"

struct bed;

typedef void bed_store_fn(void *arg, const struct store_row *row);

struct bed *bed_create(const char *config_path);
/* Where the configuration wants the journal. */
const char *bed_state_path(const struct bed *bed);
uint32_t bed_node_count(const struct bed *bed);
/* store gets each row, borrowed for the call. */
void bed_start(struct bed *bed, uint64_t epoch, bed_store_fn *store, void *arg);
void bed_destroy(struct bed *bed);

/* Of `spread` nodes at random; the same ones in each run. The grant id. */
uint64_t bed_reserve(struct bed *bed, uint64_t job, uint32_t spread);
/* Of nodes first to last, with so many tasks on each. */
uint64_t bed_reserve_range(struct bed *bed, uint64_t job, uint32_t first,
			   uint32_t last, uint32_t tasks);
void bed_apply(struct bed *bed, uint64_t grant_id);
void bed_release(struct bed *bed, uint64_t grant_id);

/* Print what and why, and exit. */
void bed_die(const char *what, const char *why) __attribute__((noreturn));
