/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seams of the registry: who keeps the members of a program together, and
 * where what is known is written down. A *keeper* is a kernel's cgroups, or a
 * search through its processes where there are none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* A process for good: a pid is another one's later. start: in clock ticks. */
struct rms_process {
	int32_t pid;
	uint64_t start;
};

static inline bool process_is(const struct rms_process *process,
			      const struct rms_process *other)
{
	return process->pid == other->pid && process->start == other->start;
}

/* setting: number of what it has set, or was forked with; 0: nothing. */
struct rms_member {
	struct rms_process process;
	uint32_t setting;
};

/* Zero-initialised is empty; the caller frees items. */
struct members {
	struct rms_member *items;
	size_t count;
	size_t capacity;
};

void members_add(struct members *members, const struct rms_member *member);
/* NULL: it is none of them. */
const struct rms_member *members_have(const struct members *members,
				      const struct rms_process *process);
void members_fini(struct members *members);

/* What members have used so far, as far as it can be said. */
struct rms_usage {
	uint64_t user_us;
	uint64_t system_us;
	uint64_t faults;
	uint64_t memory;     /* bytes, now */
	uint64_t memory_max; /* bytes */
};

struct program;

/*
 * Programs are those that the registry holds. Where a keeper writes to
 * `known` of a program it sets is_changed.
 */
struct keeper_ops {
	/* Where the program that pid makes is to be, in program->place. */
	int (*choose)(void *ctx, struct program *program,
		      const struct rms_process *process);
	/*
	 * Make it there, with this first member. -EEXIST; -ENOMEM: the kernel
	 * refused.
	 */
	int (*make)(void *ctx, struct program *program,
		    const struct rms_process *process);
	/* Take it away; what is not there is no error. -ECHILD: has members. */
	int (*remove)(void *ctx, struct program *program);
	/* Is it still there: 1 with members, 0 without, -ENOENT. */
	int (*look)(void *ctx, struct program *program);
	/* Its members now, added to what is in ret. */
	int (*members)(void *ctx, struct program *program,
		       struct members *ret_members);
	/* Which of the programs a process is in. -ESRCH: none. */
	int (*find)(void *ctx, struct program *programs,
		    const struct rms_process *process,
		    struct program **ret_program, uint32_t *ret_setting);
	/* Is it where the program was made, so that it may be added. */
	bool (*is_near)(void *ctx, const struct program *program,
			const struct rms_process *process);
	/* Bring a process in, or a member to another setting. -ESRCH. */
	int (*enter)(void *ctx, struct program *program,
		     const struct rms_process *process, uint32_t setting);
	int (*leave)(void *ctx, struct program *program,
		     const struct rms_process *process);
	/* To all. -EAGAIN: they fork faster. */
	int (*signal)(void *ctx, struct program *program, int number);
	int (*suspend)(void *ctx, struct program *program, bool suspends);
	int (*usage)(void *ctx, struct program *program,
		     struct rms_usage *ret_usage);
	/* Who has this pid now, and is it all the user's. -ESRCH. */
	int (*identify)(void *ctx, int32_t pid, struct rms_process *ret_process,
			uint32_t uid, bool *ret_is_users);
	/*
	 * Tell registry_process_ended() when it has ended; once for each
	 * process. -ESRCH: it has.
	 */
	int (*watch)(void *ctx, const struct rms_process *process);
};

struct keeper_seam {
	const struct keeper_ops *ops;
	void *ctx;
	bool is_sure; /* members stay in by the kernel's own doing */
};

enum rms_record {
	RECORD_NODE,    /* number 0 */
	RECORD_PROGRAM, /* its id */
	RECORD_DEPOSIT, /* its number */
	RECORD_KIND_COUNT,
};

/* What is saved is there after a crash, wholly or not at all. */
struct notes_ops {
	int (*save)(void *ctx, enum rms_record kind, uint64_t number,
		    const void *bytes, size_t size);
	/* What is not there is no error. */
	int (*remove)(void *ctx, enum rms_record kind, uint64_t number);
};

struct notes_seam {
	const struct notes_ops *ops;
	void *ctx;
};
