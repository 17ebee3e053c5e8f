/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is there on this node: a file in /dev/shm for each endpoint that has shared
 * memory, which says whose process it is, and whom it has room for. Shared memory
 * by itself tells nobody that a peer has died, and what comes from more peers than
 * it takes ends up with others.
 *
 * Two endpoints share memory when each has a place for the other. A place that
 * was taken is never given to another, so that both come to the same answer,
 * whoever asks first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PRESENCE_PLACES   256 /* what shm takes */

#define PRESENCE_NAME_MAX 32

/* What the shared memory of an endpoint is called, by the endpoint's number. */
void presence_name(uint64_t number, char ret_name[PRESENCE_NAME_MAX]);

struct presence;

/* A process, also when its number has gone to another. */
struct presence_process {
	pid_t number;
	uint64_t started;
};

/*
 * Makes the file of the endpoint `number`. Returns 0 or a negative errno.
 * presence_close() takes it away, and takes NULL.
 */
int presence_open(uint64_t number, uint64_t node, struct presence **ret);
void presence_close(struct presence *presence);

/*
 * Whether the endpoint `other` and ours have room for each other. Returns 0 and
 * whose it is; -ENOENT: it is gone; -ENOSPC: one of them has none.
 */
int presence_join(struct presence *presence, uint64_t other,
		  struct presence_process *ret_process);

/* A process that is stopped lives; one that nobody has waited for is dead. */
bool presence_is_alive(const struct presence_process *process);

/*
 * Takes away what processes of this node identity have left that were killed:
 * their files, and their shared memory.
 */
void presence_sweep(uint64_t node);
