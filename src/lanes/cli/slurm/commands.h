/* SPDX-License-Identifier: BSD-3-Clause */
/* Slurm's own commands, asked about all of Slurm and not about what is ours. */
#pragma once

#include "lanes/config/config.h"

/*
 * Make this process's environment fit for squeue, sinfo and scontrol: without
 * the variables that have them leave jobs or nodes out, or ask another cluster,
 * and with the slurm.conf that the configuration names.
 */
void slurm_commands_prepare(const struct config_job_manager *section);
