/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of the gate's programs and maps, held by descriptors: it is in force
 * while its links are attached, and stays so when we end where these are
 * pinned.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lanes/driver/ethernet/gate_maps.h"

#define GATE_PROGRAM_COUNT 8
#define GATE_PIN_COUNT     (2 + GATE_PROGRAM_COUNT)

/* In the order of everything that goes by program. */
extern const char *const *const gate_programs;

/* Descriptors; -1: none. Owned. */
struct gate_set {
	union {
		struct {
			int lanes;
			int counters;
			int links[GATE_PROGRAM_COUNT];
		};
		int pins[GATE_PIN_COUNT]; /* all of them */
	};
	uint32_t programs[GATE_PROGRAM_COUNT]; /* ids of what the links run */
};

void gate_set_init(struct gate_set *set);
/* Closes. */
void gate_set_fini(struct gate_set *set);
/* As by assignment; `from` has nothing any more. */
void gate_set_move(struct gate_set *to, struct gate_set *from);

/* Are all programs attached to the cgroup, and those that once were? */
bool gate_set_is_attached(const struct gate_set *set, uint64_t cgroup_id);
/* At once, also where somebody else has a descriptor. */
void gate_set_detach(const struct gate_set *set);

/* Is everything of it pinned in the directory? */
bool gate_set_is_pinned(const struct gate_set *set, const char *directory);
/*
 * Pin what is not; another's pin under a name of ours goes, and stays attached.
 * The directory is there, on a BPF file system.
 */
int gate_set_pin(const struct gate_set *set, const char *directory);
/* What is pinned there; some of it can be missing (-1). */
void gate_set_find(const char *directory, struct gate_set *ret_set);
/* The same map or link, by whatever descriptors? */
bool gate_pin_is_same(int a, int b);
