/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a job was promised a lane, and what becomes of a step's tasks. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fairlead/error.h"
#include "lanes/plugin/common/job_options.h"

struct lane_intent {
	enum lane_expectation expectation;
	/*
	 * These tasks are to have none, whatever their job has: the variables
	 * of its lane, which they may have inherited, are unset.
	 */
	bool is_refused;
};

/*
 * option: the user's, a good one, or NULL; otherwise: what holds without one.
 * An option asks for a lane, unless it says that there is to be none; where
 * lanes are given as long as there are any, it gets one likewise.
 */
struct lane_intent lane_intent(const char *option,
			       enum lane_expectation otherwise);

enum lane_verdict {
	LANE_GO,
	LANE_WARN, /* the tasks go on, with a message to the user */
	LANE_FAIL, /* no task runs, with a message to the user */
};

/*
 * result: of fairlead_env_read(). What is missing is judged by the intent. What
 * is there and is damaged, of another owner, or may be somebody's forgery never
 * lets a task run, whatever it asked for.
 */
enum lane_verdict lane_judge(const struct lane_intent *intent, int result);

/* Bytes of lane_explain()'s text, with its zero. */
#define LANE_TEXT_MAX (FAIRLEAD_ERROR_TEXT_MAX + 256)

/*
 * The message to the user after LANE_WARN or LANE_FAIL, and what to do: one
 * line. job: SUBMITTER/ID; option as above; error: of fairlead_env_read().
 */
void lane_explain(enum lane_verdict verdict, const char *job,
		  const char *option, const struct fairlead_error *error,
		  char ret_text[LANE_TEXT_MAX]);

/*
 * The job id under which the file is, where it is not under the step's own: a
 * component of a heterogeneous job has its leader's, which the tasks have as
 * SLURM_JOB_ID. text: that, or NULL. 0: there is none.
 */
uint32_t lane_leader(const char *text, uint32_t id);
