/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reserve the job's lane and have it made on every node, or on none. Slurm runs
 * this again for the same start of the job when it was killed meanwhile, so
 * both are asked for in a way that may be asked twice.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/cli/output.h"
#include "lanes/cli/slurm/components.h"
#include "lanes/cli/slurm/hook.h"
#include "lanes/cli/slurm/slurm.h"
#include "lanes/driver/driver.h"

#define LEADER_TRIES   300
#define LEADER_STEP_MS 100
#define LEADER_LOOK    10  /* steps to a question to Slurm; doubled by each */
#define YOUNG_S        30  /* a manager whose nodes are still coming back */
#define PAUSE_MS       500 /* before the next try then */

/* --- nodes --- */

/* All of the manager's, as an array; NULL: it does not say. */
static json_t *list_nodes(struct slurm_hook *hook)
{
	json_auto_t *answer = NULL;

	/* A refusal may also be that there is no manager. */
	if (!hook->handle || remote_call(hook->cli, hook->handle, "node-list",
					 NULL, &answer) != EXIT_DONE)
		return NULL;
	return json_incref(json_object_get(answer, "nodes"));
}

/* Those of the job that are drained here, or that are none of the manager's. */
static char *unfit_nodes(struct slurm_hook *hook, const char *nodes)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	_auto_(freep) const char **unfit = NULL;
	json_auto_t *known = list_nodes(hook);
	json_auto_t *drained = json_object();
	const json_t *node;
	size_t i, count = 0;

	if (!known || hostlist_parse(nodes, &list, NULL) < 0)
		return NULL;
	json_array_foreach (known, i, node)
		json_object_set(drained, output_text(node, "name"),
				json_object_get(node, "drained"));
	unfit = memory_array(list->count, sizeof(*unfit));
	for (i = 0; i < list->count; i++)
		if (!json_is_false(json_object_get(drained, list->names[i])))
			unfit[count++] = list->names[i];
	return count > 0 ? hostlist_format(unfit, count) : NULL;
}

static void drain_unfit(struct slurm_hook *hook, const char *nodes,
			const char *reason)
{
	_auto_(freep) char *unfit = unfit_nodes(hook, nodes);

	if (unfit)
		slurm_drain(hook, unfit, reason);
}

/* With no node at all connected, it is the manager that is cut off. */
static bool is_cut_off(struct slurm_hook *hook)
{
	json_auto_t *known = list_nodes(hook);
	const json_t *node;
	size_t i;

	json_array_foreach (known, i, node)
		if (strcmp(output_text(node, "state"), "up") == 0)
			return false;
	return known != NULL;
}

/*
 * A node that is full is none that has failed: it serves the jobs it has. One
 * that was started again meanwhile has taken its part back, and takes the next;
 * the third time running that is another error.
 */
static void drain_failed(struct slurm_hook *hook, const json_t *failures)
{
	const json_t *failure;
	size_t i;

	json_array_foreach (failures, i, failure) {
		json_int_t result = output_number(failure, "errno");

		if (result == -ENOSPC || result == -ESTALE ||
		    (result == -EHOSTUNREACH && is_cut_off(hook)))
			continue;
		slurm_drain(hook, output_text(failure, "nodes"),
			    output_text(failure, "text"));
	}
}

/* --- reserve --- */

static json_t *make_request(const struct slurm_hook *hook, const char *nodes,
			    const char *cores, uint32_t attempt)
{
	const struct slurm_job *job = &hook->job;
	char key[SLURM_JOB_NAME_MAX + 16];

	snprintf(key, sizeof(key), "%s/%" PRIu32, hook->name, attempt);
	return json_pack("{s:{s:s, s:I, s:I, s:s, s:s, s:s, s:s*, s:s*}}",
			 "request", "key", key, "uid", (json_int_t)job->uid,
			 "gid", (json_int_t)job->gid, "nodes", nodes, "cores",
			 cores, "tasks", cores, "interconnect",
			 *job->interconnect ? job->interconnect : NULL,
			 "options", *job->options ? job->options : NULL);
}

static int reserve_refused(struct slurm_hook *hook, int result, bool is_answer,
			   const char *nodes,
			   const struct fairlead_error *error)
{
	slurm_hook_fail(hook, "%s", error->text);
	if (result == -EHOSTDOWN || result == -ENOENT)
		drain_unfit(hook, nodes, error->text);
	slurm_comment(hook, error->text);
	/* A request that is wrong is wrong the next time, too. */
	if (result == -EINVAL && is_answer)
		slurm_refuse(hook);
	return EXIT_FAILED;
}

/* What nobody would start a task in is given back, and not asked for again. */
static int check_launch(struct slurm_hook *hook, const json_t *answer)
{
	const json_t *public = json_object_get(answer, "public");
	json_auto_t *released = NULL;
	struct fairlead_error error, ignored;

	if (!json_is_true(json_object_get(public, "has_lane")) ||
	    driver_check_launch(output_text(public, "interconnect"),
				output_text(public, "options"), "Slurm",
				&error) == 0)
		return EXIT_DONE;
	slurm_hook_fail(hook, "%s", error.text);
	slurm_hook_ask(hook, "release",
		       json_pack("{s:I}", "grant_id",
				 output_number(answer, "grant_id")),
		       &released, &ignored);
	slurm_comment(hook, error.text);
	slurm_refuse(hook);
	return EXIT_FAILED;
}

static int reserve(struct slurm_hook *hook, const char *nodes,
		   const char *cores, json_int_t *ret_grant_id)
{
	struct fairlead_error error = { 0 };
	bool is_answer = false;
	int code = EXIT_DONE;
	int result = -ESTALE;

	for (uint32_t i = 0; i < SLURM_ATTEMPT_TRIES &&
			     (result == -ESTALE || result == -EEXIST);
	     i++) {
		json_auto_t *answer = NULL;

		result = slurm_hook_ask(
			hook, "reserve",
			make_request(hook, nodes, cores,
				     hook->job.restart_count +
					     i * SLURM_ATTEMPT_STEP),
			&answer, &error);
		is_answer = answer;
		if (result == 0) {
			*ret_grant_id = output_number(answer, "grant_id");
			code = check_launch(hook, answer);
		}
	}
	return result == 0 ? code
			   : reserve_refused(hook, result, is_answer, nodes,
					     &error);
}

/* --- apply --- */

/* All that failed are nodes that may only not have come back to a manager. */
static bool may_come_back(const json_t *failures)
{
	const json_t *failure;
	size_t i;

	json_array_foreach (failures, i, failure) {
		if (output_number(failure, "errno") != -EHOSTUNREACH)
			return false;
	}
	return json_array_size(failures) > 0;
}

/* No node has failed: who was killed while they made it undid it at its start. */
static bool was_undone(int result, const json_t *failures)
{
	return result == -ESTALE && json_array_size(failures) == 0;
}

/* It was started a moment ago: nodes register again, one by one. */
static bool is_manager_young(struct slurm_hook *hook)
{
	json_auto_t *answer = NULL;
	struct fairlead_error error;

	return slurm_hook_ask(hook, "status", json_object(), &answer, &error) ==
		       0 &&
	       output_number(answer, "uptime_s") < YOUNG_S;
}

static int apply(struct slurm_hook *hook, json_int_t grant_id,
		 bool *ret_is_too_early)
{
	json_auto_t *answer = NULL;
	struct fairlead_error error;
	const json_t *failures, *warning, *warnings;
	size_t i;
	int result = slurm_hook_ask(hook, "apply",
				    json_pack("{s:I}", "grant_id", grant_id),
				    &answer, &error);

	warnings = json_object_get(answer, "warnings");
	json_array_foreach (warnings, i, warning)
		output_lines(hook->cli, output_text(warning, "nodes"),
			     output_text(warning, "text"));
	if (result == 0) {
		/* The user reads no log. */
		if (json_array_size(warnings) > 0)
			slurm_comment(hook,
				      output_text(json_array_get(warnings, 0),
						  "text"));
		return EXIT_DONE;
	}
	failures = json_object_get(answer, "failures");
	*ret_is_too_early =
		(may_come_back(failures) || was_undone(result, failures)) &&
		is_manager_young(hook);
	if (*ret_is_too_early)
		return EXIT_LATER;
	slurm_hook_fail(hook, "%s", error.text);
	if (hook->job.id == hook->job.leader)
		drain_failed(hook, failures);
	slurm_comment(hook, error.text);
	return EXIT_FAILED;
}

/* --- heterogeneous jobs --- */

/* The leader's: nodes and cores of all components. */
static int reserve_all(struct slurm_hook *hook, json_int_t *ret_grant_id)
{
	_auto_(components_destroyp) struct components *components = NULL;
	_auto_(freep) char *nodes = NULL;
	_auto_(freep) char *cores = NULL;
	struct fairlead_error error;
	int code = slurm_components(hook, &components);

	if (code == EXIT_DONE &&
	    components_join(components, &nodes, &cores, &error) < 0)
		code = slurm_hook_fail(hook, "%s", error.text);
	if (code == EXIT_DONE && hook->job.all_nodes &&
	    hostlist_count(nodes) != hostlist_count(hook->job.all_nodes))
		code = slurm_hook_fail(hook,
				       "the components of the job are on %s, "
				       "and Slurm says %s",
				       nodes, hook->job.all_nodes);
	return code == EXIT_DONE ? reserve(hook, nodes, cores, ret_grant_id)
				 : code;
}

/* The grant that the leader's hook has reserved for this start of the job. */
static json_int_t live_grant(const struct slurm_hook *hook,
			     const json_t *grants)
{
	json_int_t found = 0;
	const json_t *grant;
	size_t i;

	json_array_foreach (grants, i, grant) {
		const char *attempt = strrchr(output_text(grant, "key"), '/');
		unsigned long number =
			attempt ? strtoul(attempt + 1, NULL, 10) : 0;

		if (output_is_live(grant) &&
		    number % SLURM_ATTEMPT_STEP ==
			    hook->job.restart_count % SLURM_ATTEMPT_STEP)
			found = output_number(grant, "grant_id");
	}
	return found;
}

/* Its hook has ended well: what it has not reserved, nobody will. */
static bool leader_is_running(struct slurm_hook *hook)
{
	_auto_(components_destroyp) struct components *components = NULL;

	return slurm_components(hook, &components) == EXIT_DONE &&
	       components_is_running(components, hook->job.leader);
}

/*
 * The leader may have asked for none. That is so at each start of the job, and
 * this one's tasks would fail without a lane.
 */
static int leader_has_none(struct slurm_hook *hook)
{
	struct fairlead_error error;

	if (hook->expectation == LANE_MAY)
		return EXIT_DONE;
	error_set(&error, -ENODATA,
		  "a heterogeneous job has the lane that its first component "
		  "asks for, and that one, %" PRIu32 ", asks for none: give "
		  "--fairlead to it too, or --fairlead=off to the others",
		  hook->job.leader);
	slurm_comment(hook, error.text);
	slurm_refuse(hook);
	return slurm_hook_fail(hook, "%s", error.text);
}

static int await_leader(struct slurm_hook *hook, json_int_t *ret_grant_id)
{
	const struct timespec step = { .tv_nsec = LEADER_STEP_MS * 1000000L };
	int look = LEADER_LOOK;

	for (int i = 1; i <= LEADER_TRIES; i++) {
		json_auto_t *answer = NULL;
		struct fairlead_error error;
		bool is_last = i == look && leader_is_running(hook);
		int result =
			slurm_hook_ask(hook, "explain",
				       json_pack("{s:s}", "job", hook->name),
				       &answer, &error);

		if (result < 0 && result != -ENOENT)
			return slurm_hook_fail(hook, "%s", error.text);
		*ret_grant_id =
			live_grant(hook, json_object_get(answer, "grants"));
		if (*ret_grant_id > 0)
			return EXIT_DONE;
		if (i == look)
			look *= 2;
		if (is_last)
			return leader_has_none(hook);
		nanosleep(&step, NULL);
	}
	return slurm_hook_fail(hook,
			       "the leader of the heterogeneous job, %" PRIu32
			       ", has reserved no lane",
			       hook->job.leader);
}

/* --- the hook --- */

static int reserve_job(struct slurm_hook *hook, json_int_t *ret_grant_id)
{
	const struct slurm_job *job = &hook->job;

	if (!job->is_component)
		return reserve(hook, job->nodes, job->cores ? job->cores : "1",
			       ret_grant_id);
	return job->id == job->leader ? reserve_all(hook, ret_grant_id)
				      : await_leader(hook, ret_grant_id);
}

int slurm_prolog_slurmctld(struct slurm_hook *hook)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	json_int_t grant_id = 0;
	const char *missing = NULL;
	bool is_too_early;
	int code;

	if (hook->has_bad_options) {
		slurm_comment(hook, hook->said);
		slurm_refuse(hook);
		return EXIT_FAILED;
	}
	if (hook->expectation == LANE_NONE)
		return EXIT_DONE;
	if (!hook->job.nodes)
		missing = "SLURM_JOB_NODELIST";
	else if (hook->job.gid == SLURM_GID_UNKNOWN)
		missing = "SLURM_JOB_GID";
	if (missing)
		return slurm_hook_fail(hook, "%s is not set", missing);
	/* A lane that came too early was undone; the next one is a new grant. */
	do {
		is_too_early = false;
		code = reserve_job(hook, &grant_id);
		if (code == EXIT_DONE && grant_id > 0)
			code = apply(hook, grant_id, &is_too_early);
		if (is_too_early)
			nanosleep(&pause, NULL);
	} while (is_too_early);
	return code;
}
