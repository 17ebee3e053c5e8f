/* SPDX-License-Identifier: BSD-3-Clause */
/* What a job does at each of its steps, and what becomes of the answers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "jobs_internal.h"
#include "node.h"
#include "oracle.h"

#define GRACE_EVERY 9 /* worlds */
#define TRIES_MAX   5

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

json_t *job_request(const struct job *job, uint32_t nodes, uint32_t uid)
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

uint32_t job_draw_nodes(struct world *world)
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
		job_step_to(job, STEP_RELEASE, job_pause_ms(job));
		return;
	}
	job->attempt++;
	job->grant_id = 0;
	job->nodes = job_draw_nodes(job->jobs->world);
	coverage_hit(job->jobs->world->coverage, "client:requeue");
	job_step_to(job, STEP_RESERVE, job_pause_ms(job));
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
		   job_request(job, job->nodes, job->uid + 7), false,
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
			job_step_later(job, job_pause_ms(job));
			return;
		}
		if (world_percent(world, 8))
			misuse(job);
		if (world_percent(world, 5)) {
			coverage_hit(world->coverage, "client:cancels");
			job_step_to(job, STEP_RELEASE, job_pause_ms(job));
			return;
		}
		job_step_to(job, STEP_APPLY, job_pause_ms(job));
		return;
	case -EHOSTDOWN:
	case -ENOENT:
		job->nodes = job_draw_nodes(world);
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
		job_step_to(job, STEP_OVER, 0);
		return;
	default:
		break;
	}
	if (++job->tries > TRIES_MAX && !job->is_trial) {
		job_step_to(job, STEP_RELEASE, job_pause_ms(job));
		return;
	}
	job_step_later(job, world_between(world, 300, 8000));
}

void job_reserve(struct job *job)
{
	job->is_waiting = true;
	ask(job, "reserve", job_request(job, job->nodes, job->uid),
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
		job_step_to(job, STEP_RUN, 0);
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
		job_step_to(job, STEP_RELEASE, job_pause_ms(job));
		return;
	}
	job_step_later(job, job_pause_ms(job));
}

json_t *job_grant_member(const struct job *job)
{
	return json_pack("{s:I}", "grant_id", (json_int_t)job->grant_id);
}

void job_apply(struct job *job)
{
	struct world *world = job->jobs->world;

	job->is_waiting = true;
	ask(job, "apply", job_grant_member(job), apply_done);
	if (world_percent(world, 8)) {
		coverage_hit(world->coverage, "client:applies-twice");
		ask(job, "apply", job_grant_member(job), ignore);
	}
	if (world_percent(world, 5) && !job->is_trial) {
		coverage_hit(world->coverage, "client:hurries");
		job_step_to(job, STEP_RELEASE, world_below(world, 30));
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

void job_run(struct job *job)
{
	struct world *world = job->jobs->world;
	const struct lane *lane = lane_of(job);
	uint64_t duration_ms = job->jobs->is_ending
				       ? job_pause_ms(job)
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
	job_step_to(job, job->who == CLIENT_FLUX ? STEP_EPILOG : STEP_RELEASE,
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
	job_step_to(job, job->step == STEP_EPILOG ? STEP_RELEASE : STEP_OVER,
		    job_pause_ms(job));
}

void job_ask_nodes(struct job *job, const char *op)
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
		job_step_to(job,
			    job->step == STEP_EPILOG ? STEP_RELEASE : STEP_OVER,
			    job_pause_ms(job));
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
		job_step_to(job,
			    job->who == CLIENT_FLUX && world_percent(world, 40)
				    ? STEP_HOUSEKEEPING
				    : STEP_OVER,
			    job_pause_ms(job));
		return;
	}
	job_step_later(job, job_pause_ms(job));
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
	return job_grant_member(job);
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

void job_release(struct job *job)
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
