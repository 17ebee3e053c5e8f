/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a plugin sees of Slurm, played by the test that loads it: srun, a step's
 * slurmstepd, and the processes in which SPANK tells nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(default)
#include <slurm/spank.h>
#pragma GCC visibility pop

#define FAKE_VARIABLES_MAX 16
#define FAKE_TEXT_MAX      4096

struct fake_variable {
	char name[64], value[600];
	bool is_set;
};

/* Shared with tasks, which are forked. */
struct spank_handle {
	spank_context_t context;
	uint32_t job_id, step_id, node;
	uid_t uid;
	int task;
	const char *job_id_text;  /* the step's SLURM_JOB_ID; NULL: none */
	spank_err_t fail_item;    /* instead of S_JOB_ID, S_JOB_UID */
	spank_err_t fail_step;    /* instead of S_JOB_STEPID */
	spank_err_t fail_setenv;  /* instead of setting a variable */
	spank_err_t fail_control; /* instead of handing the option on */
	spank_err_t fail_register;

	struct spank_option option; /* that was registered */
	int call_count;             /* but for spank_context() */
	char control[600];          /* job control variable FAIRLEAD */
	struct fake_variable variables[FAKE_VARIABLES_MAX];
	int variable_count;
	char said[FAKE_TEXT_MAX]; /* all of slurm_error, slurm_spank_log */
};

/* The one that is played; tests change it. */
extern struct spank_handle *fake;

/* As of a new process; the caller's until the next call. */
void fake_begin(spank_context_t context);
/* What was set or unset last under a name, or NULL. */
const struct fake_variable *fake_variable(const char *name);
