/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank_fairlead.so: what Slurm's commands and steps do for a job's lane. The
 * hooks of the job (`fairlead slurm`) have it made; this brings what the user
 * asks for to them, and the lane's variables to the tasks.
 *
 *   srun, sbatch, salloc   take --fairlead=OPTIONS, refuse what cannot be meant,
 *                          and hand it on: hooks have it as SPANK_FAIRLEAD
 *   slurmstepd, each step  reads the job's environment file, as the job's user,
 *                          and sets and unsets the variables of all tasks
 *   a task                 ends with the reason, where there is no lane and
 *                          there was to be one
 *   slurmd, prologs and    nothing: there is no job yet, and what SPANK would
 *   epilogs                tell of one crashes (22.05)
 *
 * In plugstack.conf, on every host:
 *
 *   optional spank_fairlead.so [default=must|may|none] [submitter=NAME]
 *            [jobs_dir=FOLDER]
 *
 * default: what a job without the option gets; has to fit fairlead.conf. must
 * (when not said): a lane, always; may: one as long as there are any
 * (reserve_fatal = false); none: none (default_vnis = 0).
 *
 * Why it is so:
 * - The option's callback refuses, not a hook: an `optional` plugin's hooks are
 *   called, and what they return is ignored. For the same reason a task that
 *   must not run is ended here.
 * - A step that failed before its tasks would let srun, and the job, end well
 *   (exit code 0). So a failure waits for the task.
 * - Nothing is opened as root: user_init has the user's effective id. What it
 *   finds is for all tasks, before any plugin changes their root directory.
 * - A component of a heterogeneous job has its lane under its leader's id.
 *   SPANK tells the component's; the leader's is SLURM_JOB_ID, of srun's making
 *   whatever its user exports. With a program of his own instead of srun, a
 *   user could name another job: the file has to be the user's own to be read,
 *   so that would be another job of his on this node, whose variables he can
 *   set himself, and which let nobody in.
 * - No daemon is asked. A job that asks for nothing and has no lane costs a
 *   step, on each node, a folder that is not there.
 * - Of a heterogeneous job Slurm tells all steps the option that was given
 * last,
 *   and each component's hooks their own; the leader's is what the lane is of.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "fairlead.h"
#include "fairlead_driver.h"
#include "lanes/driver/driver.h"
#include "lanes/plugin/common/job_options.h"
#include "lanes/plugin/common/step_watch.h"
#include "lanes/plugin/slurm/arguments.h"
#include "lanes/plugin/slurm/lane.h"

#pragma GCC visibility push(default)
#include <slurm/spank.h>

SPANK_PLUGIN(fairlead, 1)
#pragma GCC visibility pop

#define CONTROL_NAME "FAIRLEAD" /* hooks have SPANK_ before it */
#define JOB_NAME_MAX 48         /* "SUBMITTER/4294967295" */

/*
 * SPANK gives its hooks no context of the plugin's, and one process has one
 * command, or one step: this is of that.
 */
static struct {
	bool has_option;
	char option[FAIRLEAD_OPTIONS_MAX + 2]; /* cut where it is too long */
	enum lane_verdict verdict;
	char text[LANE_TEXT_MAX]; /* for the user, when it is not LANE_GO */
} step;

/* --- the option --- */

static int option_taken(int val, const char *text, int is_remote)
{
	struct fairlead_error error;

	if (!text)
		text = "";
	step.has_option = true;
	snprintf(step.option, sizeof(step.option), "%s", text);
	/* A step judges in its tasks. */
	if (is_remote || job_options_check(text, &error) == 0)
		return 0;
	slurm_error("fairlead: --fairlead: %s", error.text);
	return -1;
}

static struct spank_option option = {
	.name = (char *)"fairlead",
	.arginfo = (char *)"OPTIONS|off",
	.usage = (char *)"lane of the job on the interconnect: NAME=VALUE,... "
			 "or off; see fairlead-slurm(7)",
	.has_arg = 1,
	.cb = option_taken,
};

static bool is_command(void)
{
	spank_context_t context = spank_context();

	return context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR;
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	spank_err_t result;

	if (!is_command() && spank_context() != S_CTX_REMOTE)
		return 0;
	result = spank_option_register(spank, &option);
	if (result != ESPANK_SUCCESS)
		slurm_error("fairlead: cannot offer --fairlead: %s",
			    spank_strerror(result));
	return result == ESPANK_SUCCESS ? 0 : -1;
}

int slurm_spank_init_post_opt(spank_t spank, int argc, char **argv)
{
	struct spank_arguments arguments;
	struct fairlead_error error;
	spank_err_t result = ESPANK_SUCCESS;

	if (!is_command())
		return 0;
	if (arguments_parse(argc, argv, &arguments, &error) < 0) {
		slurm_error("fairlead: plugstack.conf: %s", error.text);
		return -1;
	}
	if (step.has_option)
		result = spank_job_control_setenv(spank, CONTROL_NAME,
						  step.option, 1);
	if (result != ESPANK_SUCCESS)
		slurm_error("fairlead: cannot hand --fairlead on to the job: "
			    "%s",
			    spank_strerror(result));
	return result == ESPANK_SUCCESS ? 0 : -1;
}

/* --- a step --- */

struct spank_change {
	spank_t spank;
	bool is_refused;
	spank_err_t result;              /* of the first that failed */
	char value[FAIRLEAD_RECORD_MAX]; /* of the last that was read */
};

static void change_variable(void *arg, const char *name, const char *value)
{
	struct spank_change *change = arg;
	spank_err_t result;

	if (value && !change->is_refused)
		result = spank_setenv(change->spank, name, value, 1);
	else
		result = spank_unsetenv(change->spank, name);
	if (change->result == ESPANK_SUCCESS)
		change->result = result;
}

static const char *get_variable(void *arg, const char *name)
{
	struct spank_change *change = arg;

	return spank_getenv(change->spank, name, change->value,
			    sizeof(change->value)) == ESPANK_SUCCESS
		       ? change->value
		       : NULL;
}

static bool is_set(void *arg, const char *name)
{
	return get_variable(arg, name) != NULL;
}

/*
 * A step with multicast trees has an id, and a clean-up on its first node. All
 * steps of a heterogeneous job are counted together, by Slurm.
 */
static int begin_step(struct spank_change *change,
		      struct fairlead_error *ret_error)
{
	const struct fairlead_driver *driver = driver_of_steps(is_set, change);
	char digits[16];
	uint32_t id = 0, node = 0;
	spank_err_t result;
	int code;

	if (!driver)
		return 0;
	result = spank_get_item(change->spank, S_JOB_STEPID, &id);
	if (result == ESPANK_SUCCESS)
		result = spank_get_item(change->spank, S_JOB_NODEID, &node);
	if (result != ESPANK_SUCCESS)
		return error_set(ret_error, -EIO,
				 "Slurm does not say which step this is: %s",
				 spank_strerror(result));
	snprintf(digits, sizeof(digits), "%" PRIu32, id);
	change_variable(change, driver->step_variable, digits);
	code = node == 0 ? step_watch(driver, get_variable, change) : 0;
	if (code < 0)
		slurm_spank_log("fairlead: warning: multicast trees of this "
				"step stay until the job ends: cannot start "
				"fairlead-step-clean: %s",
				strerror(-code));
	return 0;
}

/* Under this id; and where nothing is, under that of the job's leader. */
static int read_lane(struct spank_change *change,
		     const struct spank_arguments *arguments, uint32_t id,
		     uid_t uid, char job[JOB_NAME_MAX],
		     struct fairlead_error *ret_error)
{
	char text[16] = "", digits[16];
	uint32_t ids[2] = { id };
	int result = -ENOENT;

	if (spank_getenv(change->spank, "SLURM_JOB_ID", text, sizeof(text)) ==
	    ESPANK_SUCCESS)
		ids[1] = lane_leader(text, id);
	for (int i = 0; i < 2 && ids[i] && result == -ENOENT; i++) {
		snprintf(digits, sizeof(digits), "%" PRIu32, ids[i]);
		snprintf(job, JOB_NAME_MAX, "%s/%s", arguments->submitter,
			 digits);
		result =
			fairlead_env_read(arguments->jobs_dir,
					  arguments->submitter, digits, -1, uid,
					  change_variable, change, ret_error);
	}
	if (result == 0 && !change->is_refused)
		result = begin_step(change, ret_error);
	if (result == 0 && change->result != ESPANK_SUCCESS)
		result = error_set(ret_error, -EIO,
				   "cannot change the tasks' environment: %s",
				   spank_strerror(change->result));
	return result;
}

static int find_job(spank_t spank, uint32_t *ret_id, uid_t *ret_uid,
		    struct fairlead_error *ret_error)
{
	spank_err_t result = spank_get_item(spank, S_JOB_ID, ret_id);

	if (result == ESPANK_SUCCESS)
		result = spank_get_item(spank, S_JOB_UID, ret_uid);
	if (result != ESPANK_SUCCESS)
		return error_set(ret_error, -EIO,
				 "Slurm does not say which job this is, and "
				 "whose: %s",
				 spank_strerror(result));
	return 0;
}

static int look(spank_t spank, int argc, char **argv,
		struct lane_intent *intent, char job[JOB_NAME_MAX],
		struct fairlead_error *ret_error)
{
	const char *text = step.has_option ? step.option : NULL;
	struct spank_change change = { .spank = spank };
	struct spank_arguments arguments;
	struct fairlead_error error;
	uint32_t id = 0;
	uid_t uid = 0;

	if (arguments_parse(argc, argv, &arguments, &error) < 0)
		return error_set(ret_error, -EINVAL, "plugstack.conf: %.900s",
				 error.text);
	if (text && job_options_check(text, &error) < 0)
		return error_set(ret_error, -EINVAL, "--fairlead: %.900s",
				 error.text);
	if (find_job(spank, &id, &uid, ret_error) < 0)
		return -EIO;
	snprintf(job, JOB_NAME_MAX, "%s/%" PRIu32, arguments.submitter, id);
	*intent = lane_intent(text, arguments.otherwise);
	change.is_refused = intent->is_refused;
	return read_lane(&change, &arguments, id, uid, job, ret_error);
}

int slurm_spank_user_init(spank_t spank, int argc, char **argv)
{
	struct lane_intent intent = { .expectation = LANE_MUST };
	struct fairlead_error error = { 0 };
	char job[JOB_NAME_MAX] = "?";
	int result;

	if (spank_context() != S_CTX_REMOTE)
		return 0;
	result = look(spank, argc, argv, &intent, job, &error);
	step.verdict = lane_judge(&intent, result);
	if (step.verdict != LANE_GO)
		lane_explain(step.verdict, job,
			     step.has_option ? step.option : NULL, &error,
			     step.text);
	return 0;
}

/* Said once a node. */
static bool is_first_task(spank_t spank)
{
	int number = 0;

	return spank_get_item(spank, S_TASK_ID, &number) != ESPANK_SUCCESS ||
	       number == 0;
}

int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
	if (spank_context() != S_CTX_REMOTE || step.verdict == LANE_GO)
		return 0;
	if (step.verdict == LANE_WARN) {
		if (is_first_task(spank))
			slurm_spank_log("fairlead: warning: %s", step.text);
		return 0;
	}
	if (is_first_task(spank))
		slurm_error("fairlead: %s", step.text);
	/* This process is the task, not yet become the user's program. */
	_exit(1);
}
