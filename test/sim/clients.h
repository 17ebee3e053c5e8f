/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients of the manager: two job managers, users, and root. Each is a process
 * with one connection, which may break; a request whose answer was lost, or is
 * late, is asked again by whoever wanted it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "world.h"

#define CLIENT_PATIENCE_MS 90000 /* until a client gives an answer up */

enum client_who {
	CLIENT_SLURM, /* as Slurm: the manager does everything */
	CLIENT_FLUX,  /* as Flux: epilog and housekeeping on the nodes too */
	CLIENT_ROOT,
	CLIENT_USER,
	CLIENT_COUNT,
};

struct clients;

struct clients *clients_create(struct world *world);
void clients_destroy(struct clients *clients);

/* NULL: it was lost, or the patience was at its end. answer is borrowed. */
typedef void client_answer_fn(void *ctx, json_t *answer);

/*
 * Ask; members is taken, and may be NULL. is_forbidden: what is asked for is
 * not the client's to ask, and must have no effect.
 */
void client_ask(struct clients *clients, enum client_who who, const char *op,
		json_t *members_owned, bool is_forbidden,
		client_answer_fn *done, void *ctx);
/* Send what is no request. */
void client_babble(struct clients *clients, enum client_who who);
/* The process ends and begins again: it forgets what it has asked. */
void client_restart(struct clients *clients, enum client_who who);

uid_t client_uid(enum client_who who);
const char *client_name(enum client_who who);

int answer_result(const json_t *answer);
const char *answer_error(const json_t *answer);

/* --- jobs.c: what the job managers do --- */

struct jobs;

struct jobs *jobs_create(struct world *world, unsigned int count);
void jobs_destroy(struct jobs *jobs);
/* No new ones, and every one is ended. */
void jobs_end(struct jobs *jobs);
bool jobs_are_begun(const struct jobs *jobs);
bool jobs_are_over(const struct jobs *jobs);
/* One job on all nodes goes through its whole life; then is_done. */
void jobs_try(struct jobs *jobs, bool *is_done);

/* --- admin.c: what root does --- */

struct admin;

struct admin *admin_create(struct world *world);
void admin_destroy(struct admin *admin);
/* Only what mends from now on, until it is mended. */
void admin_mend(struct admin *admin);
bool admin_is_content(const struct admin *admin);
/* What it is not content with. */
const char *admin_complaint(const struct admin *admin);
