/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fairlead-shell.so, in each job shell: the environment by which a job's tasks
 * find its lane. Modes:
 *
 *   reservation  what the job's file on this node says, which the node's daemon
 *                wrote when the lane was made. Where it is missing, and the job
 *                was given a lane, no task of the job starts.
 *   inherited    else, where the broker has a lane's variables itself, which is
 *                so in an instance that runs inside a job: these, once the node's
 *                daemon, where there is one, has found them still true
 *   none         neither: what may be left of another lane, in the environment
 *                that the job was submitted with, is cleared
 *
 * With -o cray-slingshot=off or -o fairlead=off nothing is touched.
 *
 * In a file of lua.d, with whatever differs from this:
 *
 *   plugin.load { file = "/usr/lib/fairlead/flux/fairlead-shell.so",
 *                 conf = { default = "must", submitter = "flux",
 *                          jobs_dir = "...", node_socket = "..." } }
 *
 * default and submitter as of the jobtap plugin; with "none" nobody is asked
 * about a job that does not ask for a lane.
 */
#define FLUX_SHELL_PLUGIN_NAME "fairlead"

#include <errno.h>
#include <flux/core.h>
#include <flux/shell.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fairlead.h"
#include "lanes/driver/driver.h"
#include "lanes/plugin/common/step_id.h"
#include "lanes/plugin/common/step_watch.h"
#include "lanes/plugin/flux/inside.h"
#include "lanes/plugin/flux/names.h"
#include "lanes/plugin/flux/request.h"
#include "lanes/plugin/flux/settings.h"

#define NODE_TIMEOUT_MS 10000

struct shell {
	flux_shell_t *shell;
	flux_t *h;
	flux_jobid_t id;
	int rank; /* of the job's shells */
	enum lane_expectation otherwise;
	const char *submitter;
	const char *jobs_dir;    /* NULL: the library's own */
	const char *node_socket; /* NULL: likewise */
};

/* --- none --- */

static bool is_in_job(void *arg, const char *name)
{
	return flux_shell_getenv(arg, name) != NULL;
}

static void unset(void *arg, const char *name)
{
	flux_shell_unsetenv(arg, name);
}

static void clear(struct shell *shell)
{
	driver_visit_variables(is_in_job, unset, shell->shell);
}

static const char *get_variable(void *arg, const char *name)
{
	return flux_shell_getenv(arg, name);
}

/* Of a job whose lane has multicast trees, which go after it. */
static void step_begin(struct shell *shell,
		       const struct fairlead_driver *driver, const char *outer)
{
	char path[64] = "/", text[STEP_ID_MAX];
	int result;

	if (flux_job_id_encode(shell->id, "f58plain", path + 1,
			       sizeof(path) - 1) < 0)
		shell_die_errno(1, "the job's id is not known");
	/* Like FLUX_JOB_ID_PATH where no step outside has an id. */
	if (!outer)
		outer = flux_attr_get(shell->h, "jobid-path");
	step_id_make(outer, path, text);
	flux_shell_setenvf(shell->shell, 1, driver->step_variable, "%s", text);
	if (shell->rank != 0)
		return;
	result = step_watch(driver, get_variable, shell->shell);
	if (result < 0)
		shell_warn("multicast trees of these tasks stay until the job "
			   "outside ends: cannot start fairlead-step-clean: %s",
			   strerror(-result));
}

/*
 * Variables by name, null for one that is to be cleared: instead of others. One
 * may be the id of the step that we are inside of.
 */
static void take_over(struct shell *shell, const json_t *found, bool is_inside)
{
	const struct fairlead_driver *driver;
	const char *name, *outer = NULL;
	json_t *value;

	clear(shell);
	json_object_foreach ((json_t *)found, name, value)
		if (json_is_string(value))
			flux_shell_setenvf(shell->shell, 1, name, "%s",
					   json_string_value(value));
		else
			flux_shell_unsetenv(shell->shell, name);
	driver = driver_of_steps(is_in_job, shell->shell);
	if (driver && is_inside)
		outer = json_string_value(
			json_object_get(found, driver->step_variable));
	if (driver)
		step_begin(shell, driver, outer);
}

/* --- reservation --- */

static void keep_variable(void *arg, const char *name, const char *value)
{
	json_object_set_new(arg, name,
			    value ? json_string(value) : json_null());
}

/*
 * Was the job given a lane? The jobtap plugin knows. What the eventlog says may
 * be behind, and watching it was seen to miss an entry, for ever.
 */
static bool is_promised(struct shell *shell)
{
	flux_future_t *future =
		flux_rpc_pack(shell->h, "job-manager.fairlead.lane",
			      FLUX_NODEID_ANY, 0, "{s:I}", "id", shell->id);
	int has_lane = 0;

	if (flux_rpc_get_unpack(future, "{s:b}", "has_lane", &has_lane) < 0 &&
	    errno != ENOSYS)
		shell_die(1, "cannot ask whether the job has a lane: %s",
			  future_strerror(future, errno));
	flux_future_destroy(future);
	return has_lane;
}

/* False: there is none, and there was to be none. */
static bool reserve(struct shell *shell, bool may_have_lane)
{
	struct fairlead_error error = { 0 };
	json_t *found = json_object();
	char job[64];
	int result;

	if (flux_job_id_encode(shell->id, "f58plain", job, sizeof(job)) < 0)
		shell_die_errno(1, "the job's id is not known");
	result = fairlead_env_read(shell->jobs_dir, shell->submitter, job, -1,
				   geteuid(), keep_variable, found, &error);
	if (result == -ENOENT && (!may_have_lane || !is_promised(shell))) {
		json_decref(found);
		return false;
	}
	if (result < 0)
		shell_die(1,
			  "no task starts on this node without the job's lane: "
			  "%s; see 'fairlead explain %s/%s'",
			  error.text, shell->submitter, job);
	take_over(shell, found, false);
	json_decref(found);
	shell_debug("the environment is that of the job's lane");
	return true;
}

/* --- inherited --- */

static void append_name(void *arg, const char *name)
{
	json_array_append_new(arg, json_string(name));
}

/* Of lanes, and what tells of a job outside. */
static json_t *broker_names(void)
{
	json_t *names = json_array();

	driver_visit_variables(NULL, append_name, names);
	for (size_t i = 0; i < inside_variable_count; i++)
		json_array_append_new(names, json_string(inside_variables[i]));
	return names;
}

static json_t *own_environment(json_t *names)
{
	json_t *found = json_object();
	const json_t *name;
	size_t i;

	json_array_foreach (names, i, name) {
		const char *value = getenv(json_string_value(name));

		if (value)
			json_object_set_new(found, json_string_value(name),
					    json_string(value));
	}
	return found;
}

/*
 * What the broker has of these: {name: value}. The caller drops it. It tells
 * its owner only: an instance that has guests is in no job.
 */
static json_t *broker_environment(struct shell *shell)
{
	json_t *names = broker_names();
	json_t *found = NULL;
	flux_future_t *future;

	future = flux_rpc_pack(shell->h, "broker.getenv", FLUX_NODEID_ANY, 0,
			       "{s:O}", "names", names);
	if (flux_rpc_get_unpack(future, "{s:o}", "env", &found) == 0) {
		json_incref(found);
	} else if (errno == ENOSYS) {
		/*
		 * An older Flux. It has the first broker's, then, who started
		 * us.
		 */
		found = own_environment(names);
	} else if (errno != EPERM) {
		shell_warn("cannot ask for the broker's environment: %s",
			   future_strerror(future, errno));
	}
	flux_future_destroy(future);
	json_decref(names);
	return found ? found : json_object();
}

static bool is_in_broker(void *arg, const char *name)
{
	return json_object_get(arg, name) != NULL;
}

struct sifting {
	json_t *broker, *found;
};

static bool is_sifted(void *arg, const char *name)
{
	return is_in_broker(((struct sifting *)arg)->broker, name);
}

static void keep_sifted(void *arg, const char *name)
{
	struct sifting *sifting = arg;

	json_object_set(sifting->found, name,
			json_object_get(sifting->broker, name));
}

/* What belongs to the lanes that are there. The caller drops it. */
static json_t *sift(json_t *broker)
{
	struct sifting sifting = { broker, json_object() };

	driver_visit_inherited(is_sifted, keep_sifted, &sifting);
	return sifting.found;
}

static char *make_question(const json_t *found)
{
	json_t *pairs = json_array();
	const char *name;
	json_t *value;
	json_t *members;
	char *text;

	json_object_foreach ((json_t *)found, name, value)
		json_array_append_new(pairs, json_pack("[s, O]", name, value));
	members = json_pack("{s:o}", "variables", pairs);
	text = json_dumps(members, JSON_COMPACT);
	json_decref(members);
	return text;
}

static bool is_no_daemon(int result)
{
	return result == -ENOENT || result == -ECONNREFUSED;
}

/* By the daemon of this node, for this user. */
static void check_inherited(struct shell *shell, const json_t *found)
{
	const char *socket =
		shell->node_socket ? shell->node_socket : FAIRLEAD_NODE_SOCKET;
	struct fairlead_error error = { .text = "out of memory" };
	struct fairlead *handle = NULL;
	char *question = make_question(found);
	int result =
		question ? fairlead_open(socket, &handle, &error) : -ENOMEM;

	if (result == 0) {
		fairlead_set_timeout(handle, NODE_TIMEOUT_MS);
		result = fairlead_call(handle, "inherit", question, NULL,
				       &error);
		fairlead_close(handle);
	}
	free(question);
	if (is_no_daemon(result))
		shell_debug("nobody here checks what was inherited: %s",
			    error.text);
	else if (result < 0)
		shell_die(1,
			  "no task starts without the lane that was inherited: "
			  "%s",
			  error.text);
}

static bool inherit(struct shell *shell, json_t *broker)
{
	json_t *found = sift(broker);
	bool is_inherited = json_object_size(found) > 0;

	if (is_inherited) {
		check_inherited(shell, found);
		take_over(shell, found, true);
		shell_debug("the environment is that of the broker");
	}
	json_decref(found);
	return is_inherited;
}

/* --- the shell --- */

static void read_conf(flux_plugin_t *p, struct shell *shell)
{
	struct fairlead_error error;
	const char *otherwise = "must";

	shell->submitter = "flux";
	if (flux_plugin_get_conf(p) &&
	    flux_plugin_conf_unpack(p, "{s?s s?s s?s s?s !}", "default",
				    &otherwise, "submitter", &shell->submitter,
				    "jobs_dir", &shell->jobs_dir, "node_socket",
				    &shell->node_socket) < 0)
		shell_die(1, "conf of the plugin: %s", flux_plugin_strerror(p));
	if (lane_expectation_parse(otherwise, &shell->otherwise, &error) < 0)
		shell_die(1, "conf of the plugin: %s", error.text);
}

static json_t *read_options(flux_shell_t *shell)
{
	static const char *const names[] = { NAME_CRAY, "fairlead" };
	json_t *options = json_object();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *text = NULL;

		if (flux_shell_getopt(shell, names[i], &text) == 1)
			json_object_set_new(options, names[i],
					    json_loads(text, JSON_DECODE_ANY,
						       NULL));
		free(text);
	}
	return options;
}

static void read_request(flux_shell_t *shell, struct lane_request *request)
{
	json_t *options = read_options(shell);
	struct fairlead_error error;
	int result = lane_request_parse(options, request, &error);

	json_decref(options);
	if (result < 0)
		shell_die(1, "%s", error.text);
}

static void find_lane(struct shell *shell, bool may_have_lane)
{
	json_t *broker = broker_environment(shell);
	bool is_inside = inside_find(flux_attr_get(shell->h, "instance-level"),
				     is_in_broker, broker) != NULL;

	if ((is_inside || !reserve(shell, may_have_lane)) &&
	    !inherit(shell, broker))
		clear(shell);
	json_decref(broker);
}

static int on_init(flux_plugin_t *p, const char *topic, flux_plugin_arg_t *args,
		   void *arg)
{
	struct shell shell = { .shell = flux_plugin_get_shell(p) };
	struct lane_request request;
	json_int_t id = 0;

	shell.h = flux_shell_get_flux(shell.shell);
	read_conf(p, &shell);
	read_request(shell.shell, &request);
	if (request.kind == LANE_REQUEST_OFF)
		return 0;
	if (flux_shell_info_unpack(shell.shell, "{s:I s:i}", "jobid", &id,
				   "rank", &shell.rank) < 0)
		shell_die_errno(1, "the job's id is not known");
	shell.id = (flux_jobid_t)id;
	if (request.kind == LANE_REQUEST_NONE)
		clear(&shell);
	else
		find_lane(&shell, request.kind == LANE_REQUEST_LANE ||
					  shell.otherwise != LANE_NONE);
	return 0;
}

/* What the shell looks for. */
__attribute__((visibility("default"))) int flux_plugin_init(flux_plugin_t *p);

int flux_plugin_init(flux_plugin_t *p)
{
	if (flux_plugin_set_name(p, FLUX_SHELL_PLUGIN_NAME) < 0)
		return -1;
	return flux_plugin_add_handler(p, "shell.init", on_init, NULL);
}
