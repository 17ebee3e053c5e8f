/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members that nothing holds: they are known, and each search finds what they
 * have forked since, by parent and by session. A process whose parent has
 * ended before a search, in a session that it made itself, is not found.
 */
#pragma once

#include "elan/core/model.h"
#include "elan/service/proc.h"

/* Now, as processes have their start. */
uint64_t search_now(void);
/*
 * A process is a member, and in this setting. -ENOSPC: KNOWN_MAX. One that had
 * left is in again.
 */
int search_note(struct program *program, const struct rms_process *process,
		uint32_t setting);
/* It has left, with what it forks. */
void search_forget(struct program *program, const struct rms_process *process);
/* Look through all processes: the program's, added to what is in ret. */
int search_members(struct program *program, struct members *ret_members);
/* The same, of processes that were read after whatever is asked for. */
int search_among(struct program *program, const struct proc_stat *stats,
		 size_t count, struct members *ret_members);
