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

#include "clients.h"
#include "elan.h"
#include "fabric.h"
#include "leader.h"
#include "node.h"
#include "oracle.h"

#define GRACE_EVERY 9 /* worlds */
#define TRIES_MAX   5

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

static void step_later(struct job *job, uint64_t delay_ms)
{
	struct sim_queue *queue = job->jobs->world->queue;

	sim_queue_cancel(queue, job->handle);
	job->handle = sim_queue_add(queue, delay_ms, on_step, job);
}

static void step_to(struct job *job, enum job_step step, uint64_t delay_ms)
{
	job->step = step;
	job->tries = 0;
	step_later(job, delay_ms);
}

static uint64_t pause_ms(struct job *job)
{
	return world_between(job->jobs->world, 50, 4000);
}

static void key_format(const struct job *job, char key[REQUEST_KEY_MAX + 1])
{
	snprintf(key, REQUEST_KEY_MAX + 1, "%s/%u", job->name, job->attempt);
}

static struct lane *lane_of(const struct job *job)
{
	char key[REQUEST_KEY_MAX + 1];

	key_format(job, key);
	return oracle_lane(job->jobs->world->oracle, key);
}

static void ask(struct job *job, const char *op, json_t *members_owned,
		client_answer_fn *done)
{
	job->calls++;
	client_ask(job->jobs->world->clients, job->who, op, members_owned,
		   false, done, job);
}

/* --- reserve --- */

static json_t *request_of(const struct job *job, uint32_t nodes, uint32_t uid)
{
	char key[REQUEST_KEY_MAX + 1];
	char text[WORLD_NODES_MAX * 4] = "";

	key_format(job, key);
	for (unsigned int i = 0; i < WORLD_NODES_MAX; i++) {
		if (nodes & 1u << i)
			sprintf(text + strlen(text), "%sn%u", *text ? "," : "",
				i);
	}
	return json_pack("{s:{s:s, s:i, s:i, s:s, s:i, s:i, s:s, s:s}}",
			 "request", "key", key, "uid", (int)uid, "gid",
			 (int)uid, "nodes", text, "cores", (int)job->cores,
			 "tasks", (int)job->tasks, "interconnect",
			 job->interconnect, "options", job->options);
}

static uint32_t draw_nodes(struct world *world)
{
	uint32_t all = (1u << world->node_count) - 1;
	uint32_t nodes = 0;

	while (nodes == 0)
		nodes = (uint32_t)world_below(world, all + 1);
	/* Smaller jobs are more. */
	if (world_percent(world, 40) && (nodes & (nodes - 1)) != 0)
		nodes &= nodes - 1;
	return nodes;
}

static void requeue(struct job *job)
{
	if (job->jobs->is_ending || world_percent(job->jobs->world, 30)) {
		step_to(job, STEP_RELEASE, pause_ms(job));
		return;
	}
	job->attempt++;
	job->grant_id = 0;
	job->nodes = draw_nodes(job->jobs->world);
	coverage_hit(job->jobs->world->coverage, "client:requeue");
	step_to(job, STEP_RESERVE, pause_ms(job));
}

/* The same key for something else; the manager has to refuse it. */
static void misuse_done(void *ctx, json_t *answer)
{
	struct world *world = ctx;
	int result = answer == NULL ? -ETIMEDOUT : answer_result(answer);

	if (result == 0)
		world_fail(world, "a key was given another grant: %s",
			   json_dumps(answer, JSON_COMPACT));
}

static void misuse(struct job *job)
{
	struct world *world = job->jobs->world;
	const struct lane *lane = lane_of(job);

	if (lane == NULL || lane->is_unsure || world->is_paused)
		return;
	coverage_hit(world->coverage, "client:key-misused");
	client_ask(world->clients, job->who, "reserve",
		   request_of(job, job->nodes, job->uid + 7), false,
		   misuse_done, world);
}

static void reserve_done(void *ctx, json_t *answer)
{
	struct job *job = ctx;
	struct world *world = job->jobs->world;
	int result = answer == NULL ? -ETIMEDOUT : answer_result(answer);

	job->calls--;
	job->is_waiting = false;
	switch (result) {
	case 0:
		job->grant_id = (uint64_t)json_integer_value(
			json_object_get(answer, "grant_id"));
		if (world_percent(world, 10)) {
			coverage_hit(world->coverage, "client:repeats");
			step_later(job, pause_ms(job));
			return;
		}
		if (world_percent(world, 8))
			misuse(job);
		if (world_percent(world, 5)) {
			coverage_hit(world->coverage, "client:cancels");
			step_to(job, STEP_RELEASE, pause_ms(job));
			return;
		}
		step_to(job, STEP_APPLY, pause_ms(job));
		return;
	case -EHOSTDOWN:
	case -ENOENT:
		job->nodes = draw_nodes(world);
		break;
	case -ESTALE:
	case -EEXIST:
		if (strncmp(answer_error(answer), "the manager", 11) != 0) {
			requeue(job);
			return;
		}
		break;
	case -EINVAL:
	case -E2BIG:
	case -EPERM:
		step_to(job, STEP_OVER, 0);
		return;
	default:
		break;
	}
	if (++job->tries > TRIES_MAX && !job->is_trial) {
		step_to(job, STEP_RELEASE, pause_ms(job));
		return;
	}
	step_later(job, world_between(world, 300, 8000));
}

static void reserve(struct job *job)
{
	job->is_waiting = true;
	ask(job, "reserve", request_of(job, job->nodes, job->uid),
	    reserve_done);
}

/* --- apply --- */

static void ignore(void *ctx, json_t *answer)
{
	struct job *job = ctx;

	job->calls--;
}

static void apply_done(void *ctx, json_t *answer)
{
	struct job *job = ctx;
	int result = answer == NULL ? -ETIMEDOUT : answer_result(answer);

	job->calls--;
	job->is_waiting = false;
	if (job->step != STEP_APPLY)
		return;
	switch (result) {
	case 0:
		step_to(job, STEP_RUN, 0);
		return;
	case -EREMOTEIO:
	case -EHOSTUNREACH:
	case -EINVAL:
	case -ENOENT:
	case -ECANCELED:
		requeue(job);
		return;
	case -ESTALE:
		if (strncmp(answer_error(answer), "the manager", 11) != 0) {
			requeue(job);
			return;
		}
		break;
	default:
		break;
	}
	if (++job->tries > TRIES_MAX && !job->is_trial) {
		step_to(job, STEP_RELEASE, pause_ms(job));
		return;
	}
	step_later(job, pause_ms(job));
}

static json_t *grant_member(const struct job *job)
{
	return json_pack("{s:I}", "grant_id", (json_int_t)job->grant_id);
}

static void apply(struct job *job)
{
	struct world *world = job->jobs->world;

	job->is_waiting = true;
	ask(job, "apply", grant_member(job), apply_done);
	if (world_percent(world, 8)) {
		coverage_hit(world->coverage, "client:applies-twice");
		ask(job, "apply", grant_member(job), ignore);
	}
	if (world_percent(world, 5) && !job->is_trial) {
		coverage_hit(world->coverage, "client:hurries");
		step_to(job, STEP_RELEASE, world_below(world, 30));
	}
}

/* --- run --- */

/* The owner gets in, and nobody else; some tasks stay too long. */
static void run_on(struct job *job, struct node *node, const struct lane *lane)
{
	struct world *world = job->jobs->world;
	const struct hardware_service *service =
		oracle_service_of(world->oracle, node, lane);
	int result;

	if (service == NULL || service->nic >= FABRIC_DEVICE)
		return;
	result = hardware_try(node_hardware(node), lane->uid, service->nic,
			      service->svc_id);
	if (result == -EPERM || result == -EKEYREVOKED)
		world_fail(world, "the owner of '%s' gets %s on %s", lane->key,
			   strerrorname_np(-result), node_name(node));
	result = hardware_try(node_hardware(node), lane->uid + 1, service->nic,
			      service->svc_id);
	if (result == 0)
		world_fail(world,
			   "NOBODY ELSE: another user is let into the lane "
			   "of '%s'",
			   lane->key);
	if (result == -EPERM)
		coverage_hit(world->coverage, "check:owner-only");
	if (world_has_fault(world, FAULT_NIC) && !world->is_calm &&
	    world_percent(world, 8) &&
	    hardware_hold(node_hardware(node), lane->uid, service->nic,
			  service->svc_id) == 0)
		coverage_hit(world->coverage, "fault:lni-held");
}

static void look_done(void *ctx, struct node *node, json_t *answer)
{
	struct job *job = ctx;

	job->calls--;
	if (answer != NULL && answer_result(answer) == 0)
		coverage_hit(job->jobs->world->coverage, "node:looked");
}

/* What a prolog does, and the tasks. */
static void look_on(struct job *job, struct node *node)
{
	json_t *by_name = json_pack("{s:s}", "job", job->name);

	job->calls += 2;
	node_ask(node, 0, "prolog", json_incref(by_name), look_done, job);
	node_ask(node, job->uid, "env", by_name, look_done, job);
}

static void run(struct job *job)
{
	struct world *world = job->jobs->world;
	const struct lane *lane = lane_of(job);
	uint64_t duration_ms = job->jobs->is_ending
				       ? pause_ms(job)
				       : world_between(world, 500, 40000);

	for (unsigned int i = 0; lane != NULL && i < world->node_count; i++) {
		if (!(job->nodes & 1u << i))
			continue;
		run_on(job, world->nodes[i], lane);
		if (world_percent(world, 20))
			look_on(job, world->nodes[i]);
	}
	if (world_percent(world, 5) && !job->is_trial) {
		coverage_hit(world->coverage, "client:forgets");
		job->is_forgotten = true;
		if (!job->jobs->is_ending)
			return;
	}
	step_to(job, job->who == CLIENT_FLUX ? STEP_EPILOG : STEP_RELEASE,
		duration_ms);
}

/* The tasks end; sooner or later. */
static void on_end_of_tasks(struct job *job)
{
	struct world *world = job->jobs->world;

	for (unsigned int i = 0; i < world->node_count; i++) {
		if ((job->nodes & 1u << i) &&
		    (world->is_calm || world_percent(world, 50)))
			hardware_let_go(node_hardware(world->nodes[i]),
					job->uid);
	}
}

/* --- on the nodes --- */

static void local_done(void *ctx, struct node *node, json_t *answer)
{
	struct job *job = ctx;

	if (--job->asked > 0)
		return;
	job->is_waiting = false;
	step_to(job, job->step == STEP_EPILOG ? STEP_RELEASE : STEP_OVER,
		pause_ms(job));
}

static void ask_nodes(struct job *job, const char *op)
{
	struct world *world = job->jobs->world;

	job->is_waiting = true;
	job->asked = 1;
	for (unsigned int i = 0; i < world->node_count; i++) {
		struct node *node = world->nodes[i];

		if (!(job->nodes & 1u << i) || world_percent(world, 10))
			continue;
		node_expect_revoke(node, job->name);
		job->asked++;
		node_ask(node, 0, op,
			 json_pack("{s:s, s:i}", "job", job->name, "timeout_ms",
				   (int)world_below(world, 8000)),
			 local_done, job);
	}
	/* The first one stands for ourselves. */
	if (job->asked == 1) {
		job->is_waiting = false;
		step_to(job,
			job->step == STEP_EPILOG ? STEP_RELEASE : STEP_OVER,
			pause_ms(job));
	} else {
		job->asked--;
	}
}

/* --- release --- */

static void release_done(void *ctx, json_t *answer)
{
	struct job *job = ctx;
	struct world *world = job->jobs->world;
	int result = answer == NULL ? -ETIMEDOUT : answer_result(answer);

	job->calls--;
	job->is_waiting = false;
	if (job->step != STEP_RELEASE)
		return;
	if (result == 0 || result == -ENOENT) {
		if (world_percent(world, 8) && result == 0)
			misuse(job);
		step_to(job,
			job->who == CLIENT_FLUX && world_percent(world, 40)
				? STEP_HOUSEKEEPING
				: STEP_OVER,
			pause_ms(job));
		return;
	}
	step_later(job, pause_ms(job));
}

static json_t *selection(const struct job *job)
{
	struct world *world = job->jobs->world;
	char key[REQUEST_KEY_MAX + 1];

	key_format(job, key);
	if (job->attempt > 0 || job->grant_id == 0 || job->is_forgotten ||
	    job->tries > 0 || world_percent(world, 30))
		return json_pack("{s:s}", "job", job->name);
	if (world_percent(world, 50))
		return json_pack("{s:s}", "key", key);
	return grant_member(job);
}

/*
 * In some worlds nodes may have time to take the lane back by themselves. The
 * others draw nothing for it, so that they are what they were.
 */
static json_t *release_members(const struct job *job)
{
	struct world *world = job->jobs->world;
	json_t *members = selection(job);

	if (world->options.seed % GRACE_EVERY == 0 && world_percent(world, 50))
		json_object_set_new(members, "grace",
				    json_integer(world_below(world, 40)));
	return members;
}

static void release(struct job *job)
{
	struct world *world = job->jobs->world;

	on_end_of_tasks(job);
	job->is_waiting = true;
	ask(job, "release", release_members(job), release_done);
	job->tries++;
	if (world_percent(world, 8)) {
		coverage_hit(world->coverage, "client:releases-twice");
		ask(job, "release", selection(job), ignore);
	}
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
				   grant_member(job), true, refused_done,
				   world);
		break;
	case 1:
		/* Of what is released long ago no owner is remembered. */
		if (job->grant_id > 0)
			client_ask(world->clients, who, "release",
				   grant_member(job), true, NULL, NULL);
		break;
	case 2:
		client_ask(world->clients, who, "reserve",
			   request_of(job, job->nodes, job->uid), true,
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
		step_later(job, 1000);
		return;
	}
	if (world_percent(world, 3) && !job->is_trial)
		trespass(job);
	switch (job->step) {
	case STEP_RESERVE:
		reserve(job);
		break;
	case STEP_APPLY:
		apply(job);
		break;
	case STEP_RUN:
		run(job);
		break;
	case STEP_EPILOG:
		ask_nodes(job, "epilog");
		break;
	case STEP_RELEASE:
		release(job);
		break;
	case STEP_HOUSEKEEPING:
		ask_nodes(job, "housekeeping");
		break;
	case STEP_OVER:
		if (job->calls > 0)
			step_later(job, 1000);
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
	job->nodes = draw_nodes(world);
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
	DL_APPEND(jobs->list, job);
	return job;
}

/* Requests that are wrong in themselves. */
static void ask_nonsense(struct jobs *jobs)
{
	struct world *world = jobs->world;
	json_t *request = NULL;

	coverage_hit(world->coverage, "client:asks-nonsense");
	switch (world_below(world, 6)) {
	case 0:
		request = json_pack("{s:{s:s, s:i, s:i, s:s}}", "request",
				    "key", "slurm/X/0", "uid", 1, "gid", 1,
				    "nodes", "n99");
		break;
	case 1:
		request = json_pack("{s:{s:s, s:i, s:i, s:s}}", "request",
				    "key", "slurm/X Y/0", "uid", 1, "gid", 1,
				    "nodes", "n0");
		break;
	case 2:
		request = json_pack("{s:{s:s, s:i, s:i, s:s}}", "request",
				    "key", "slurm/X/0", "uid", 1, "gid", 1,
				    "nodes", "n0,n0");
		break;
	case 3:
		request = json_pack("{s:{s:s, s:i, s:i, s:s, s:s}}", "request",
				    "key", "slurm/X/0", "uid", 1, "gid", 1,
				    "nodes", "n0", "interconnect", "myrinet");
		break;
	case 4:
		request = json_pack("{s:{s:s, s:i, s:i, s:s, s:i}}", "request",
				    "key", "slurm/X/0", "uid", 1, "gid", 1,
				    "nodes", "n0", "cores", 0);
		break;
	default:
		request = json_pack("{s:{s:s, s:i, s:i, s:s, s:i}}", "request",
				    "key", "slurm/X/0", "uid", 1, "gid", 1,
				    "nodes", "n0", "colour", 3);
		break;
	}
	client_ask(world->clients, CLIENT_SLURM, "reserve", request, true,
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
	step_to(job_create(jobs), STEP_RESERVE, 0);
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
			step_to(job, STEP_RELEASE, pause_ms(job));
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
	step_to(job, STEP_RESERVE, 0);
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
