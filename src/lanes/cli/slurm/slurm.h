/* SPDX-License-Identifier: BSD-3-Clause */
/* `fairlead slurm ...`: one subcommand a hook (doc/rfc/job-managers.md). */
#pragma once

#include "lanes/cli/slurm/hook.h"

extern const struct subcommand command_slurm;

int slurm_prolog_slurmctld(struct slurm_hook *hook);
/*
 * Which hook a link to our program stands for, since Slurm gives hooks no
 * arguments: the first name of a hook ("prolog") on the way from path along the
 * links; a site may link to ours by a name of its own. NULL: there is none.
 */
const char *slurm_link_hook(const char *path);
