/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is there on this node: a file in /dev/shm for each endpoint that has
 * shared memory, which says whose process it is, and for which peers it has a
 * slot. Shared memory by itself informs nobody that a peer has died, and what
 * comes from more peers than it takes ends up with others.
 *
 * Two endpoints share memory when each has a slot for the other. Both come to
 * the same answer, whoever asks first: a slot is given back only when its peer
 * is gone, and never to a peer that was refused one.
 *
 * A peer that is gone leaves files as long as anybody has a slot for it, since
 * its memory may still be used. A lock on the file ends with the process, so
 * files of the dead, which others clean up, differ from those of the living.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PRESENCE_SLOTS    256 /* what shm takes */

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
 * Makes the file of the endpoint `number`. `is_only`: peers have no other way,
 * so who was refused may try again. Returns 0 or a negative errno.
 */
int presence_open(uint64_t number, uint64_t node, bool is_only,
		  struct presence **ret);
/* The endpoint's shared memory is there: peers may join it. */
void presence_show(struct presence *presence);
/*
 * To be called before the endpoint's shared memory is closed, and after it;
 * both take NULL.
 */
void presence_leave(struct presence *presence);
void presence_close(struct presence *presence);

/*
 * Whether the endpoint `other` and ours have slots for each other. Returns the
 * number of its slot here, and whose it is; -ENOENT: it is gone; -ENOSPC: there
 * is no slot.
 */
int presence_join(struct presence *presence, uint64_t other,
		  struct presence_process *ret_process);

/* --- slots of peers that are gone --- */

/* Whether anybody may have gone since this was asked. */
bool presence_has_news(struct presence *presence);
/* Whose a slot is, and of which process (0: unknown), if it is gone; or 0. */
uint64_t presence_gone(const struct presence *presence, unsigned int slot,
		       pid_t *ret_process);
/* Nothing of its peer is used any more. */
void presence_give_back(struct presence *presence, unsigned int slot);

/* A process that is stopped lives; one that nobody has waited for is dead. */
bool presence_is_alive(const struct presence_process *process);

/*
 * Takes away what endpoints have left that are gone, if nobody has a slot for
 * them.
 */
void presence_sweep(uint64_t node);
