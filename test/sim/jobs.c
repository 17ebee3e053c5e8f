/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two job managers and their jobs: reserve, apply, run, release, in the way of
 * programs that retry what was lost, requeue what failed, and now and then
 * forget, repeat, hurry, or ask for what they may not.
 *
 * Every step waits a little before the next one, so that nothing is asked from
 * within an answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "elan.h"
#include "fmsim.h"
#include "jobs_internal.h"

static const struct {
	const char *name;
	bool is_valid;
} option_list[] = {
	{ "", true },
	{ "vnis=1", true },
	{ "vnis=2", true },
	{ "vnis=4", true },
	{ "vnis=2,tcs=BEST_EFFORT", true },
	{ "vnis=0", true },
	{ "off", true },
	{ "vnis=5", false },
	{ "nonsense=1", false },
};

static void on_step(void *ctx);

void job_step_later(struct job *job, uint64_t delay_ms)
{
	struct sim_queue *queue = job->jobs->world->queue;

	sim_queue_cancel(queue, job->handle);
	job->handle = sim_queue_add(queue, delay_ms, on_step, job);
}

void job_step_to(struct job *job, enum job_step step, uint64_t delay_ms)
{
	job->step = step;
	job->tries = 0;
	job_step_later(job, delay_ms);
}

uint64_t job_pause_ms(struct job *job)
{
	return world_between(job->jobs->world, 50, 4000);
}

/* --- what they may not --- */

static void refused_done(void *ctx, json_t *answer)
{
	struct world *world = ctx;

	if (answer != NULL && answer_result(answer) == 0)
		world_fail(world, "what is not permitted is done: %s",
			   json_dumps(answer, JSON_COMPACT));
}

static void trespass(struct job *job)
{
	struct world *world = job->jobs->world;
	enum client_who who =
		job->who == CLIENT_SLURM ? CLIENT_FLUX : CLIENT_SLURM;

	if (world_percent(world, 25))
		who = CLIENT_USER;
	coverage_hit(world->coverage, "client:trespasses");
	switch (world_below(world, 4)) {
	case 0:
		if (job->grant_id > 0)
			client_ask(world->clients, who, "apply",
				   job_grant_member(job), true, refused_done,
				   world);
		break;
	case 1:
		/* Of what is released long ago no owner is remembered. */
		if (job->grant_id > 0)
			client_ask(world->clients, who, "release",
				   job_grant_member(job), true, NULL, NULL);
		break;
	case 2:
		client_ask(world->clients, who, "reserve",
			   job_request(job, job->nodes, job->uid), true,
			   refused_done, world);
		break;
	default:
		client_ask(world->clients, who, "apply",
			   json_pack("{s:i}", "grant_id", 999999999), true,
			   refused_done, world);
		client_ask(world->clients, CLIENT_SLURM, "release",
			   json_pack("{s:s}", "key", "slurm/none/9"), true,
			   refused_done, world);
		break;
	}
}

/* --- the life of a job --- */

static void over(struct job *job)
{
	if (job->ret_done != NULL)
		*job->ret_done = true;
	DL_DELETE(job->jobs->list, job);
	free(job);
}

static void on_step(void *ctx)
{
	struct job *job = ctx;
	struct world *world = job->jobs->world;

	job->handle = 0;
	if (world->is_paused) {
		job_step_later(job, 1000);
		return;
	}
	if (world_percent(world, 3) && !job->is_trial)
		trespass(job);
	switch (job->step) {
	case STEP_RESERVE:
		job_reserve(job);
		break;
	case STEP_APPLY:
		job_apply(job);
		break;
	case STEP_RUN:
		job_run(job);
		break;
	case STEP_EPILOG:
		job_ask_nodes(job, "epilog");
		break;
	case STEP_RELEASE:
		job_release(job);
		break;
	case STEP_HOUSEKEEPING:
		job_ask_nodes(job, "housekeeping");
		break;
	case STEP_OVER:
		if (job->calls > 0)
			job_step_later(job, 1000);
		else
			over(job);
		break;
	}
}

/* Some of these cannot be had, and the job is over then. */
static void elan_job_draw(struct job *job)
{
	static const char *const options[] = {
		"",           "layout=cyclic", "contexts=3", "contiguous",
		"contexts=1", "rails=1",       "off",
	};
	struct world *world = job->jobs->world;

	strcpy(job->interconnect, "elan3");
	strcpy(job->options,
	       options[world_below(world,
				   sizeof(options) / sizeof(options[0]))]);
	job->tasks = 1 + (unsigned int)world_below(world, ELAN_TASKS_MAX);
}

/* The same of trees; what has been drawn for the job is not used. */
static void tree_job_draw(struct job *job)
{
	static const char *const options[] = {
		"trees", "trees", "trees,must", "trees,must", "trees,many",
	};

	strcpy(job->interconnect, "fabric");
	strcpy(job->options,
	       options[world_below(job->jobs->world,
				   sizeof(options) / sizeof(options[0]))]);
}

static struct job *job_create(struct jobs *jobs)
{
	struct world *world = jobs->world;
	struct job *job = world_allocate(sizeof(*job));
	size_t count = sizeof(option_list) / sizeof(option_list[0]);

	job->jobs = jobs;
	job->who = world_percent(world, 50) ? CLIENT_SLURM : CLIENT_FLUX;
	snprintf(job->name, sizeof(job->name), "%s/J%u", client_name(job->who),
		 ++jobs->count);
	job->uid = 1000 + (uint32_t)world_below(world, 3) * 100;
	job->nodes = job_draw_nodes(world);
	job->cores = 1 + (unsigned int)world_below(world, 8);
	job->tasks = 1;
	strcpy(job->interconnect, "slingshot");
	strcpy(job->options, option_list[world_below(world, count)].name);
	if (world_percent(world, 20)) {
		strcpy(job->interconnect, "fabric");
		strcpy(job->options, "");
	} else if (world_percent(world, 3)) {
		strcpy(job->interconnect, "none");
		strcpy(job->options, "");
	}
	if (elan_is_there(world) && world_percent(world, 40))
		elan_job_draw(job);
	else if (fmsim_is_there(world) && world_percent(world, 40))
		tree_job_draw(job);
	DL_APPEND(jobs->list, job);
	return job;
}

/* Requests that are wrong in themselves. */
static void ask_nonsense(struct jobs *jobs)
{
	static const char *const wrong[] = {
		"{\"nodes\": \"n99\"}",   "{\"key\": \"slurm/X Y/0\"}",
		"{\"nodes\": \"n0,n0\"}", "{\"interconnect\": \"myrinet\"}",
		"{\"cores\": 0}",         "{\"colour\": 3}",
	};
	struct world *world = jobs->world;
	json_t *members =
		json_pack("{s:{s:s, s:i, s:i, s:s}}", "request", "key",
			  "slurm/X/0", "uid", 1, "gid", 1, "nodes", "n0");
	const char *text =
		wrong[world_below(world, sizeof(wrong) / sizeof(wrong[0]))];

	coverage_hit(world->coverage, "client:asks-nonsense");
	json_object_update_new(json_object_get(members, "request"),
			       json_loads(text, 0, NULL));
	client_ask(world->clients, CLIENT_SLURM, "reserve", members, true,
		   refused_done, world);
}

static void on_arrival(void *ctx)
{
	struct jobs *jobs = ctx;
	struct world *world = jobs->world;

	jobs->handle = 0;
	if (jobs->left == 0 || jobs->is_ending)
		return;
	jobs->left--;
	if (world_percent(world, 4))
		ask_nonsense(jobs);
	if (world_percent(world, 3))
		client_babble(world->clients, (enum client_who)world_below(
						      world, CLIENT_COUNT));
	if (world_percent(world, 2))
		client_restart(world->clients, (enum client_who)world_below(
						       world, CLIENT_COUNT));
	job_step_to(job_create(jobs), STEP_RESERVE, 0);
	jobs->handle = sim_queue_add(world->queue, world_below(world, 4000),
				     on_arrival, jobs);
}

struct jobs *jobs_create(struct world *world, unsigned int count)
{
	struct jobs *jobs = world_allocate(sizeof(*jobs));

	jobs->world = world;
	jobs->left = count;
	jobs->handle = sim_queue_add(world->queue, 1000, on_arrival, jobs);
	return jobs;
}

bool jobs_are_begun(const struct jobs *jobs)
{
	return jobs->left == 0;
}

bool jobs_are_over(const struct jobs *jobs)
{
	return jobs->list == NULL;
}

void jobs_end(struct jobs *jobs)
{
	struct job *job;

	jobs->is_ending = true;
	DL_FOREACH (jobs->list, job) {
		if (job->is_waiting)
			continue;
		if (job->step < STEP_EPILOG)
			job_step_to(job, STEP_RELEASE, job_pause_ms(job));
	}
}

void jobs_try(struct jobs *jobs, bool *is_done)
{
	struct job *job = job_create(jobs);

	job->is_trial = true;
	job->ret_done = is_done;
	job->nodes = (1u << jobs->world->node_count) - 1;
	strcpy(job->interconnect, "slingshot");
	strcpy(job->options, "vnis=2");
	job->tasks = 1;
	job_step_to(job, STEP_RESERVE, 0);
}

void jobs_destroy(struct jobs *jobs)
{
	struct job *job, *next;

	if (jobs == NULL)
		return;
	sim_queue_cancel(jobs->world->queue, jobs->handle);
	DL_FOREACH_SAFE (jobs->list, job, next) {
		sim_queue_cancel(jobs->world->queue, job->handle);
		free(job);
	}
	free(jobs);
}
