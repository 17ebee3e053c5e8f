/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kernel and a disk for the registry, in memory. From a
 * chosen step on it does nothing, as if the daemon had been killed there.
 */
#pragma once

#include "elan/core/registry.h"

#define WORLD_PROCESSES 8
#define WORLD_RECORDS   16
#define WORLD_FOREVER   UINT32_MAX

struct world_process {
	int32_t program; /* whose cgroup it is in; 0: none */
	uint32_t setting;
	bool is_alive;
	bool is_watched;
};

struct world_record {
	enum rms_record kind;
	uint64_t number;
	struct writer bytes; /* none: no such record */
};

struct world {
	struct registry *registry;
	uint64_t now_ms;
	uint32_t steps;      /* that changed something, so far */
	uint32_t steps_left; /* before it is gone */
	bool after;          /* gone when the step is done, not before it */
	struct world_process processes[WORLD_PROCESSES]; /* pid: index + 1 */
	bool has_group[WORLD_PROCESSES];                 /* of program: index */
	bool is_frozen[WORLD_PROCESSES];
	struct world_record records[WORLD_RECORDS];
};

/* A registry of what is saved, as at a start: the result of that. */
int world_start(struct world *world);
/* Forget the registry, as by kill -9. */
void world_kill(struct world *world);
void world_fini(struct world *world);
struct caller world_caller(int32_t pid, uint32_t uid);
/* Process pid forks the other one. */
void world_fork(struct world *world, int32_t pid, int32_t child);
void world_end(struct world *world, int32_t pid);
