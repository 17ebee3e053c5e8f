/* SPDX-License-Identifier: BSD-3-Clause */
/* `fairlead slurm ...`: one subcommand a hook (doc/rfc/job-managers.md). */
#pragma once

#include "lanes/cli/cli.h"

#define SLURM_HOOK_DETAILS                                                    \
	"For Slurm to run: it reads what Slurm puts into the environment of " \
	"this hook, and exits\nwith 0 or 1. See fairlead-slurm(7)."

extern const struct option_spec slurm_hook_options[];

extern const struct subcommand command_slurm;
extern const struct subcommand command_slurm_prolog_slurmctld;
extern const struct subcommand command_slurm_prolog;
extern const struct subcommand command_slurm_epilog;
extern const struct subcommand command_slurm_epilog_slurmctld;
