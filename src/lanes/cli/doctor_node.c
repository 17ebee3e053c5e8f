/* SPDX-License-Identifier: BSD-3-Clause */
/* This node's daemon, its devices, and the environment we were started in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/idset.h"
#include "base/memory.h"
#include "lanes/cli/doctor.h"
#include "lanes/cli/inherit.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"
#include "lanes/driver/driver.h"

/* --- drivers: what they say of themselves, here and on all nodes --- */

/* Identifiers that the configuration has a driver hand out; NULL: none. */
static struct idset *pool_of(const struct doctor *doctor, const char *driver)
{
	const struct fairlead_driver *found = driver_find(driver);
	const struct config_driver *section =
		doctor->config ? config_driver_find(doctor->config, driver)
			       : NULL;
	struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX];
	struct fairlead_error ignored;
	struct idset *pool = NULL;
	void *state;

	if (!found || !section ||
	    found->manager->configure(section->settings, section->setting_count,
				      &state, &ignored) < 0)
		return NULL;
	/* Drivers count their devices' identifiers by the first. */
	if (found->manager->pools(state, specs) > 0 && specs[0].universe)
		idset_parse(specs[0].universe, specs[0].limit, &pool, NULL);
	found->manager->destroy(state);
	return pool;
}

/* Part a driver's summary: its beginning, and what it lacks or "". */
static void part_summary(char *summary, const char **ret_lacks)
{
	char *lacks = strstr(summary, FAIRLEAD_SUMMARY_LACKS);

	*ret_lacks = "";
	if (!lacks)
		return;
	*lacks = '\0';
	*ret_lacks = lacks + strlen(FAIRLEAD_SUMMARY_LACKS);
}

static void lacking_add(json_t *lacking, const char *driver, const char *lacks,
			const char *node)
{
	_auto_(freep) char *text = memory_format("%s lacks %s", driver, lacks);
	json_t *names = json_object_get(lacking, text);

	if (!names) {
		names = json_array();
		json_object_set_new(lacking, text, names);
	}
	json_array_append_new(names, json_string(node));
}

/* Of the drivers of all nodes. */
static void check_all_drivers(struct doctor *doctor, const json_t *nodes,
			      json_t *lacking)
{
	const json_t *node, *driver;
	size_t i, k;

	json_array_foreach (nodes, i, node) {
		json_array_foreach (json_object_get(node, "drivers"), k,
				    driver) {
			_auto_(freep) char *detail =
				memory_text(output_text(driver, "detail"));
			const char *lacks;

			part_summary(detail, &lacks);
			if (!json_is_true(json_object_get(driver, "usable")))
				doctor_say(doctor, DOCTOR_FAIL, "driver",
					   "fix it there, or drain the node",
					   "%s: %s cannot be used%s%s",
					   output_text(node, "name"),
					   output_text(driver, "name"),
					   *detail ? ", " : "", detail);
			else if (*lacks)
				lacking_add(lacking,
					    output_text(driver, "name"), lacks,
					    output_text(node, "name"));
		}
	}
}

static char *nodes_of(const json_t *names)
{
	size_t count = json_array_size(names);
	_auto_(freep) const char **list =
		memory_array(count + 1, sizeof(*list));

	for (size_t i = 0; i < count; i++)
		list[i] = json_string_value(json_array_get(names, i));
	return memory_have(hostlist_format(list, count));
}

void doctor_check_levels(struct doctor *doctor, const json_t *nodes)
{
	json_auto_t *lacking = json_object();
	const char *text;
	json_t *names;

	check_all_drivers(doctor, nodes, lacking);
	json_object_foreach (lacking, text, names) {
		_auto_(freep) char *list = nodes_of(names);

		doctor_say(doctor, DOCTOR_WARN, "level",
			   "'fairlead doctor' on such a node has details; the "
			   "manual of the interconnect explains the levels",
			   "%s on %s", text, list);
	}
}

/* --- this node --- */

static bool has_flag(const json_t *object, const char *name)
{
	const json_t *flag;
	size_t i;

	json_array_foreach (json_object_get(object, "flags"), i, flag) {
		const char *text = json_string_value(flag);

		if (text && strcmp(text, name) == 0)
			return true;
	}
	return false;
}

/* Is one of the identifiers of the object one that we hand out? */
static bool is_of_pool(const struct doctor *doctor, const json_t *object)
{
	_auto_(idset_destroyp) struct idset *pool =
		pool_of(doctor, output_text(object, "interconnect"));
	const json_t *id;
	size_t i;

	if (!pool)
		return false;

	json_array_foreach (json_object_get(object, "ids"), i, id)
		if (json_is_integer(id) && json_integer_value(id) >= 0 &&
		    json_integer_value(id) < IDSET_LIMIT_MAX &&
		    idset_has(pool, json_integer_value(id)))
			return true;
	return false;
}

/* Of one of a grant, which the node has lost, the manager's finding is enough. */
static void say_foreign(struct doctor *doctor, const char *node,
			const json_t *object, bool is_pool)
{
	_auto_(freep) char *name =
		memory_format("%s %s/%lld", node, output_text(object, "device"),
			      (long long)output_number(object, "id"));
	_auto_(freep) char *ids = output_ids(json_object_get(object, "ids"));
	const json_t *uid = json_object_get(object, "uid");
	_auto_(freep) char *user = output_uid(uid);
	_auto_(freep) char *advice = NULL;

	if (json_object_get(doctor->known_objects, name))
		return;
	advice = memory_format(
		"'fairlead node list' at the manager says when it is of a "
		"job, and the node has lost its record: release that job; "
		"else find out who made it%s. 'fairlead clean --object "
		"%s/%lld' on the node destroys it alone; 'clean --all' "
		"takes the lanes of all running jobs too",
		is_pool ? ", and let 'vni_pool' leave out what others use" : "",
		output_text(object, "device"),
		(long long)output_number(object, "id"));
	doctor_say(doctor, DOCTOR_WARN,
		   is_pool ? "foreign identifier" : "unknown object", advice,
		   "%s: %s has %s %lld, which is not Fairlead's (user %s, "
		   "identifiers %s)",
		   node, output_text(object, "device"),
		   output_text(object, "interconnect"),
		   (long long)output_number(object, "id"), user ? user : "-",
		   ids);
}

void doctor_check_objects(struct doctor *doctor, const char *node,
			  const json_t *answer)
{
	int default_count = 0, open_count = 0, foreign_count = 0;
	const json_t *object;
	size_t i;

	if (json_object_get(doctor->seen_nodes, node))
		return;
	json_object_set_new(doctor->seen_nodes, node, json_true());
	json_array_foreach (json_object_get(answer, "objects"), i, object) {
		if (has_flag(object, "default")) {
			default_count++;
			open_count += has_flag(object, "enabled");
			continue;
		}
		if (has_flag(object, "system") ||
		    output_number(object, "grant_id") != 0)
			continue;
		foreign_count++;
		say_foreign(doctor, node, object, is_of_pool(doctor, object));
	}
	if (open_count > 0)
		doctor_say(doctor, DOCTOR_WARN, "default service",
			   "disable it, as the vendor's manual says, so that "
			   "jobs use their lanes only",
			   "%s: the default service is enabled on %d devices: "
			   "any user reaches every job that uses it",
			   node, open_count);
	else if (default_count > 0)
		doctor_say(doctor, DOCTOR_OK, "default service", NULL,
			   "%s: it is not enabled", node);
	if (foreign_count == 0)
		doctor_say(doctor, DOCTOR_OK, "unknown objects", NULL,
			   "%s: all that is on its devices is known", node);
}

static void check_link(struct doctor *doctor, const json_t *status)
{
	const json_t *manager = json_object_get(status, "manager");
	const char *state = output_text(manager, "state");

	if (strcmp(state, "up") == 0)
		doctor_say(doctor, DOCTOR_OK, "link to the manager", NULL,
			   "%s, epoch %lld", output_text(manager, "address"),
			   (long long)output_number(manager, "epoch"));
	else
		doctor_say(
			doctor, DOCTOR_FAIL, "link to the manager",
			strcmp(state, "refused") == 0
				? "the manager says why; mostly the node's "
				  "name or its key"
				: "is the manager running, and reachable from "
				  "here?",
			"%s: %s %s", output_text(manager, "address"), state,
			output_text(manager, "error"));
}

static void check_endpoint(struct doctor *doctor, const json_t *status)
{
	const json_t *endpoint = json_object_get(status, "endpoint");
	const char *text = output_text(endpoint, "text");

	if (json_is_true(json_object_get(endpoint, "open")))
		doctor_say(doctor, DOCTOR_OK, "endpoint", NULL, "node: %s",
			   text);
	else if (*text == '\0')
		doctor_say(doctor, DOCTOR_WARN, "endpoint",
			   "fix the link to the manager first",
			   "node: it opens when the manager is reached");
	else
		doctor_say(doctor, DOCTOR_FAIL, "endpoint",
			   "fix the section 'fabric' of the configuration; the "
			   "daemon retries when it reaches the manager again",
			   "node: %s", text);
}

static void check_drained(struct doctor *doctor, const json_t *status)
{
	if (json_is_true(json_object_get(status, "drained")))
		doctor_say(doctor, DOCTOR_WARN, "drained",
			   "fix it, then 'fairlead node undrain' at the "
			   "manager",
			   "this node gets no jobs: %s",
			   output_text(status, "reason"));
}

/* Does the daemon go by what is in the file? */
static void check_loaded_keys(struct doctor *doctor, const json_t *status)
{
	const json_t *loaded = json_object_get(status, "keys");

	if (!doctor->node_keys || !loaded)
		return;
	if (json_equal(loaded, doctor->node_keys))
		doctor_say(doctor, DOCTOR_OK, "loaded keys", NULL,
			   "the daemon has the keys of the file");
	else
		doctor_say(doctor, DOCTOR_WARN, "loaded keys",
			   "reload fairleadd (SIGHUP) on this node",
			   "the key file has changed since the daemon read it");
}

static void check_restart(struct doctor *doctor, const json_t *status)
{
	const json_t *line;
	size_t i;

	json_array_foreach (json_object_get(status, "restart"), i, line)
		if (json_is_string(line))
			doctor_say(doctor, DOCTOR_WARN, "configuration",
				   "restart fairleadd on this node", "%s",
				   json_string_value(line));
}

static void check_drivers(struct doctor *doctor, const json_t *status)
{
	const json_t *driver;
	size_t i;

	json_array_foreach (json_object_get(status, "drivers"), i, driver) {
		bool is_usable =
			json_is_true(json_object_get(driver, "usable"));
		_auto_(freep) char *detail =
			memory_text(output_text(driver, "detail"));
		const char *lacks;

		part_summary(detail, &lacks);
		doctor_say(doctor, is_usable ? DOCTOR_OK : DOCTOR_FAIL,
			   "driver",
			   is_usable ? NULL
				     : "see its section of the configuration",
			   "%s: %s%s%s", output_text(driver, "name"),
			   is_usable ? "usable" : "cannot be used",
			   *detail ? ", " : "", detail);
		if (*lacks)
			doctor_say(doctor, DOCTOR_WARN, "level",
				   "fix it, or have the configuration not ask "
				   "for it; the manual of the interconnect has "
				   "the levels",
				   "%s lacks %s", output_text(driver, "name"),
				   lacks);
	}
}

static void check_devices(struct doctor *doctor, const json_t *answer)
{
	const json_t *device;
	size_t i;

	json_array_foreach (json_object_get(answer, "devices"), i, device) {
		bool is_usable =
			json_is_true(json_object_get(device, "usable"));

		doctor_say(doctor, is_usable ? DOCTOR_OK : DOCTOR_FAIL,
			   "device",
			   is_usable ? NULL : "fix it, or drain the node",
			   "%s of %s: %s%s%s", output_text(device, "name"),
			   output_text(device, "interconnect"),
			   is_usable ? "usable" : "cannot be used",
			   *output_text(device, "detail") ? ", " : "",
			   output_text(device, "detail"));
	}
}

static void check_environment(struct doctor *doctor, struct fairlead *handle)
{
	json_auto_t *variables = environment_own();
	json_auto_t *answer = NULL;
	struct fairlead_error error;
	int result;

	if (json_array_size(variables) == 0) {
		doctor_say(doctor, DOCTOR_OK, "environment", NULL,
			   "no variable of an interconnect is set");
		return;
	}
	result = remote_try(handle, "inherit",
			    json_pack("{s:O}", "variables", variables), &answer,
			    &error);
	if (result == 0)
		doctor_say(doctor, DOCTOR_OK, "environment", NULL,
			   "what is set belongs to a lane of this node");
	else if (result == -ENODEV)
		doctor_say(doctor, DOCTOR_WARN, "environment",
			   "eval \"$(fairlead env --inherit)\" in a job; "
			   "else unset the variables",
			   "stale variables are set here: %s", error.text);
	else
		doctor_say(doctor, DOCTOR_SKIP, "environment", NULL, "%s",
			   error.text);
}

/* NULL: the reason is a finding. */
static json_t *ask(struct doctor *doctor, struct fairlead *handle,
		   const char *op)
{
	json_t *answer = NULL;
	struct fairlead_error error;

	if (remote_try(handle, op, NULL, &answer, &error) == 0)
		return answer;
	json_decref(answer);
	doctor_say(doctor, DOCTOR_FAIL, op, NULL,
		   "this node's daemon does not answer it: %s", error.text);
	return NULL;
}

void doctor_check_node(struct doctor *doctor, const char *socket_path)
{
	_auto_(fairlead_closep) struct fairlead *handle = NULL;
	json_auto_t *status = NULL;
	json_auto_t *devices = NULL;
	json_auto_t *objects = NULL;
	struct fairlead_error error;

	if (fairlead_open(socket_path, &handle, &error) < 0) {
		doctor_say(
			doctor, DOCTOR_FAIL, "node daemon",
			"start fairleadd on this node; its log says why when "
			"it does not stay",
			"%s", error.text);
		return;
	}
	status = ask(doctor, handle, "node-status");
	if (status) {
		doctor_say(doctor, DOCTOR_OK, "node daemon", NULL,
			   "node '%s', version %s", output_text(status, "name"),
			   output_text(status, "version"));
		check_link(doctor, status);
		check_endpoint(doctor, status);
		check_drained(doctor, status);
		check_loaded_keys(doctor, status);
		check_restart(doctor, status);
		check_drivers(doctor, status);
	}
	devices = ask(doctor, handle, "devices");
	check_devices(doctor, devices);
	objects = ask(doctor, handle, "objects");
	if (objects)
		doctor_check_objects(doctor,
				     status ? output_text(status, "name")
					    : "this node",
				     objects);
	check_environment(doctor, handle);
}
