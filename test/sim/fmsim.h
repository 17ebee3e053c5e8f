/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric manager, in every seventh seed, and the manager's client of it. It
 * loses requests and answers, is down or hangs, refuses, forgets, and carries
 * out requests whose client has given up. Other clients use it too, with names
 * that are like ours. It has random numbers of its own, so that it changes none
 * of the world's.
 *
 * Jobs of `fabric` ask it for reservations. Each has a token, which begins with
 * FMSIM_MARK.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lanes/manager/core/core.h"
#include "lanes/manager/core/outside.h"
#include "world.h"

#define FMSIM_WAIT_MS   2000 /* of a job's apply */
#define FMSIM_MARK      "fm-token-"
#define FMSIM_TOKEN_MAX 47 /* bytes, without the zero */

struct fmsim;

/* Does the seed have one? Nothing is drawn for it. */
bool fmsim_is_there(const struct world *world);
struct fmsim *fmsim_create(struct world *world);
void fmsim_destroy(struct fmsim *fmsim);

/* How a request has ended, never from inside of fmsim_ask(). */
typedef void fmsim_done_fn(void *ctx, uint64_t id,
			   const struct outside_end *end);
void fmsim_ask(struct fmsim *fmsim, const struct outside_request *request,
	       fmsim_done_fn *done, void *ctx);
/* ctx is gone: what is under way may arrive, and is not answered. */
void fmsim_hang_up(struct fmsim *fmsim, const void *ctx);
/* It works from now on. */
void fmsim_heal(struct fmsim *fmsim);
/* It does not answer any more. */
void fmsim_break(struct fmsim *fmsim);
/* It loses some reservations, or all. */
void fmsim_forget(struct fmsim *fmsim);

enum {
	FMSIM_WAS_GONE = 1 << 0,     /* released or forgotten, once */
	FMSIM_IS_FORGOTTEN = 1 << 1, /* by itself, and not made again */
};

/* What became of the reservation of a grant. */
unsigned int fmsim_fate(const struct fmsim *fmsim, uint64_t grant_id);

/* The grant whose reservation has this token; 0: none ever had it. */
uint64_t fmsim_token_grant(const struct fmsim *fmsim, const char *token);
/* A reservation that the manager has made and not deleted; NULL: none. */
const char *fmsim_leftover(const struct fmsim *fmsim);
