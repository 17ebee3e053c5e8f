/* SPDX-License-Identifier: BSD-3-Clause */
/* `fairlead slurm ...`: one subcommand a hook (doc/rfc/job-managers.md). */
#pragma once

#include "lanes/cli/slurm/hook.h"

extern const struct subcommand command_slurm;

/* What slurm_hook_run() calls for each. */
int slurm_prolog_slurmctld(struct slurm_hook *hook);
int slurm_prolog(struct slurm_hook *hook);
/* Drain the node first, so that Slurm shows our reason. */
int slurm_prolog_refuse(struct slurm_hook *hook);
int slurm_epilog(struct slurm_hook *hook);
int slurm_epilog_slurmctld(struct slurm_hook *hook);
