/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fairlead-shell.so, in each job shell: the environment by which a job's tasks
 * find its lane. Modes:
 *
 *   reservation  the job's eventlog has our event, with a lane: what the file on
 *                this node says, which the node's daemon wrote when the lane was
 *                made. Where it is missing no task of the job starts.
 *   inherit      else, where the broker has a lane's variables itself, which is
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
 *                 conf = { default = "must", jobs_dir = "...",
 *                          node_socket = "..." } }
 *
 * default as of the jobtap plugin; with "none" a job that does not ask is not
 * looked up.
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
#include "plugin/flux/eventlog.h"
#include "plugin/flux/settings.h"
#include "plugin/flux/variables.h"
#include "plugin/flux/wish.h"

#define NODE_TIMEOUT_MS 10000

struct shell {
	flux_shell_t *shell;
	flux_t *h;
	flux_jobid_t id;
	enum lane_default otherwise;
	const char *jobs_dir;    /* NULL: the library's own */
	const char *node_socket; /* NULL: likewise */
};

/* --- none --- */

static bool is_in_job(void *arg, const char *name)
{
	return flux_shell_getenv(arg, name) != NULL;
}

static void clear(struct shell *shell)
{
	unsigned int sets = variables_sets(is_in_job, shell->shell);

	for (size_t i = 0; i < variable_count; i++)
		if (sets & 1u << variables[i].set)
			flux_shell_unsetenv(shell->shell, variables[i].name);
}

/* --- reservation --- */

/*
 * Our event, if there is one: it is posted before the job is started, and the
 * `start` event after that, so that it is there or will not come.
 */
static bool find_event(struct shell *shell, struct lane_event *ret_event)
{
	flux_future_t *future =
		flux_job_event_watch(shell->h, shell->id, "eventlog", 0);
	bool is_found = false;
	bool is_started = false;
	const char *text;

	if (!future)
		shell_die_errno(1, "cannot read the job's eventlog");
	while (!is_started) {
		struct lane_event event;
		json_t *entry;
		const char *name;

		if (flux_job_event_watch_get(future, &text) < 0) {
			if (errno == ENODATA)
				break;
			shell_die_errno(1, "cannot read the job's eventlog");
		}
		entry = json_loads(text, 0, NULL);
		name = json_string_value(json_object_get(entry, "name"));
		is_started = name && strcmp(name, "start") == 0;
		if (lane_event_read(entry, &event)) {
			*ret_event = event;
			is_found = true;
		}
		json_decref(entry);
		flux_future_reset(future);
	}
	flux_job_event_watch_cancel(future);
	flux_future_destroy(future);
	return is_found;
}

static void take_variable(void *arg, const char *name, const char *value)
{
	struct shell *shell = arg;

	if (value)
		flux_shell_setenvf(shell->shell, 1, name, "%s", value);
	else
		flux_shell_unsetenv(shell->shell, name);
}

/* The grant that was made last; its key is that of its file. */
static void reserve(struct shell *shell, const struct lane_event *event)
{
	struct fairlead_error error = { 0 };
	char submitter[EVENTLOG_KEY_MAX] = "";
	char job[EVENTLOG_KEY_MAX] = "";
	long long attempt = -1;

	clear(shell);
	if (sscanf(event->key, "%127[^/]/%127[^/]/%lld", submitter, job,
		   &attempt) != 3)
		shell_die(1, "the job's eventlog has the key '%s'", event->key);
	if (fairlead_env_read(shell->jobs_dir, submitter, job, attempt,
			      geteuid(), take_variable, shell, &error) < 0)
		shell_die(1,
			  "no task starts on this node without the job's lane: "
			  "%s; see 'fairlead explain %s/%s'",
			  error.text, submitter, job);
	shell_debug("the environment is that of the lane of %s", event->key);
}

/* --- inherit --- */

/* What the broker has of our variables: {name: value}. The caller drops it. */
static json_t *broker_environment(struct shell *shell)
{
	json_t *names = json_array();
	json_t *found = NULL;
	flux_future_t *future;

	for (size_t i = 0; i < variable_count; i++)
		json_array_append_new(names, json_string(variables[i].name));
	future = flux_rpc_pack(shell->h, "broker.getenv", FLUX_NODEID_ANY, 0,
			       "{s:o}", "names", names);
	if (flux_rpc_get_unpack(future, "{s:o}", "env", &found) == 0) {
		json_incref(found);
	} else if (errno == ENOSYS) {
		/* An older Flux. It has the first broker's, then, who started us. */
		found = json_object();
		for (size_t i = 0; i < variable_count; i++)
			if (getenv(variables[i].name))
				json_object_set_new(
					found, variables[i].name,
					json_string(getenv(variables[i].name)));
	} else if (errno != EPERM) {
		shell_warn("cannot ask for the broker's environment: %s",
			   future_strerror(future, errno));
	}
	flux_future_destroy(future);
	return found ? found : json_object();
}

static bool is_in_broker(void *arg, const char *name)
{
	return json_object_get(arg, name) != NULL;
}

/* Leave what belongs to the lanes that are there. */
static void sift(json_t *found)
{
	unsigned int sets = variables_sets(is_in_broker, found);

	for (size_t i = 0; i < variable_count; i++)
		if (!(sets & 1u << variables[i].set))
			json_object_del(found, variables[i].name);
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

static bool inherit(struct shell *shell)
{
	json_t *found = broker_environment(shell);
	bool is_inherited;
	const char *name;
	json_t *value;

	sift(found);
	is_inherited = json_object_size(found) > 0;
	if (is_inherited) {
		check_inherited(shell, found);
		clear(shell);
		json_object_foreach (found, name, value)
			take_variable(shell, name, json_string_value(value));
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

	if (flux_plugin_get_conf(p) &&
	    flux_plugin_conf_unpack(p, "{s?s s?s s?s}", "default", &otherwise,
				    "jobs_dir", &shell->jobs_dir, "node_socket",
				    &shell->node_socket) < 0)
		shell_die(1, "conf of the plugin: %s", flux_plugin_strerror(p));
	if (settings_default(otherwise, &shell->otherwise, &error) < 0)
		shell_die(1, "conf of the plugin: %s", error.text);
}

static json_t *read_options(flux_shell_t *shell)
{
	static const char *const names[] = { "cray-slingshot", "fairlead" };
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

static void read_wish(flux_shell_t *shell, struct wish *wish)
{
	json_t *options = read_options(shell);
	struct fairlead_error error;
	int result = wish_parse(options, wish, &error);

	json_decref(options);
	if (result < 0)
		shell_die(1, "%s", error.text);
}

/* Jobs of an instance inside a job have no event of ours. */
static bool may_have_event(const struct shell *shell, const struct wish *wish)
{
	const char *level = flux_attr_get(shell->h, "instance-level");

	if (level && strcmp(level, "0") != 0)
		return false;
	return wish->kind != WISH_DEFAULT || shell->otherwise != DEFAULT_NONE;
}

static int on_init(flux_plugin_t *p, const char *topic, flux_plugin_arg_t *args,
		   void *arg)
{
	struct shell shell = { .shell = flux_plugin_get_shell(p) };
	struct lane_event event = { 0 };
	struct wish wish;
	json_int_t id = 0;

	shell.h = flux_shell_get_flux(shell.shell);
	read_conf(p, &shell);
	read_wish(shell.shell, &wish);
	if (wish.kind == WISH_OFF)
		return 0;
	if (flux_shell_info_unpack(shell.shell, "{s:I}", "jobid", &id) < 0)
		shell_die_errno(1, "the job's id is not known");
	shell.id = (flux_jobid_t)id;
	if (may_have_event(&shell, &wish) && find_event(&shell, &event) &&
	    event.has_lane)
		reserve(&shell, &event);
	else if (wish.kind == WISH_NONE || !inherit(&shell))
		clear(&shell);
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
