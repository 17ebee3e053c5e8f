/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the job managers' jobs share. */
#pragma once

#include "clients.h"

enum job_step {
	STEP_RESERVE,
	STEP_APPLY,
	STEP_RUN,
	STEP_EPILOG,
	STEP_RELEASE,
	STEP_HOUSEKEEPING,
	STEP_OVER,
};

struct job {
	struct jobs *jobs;
	enum client_who who;
	char name[40]; /* SUBMITTER/JOB */
	unsigned int attempt;
	unsigned int tries;
	uint32_t uid;
	uint32_t nodes;
	char interconnect[16];
	char options[64];
	unsigned int cores, tasks;
	uint64_t grant_id;
	enum job_step step;
	bool is_waiting;    /* for an answer */
	unsigned int calls; /* answers that will be given to it */
	bool is_forgotten;  /* until the end */
	bool is_trial;
	bool *ret_done;
	unsigned int asked; /* local answers that are awaited */
	uint64_t handle;
	struct job *prev, *next;
};

struct jobs {
	struct world *world;
	struct job *list;
	unsigned int left;
	unsigned int count;
	uint64_t handle;
	bool is_ending;
};

/* Its next step begins after so long; the step to which it goes is a new one. */
void job_step_later(struct job *job, uint64_t delay_ms);
void job_step_to(struct job *job, enum job_step step, uint64_t delay_ms);
/* Between two of them. */
uint64_t job_pause_ms(struct job *job);

/* --- what a step does: jobs_steps.c --- */

void job_reserve(struct job *job);
void job_apply(struct job *job);
void job_run(struct job *job);
/* "epilog" or "housekeeping", of some of its nodes. */
void job_ask_nodes(struct job *job, const char *op);
void job_release(struct job *job);

/* Members of requests, and the nodes of the next attempt. */
json_t *job_request(const struct job *job, uint32_t nodes, uint32_t uid);
json_t *job_grant_member(const struct job *job);
uint32_t job_draw_nodes(struct world *world);
