/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of `fairlead doctor --slurm`: what the controller goes by, and us. */
#pragma once

#include "lanes/cli/doctor_beside.h"

#define SLURM_SCRIPTS "/usr/lib/fairlead/slurm" /* where ours are installed */
#define SLURM_PROGRAM "fairlead-slurm" /* what the hooks there are links to */

struct doctor_slurm {
	struct doctor *doctor;
	const struct config *config;
	char *settings; /* as scontrol prints them */
	json_t *nodes;  /* Slurm's, an object; NULL: not known */
	uid_t user;     /* SlurmUser, when has_user */
	bool has_user;
	bool is_controller; /* this machine is one */
	bool is_node;
};

/*
 * An absolute path; a relative one is slurm.conf's neighbour. The caller frees
 * it.
 */
char *doctor_slurm_path(const struct doctor_slurm *slurm, const char *path);

/* PrologSlurmctld, Prolog, Epilog, EpilogSlurmctld: are they ours? */
void doctor_slurm_hooks(const struct doctor_slurm *slurm);
/* plugstack.conf and the plugin that it names. */
void doctor_slurm_spank(const struct doctor_slurm *slurm);
