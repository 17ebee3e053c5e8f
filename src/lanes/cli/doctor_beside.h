/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `fairlead doctor` says of a job manager, whichever it is, beside our
 * configuration.
 */
#pragma once

#include "lanes/cli/doctor.h"

struct doctor_beside {
	struct doctor *doctor;
	const char *title;   /* "Slurm" */
	const char *scripts; /* where ours for it are installed */
	const struct config_job_manager *section;
	/* Where it looks for the manager; NULL: as our hooks do. */
	const char *manager;
};

/* Could somebody else than root, or than `also`, change it? Also by its folder. */
bool doctor_is_open(const char *path, uid_t also);
/* Is it a manager over TCP, as fairlead_open() takes it? */
bool doctor_is_url(const char *path);
/* Host, up to its domain, as this machine calls itself. */
void doctor_host(char *host, size_t size);
/* Is `name` the host, up to its domain? */
bool doctor_is_host(const char *host, const char *name);
/* What a job gets that does not say: "must", "may" or "none". */
const char *doctor_default(const struct config *config);

/* `manager`, the environment's, or the configuration's. */
const char *doctor_beside_manager(const struct doctor_beside *beside);
/* May this user, who is called `who`, reserve? */
void doctor_beside_user(const struct doctor_beside *beside, const char *who,
			uid_t user);
/* drain_command and undrain_command. */
void doctor_beside_drain(const struct doctor_beside *beside);
/*
 * Does the manager know the job manager's nodes? names: an object with a member
 * for each; NULL: nothing is said.
 */
void doctor_beside_nodes(const struct doctor_beside *beside,
			 const json_t *names);
