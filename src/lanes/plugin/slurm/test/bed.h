/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin as Slurm loads it, in a process that plays Slurm's, and a real
 * folder of jobs' files. What does not hold fails the test.
 */
#pragma once

#include <sys/types.h>

#include "lanes/plugin/slurm/test/slurm.h"

#define ARGUMENTS_MAX 4

extern const char *plugin_path; /* main() sets it */

/* A plugin in a process of Slurm's, and the folder of jobs' files. */
struct bed {
	void *plugin;
	char jobs[32];
	char argument[64]; /* jobs_dir= */
	char *arguments[ARGUMENTS_MAX];
	int argument_count;
};

/* For cmocka. */
int bed_make(void **state);
int bed_destroy(void **state);

/* A new process of Slurm's: of job 17, this user's. */
void bed_start(struct bed *bed, spank_context_t context);
/* One more in plugstack.conf; the text is borrowed. */
void add_argument(struct bed *bed, const char *text);
/* The first attempt's of slurm/JOB. */
void write_file(const struct bed *bed, const char *job, const char *contents,
		mode_t mode);

/* What the plugin's hook, or its option's callback, returns. */
int hook(struct bed *bed, const char *name);
int give_option(const char *text, int is_remote);

/* A step on this node, up to its tasks. option NULL: none. */
void step_begin(struct bed *bed, const char *option);
/* Exit code of a task, or that its program runs. */
#define TASK_RUNS 256
int task(struct bed *bed, int number);

void expect_said(const char *part);
/* value NULL: it was unset. */
void expect_variable(const char *name, const char *value);
