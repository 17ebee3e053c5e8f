/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/slurm/slurm.h"

#include "lanes/cli/config_path.h"

const struct option_spec slurm_hook_options[] = {
	OPTION_CONFIG,
	OPTION_SOCKET,
	{ 0 },
};

static const struct subcommand *const commands[] = {
	&command_slurm_prolog_slurmctld,
	&command_slurm_prolog,
	&command_slurm_epilog,
	&command_slurm_epilog_slurmctld,
	NULL,
};

const struct subcommand command_slurm = {
	.name = "slurm",
	.summary = "Hooks for Slurm",
	.commands = commands,
};
