/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which plugins job shells load is said by files in Lua, which run as each job's
 * user. They are read and not run: what they make up on the way is not seen.
 */
#include <errno.h>
#include <glob.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lanes/cli/doctor_flux.h"
#include "lanes/cli/flux/initrc.h"
#include "fairlead.h"

#define SHELL     "shell plugin"
#define BYTES_MAX 65536
#define DEPTH_MAX 8

struct reading {
	const struct doctor_flux *flux;
	char *folder;       /* of the initrc */
	char *plugins;      /* where shells look for plugins, with colons */
	size_t count;       /* loads of ours */
	size_t rival_count; /* .. of others that make lanes */
	unsigned int depth;
};

/* --- the settings that a load gives it --- */

static void check_setting(const struct reading *reading,
			  enum doctor_level level, const json_t *conf,
			  const char *name, const char *unsaid,
			  const char *wanted, const char *why)
{
	const json_t *member = json_object_get(conf, name);
	const char *value = member ? json_string_value(member) : unsaid;
	_auto_(freep) char *advice = NULL;

	if (asprintf(&advice, "in its conf: %s = \"%s\"", name, wanted) < 0)
		advice = NULL;
	if (!value)
		doctor_say(reading->flux->doctor, DOCTOR_SKIP, SHELL, advice,
			   "%s is made up by the file, and not known here",
			   name);
	else if (strcmp(value, wanted) == 0)
		doctor_say(reading->flux->doctor, DOCTOR_OK, SHELL, NULL,
			   "%s is %s, as fairlead.conf has it", name, value);
	else
		doctor_say(reading->flux->doctor, level, SHELL, advice,
			   "%s is %s%s, fairlead.conf has %s: %s", name, value,
			   member ? "" : " (not said)", wanted, why);
}

static bool is_known(const char *name)
{
	static const char *const names[] = { "default", "submitter", "jobs_dir",
					     "node_socket", NULL };

	for (size_t i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void check_unknown(const struct reading *reading, const json_t *conf)
{
	const char *name;
	json_t *ignored;

	json_object_foreach ((json_t *)conf, name, ignored)
		if (!is_known(name))
			doctor_say(reading->flux->doctor, DOCTOR_FAIL, SHELL,
				   "take it out: there are default, submitter, "
				   "jobs_dir and node_socket",
				   "'%s' is no setting of the plugin: no task "
				   "starts here",
				   name);
}

static void check_default(const struct reading *reading, const json_t *conf)
{
	const char *value = json_string_value(json_object_get(conf, "default"));
	const char *wanted = doctor_default(reading->flux->config);
	bool is_none = value && strcmp(value, "none") == 0;

	if (is_none)
		check_setting(reading, DOCTOR_FAIL, conf, "default", "must",
			      wanted,
			      "tasks start without their lane where it is "
			      "missing");
	else if (strcmp(wanted, "none") == 0)
		check_setting(reading, DOCTOR_WARN, conf, "default", "must",
			      wanted,
			      "each job shell asks the job manager whether "
			      "there is a lane");
	else
		check_setting(reading, DOCTOR_WARN, conf, "default", "must",
			      wanted,
			      "Flux does the same for both, and who reads it "
			      "expects otherwise");
}

static void check_conf(const struct reading *reading, const json_t *conf)
{
	const struct config *config = reading->flux->config;

	check_unknown(reading, conf);
	check_default(reading, conf);
	check_setting(reading, DOCTOR_FAIL, conf, "submitter", "flux",
		      config->flux.submitter,
		      "tasks do not find what is for them");
	check_setting(reading, DOCTOR_FAIL, conf, "jobs_dir", FAIRLEAD_JOBS_DIR,
		      config->node.jobs, "tasks do not find what is for them");
	check_setting(reading, DOCTOR_FAIL, conf, "node_socket",
		      FAIRLEAD_NODE_SOCKET, config->node.socket,
		      "nobody checks what an instance in a job has inherited");
}

/* --- what is loaded --- */

static void check_plugin(struct reading *reading, const char *path,
			 const struct initrc_call *call, const char *lua)
{
	struct doctor *doctor = reading->flux->doctor;

	if (++reading->count > 1)
		doctor_say(doctor, DOCTOR_WARN, SHELL, "leave one of them",
			   "%s loads it once more: the last one counts", lua);
	if (access(path, F_OK) < 0)
		doctor_say(doctor, DOCTOR_FAIL, SHELL,
			   "install it on every node: " FLUX_PLUGINS,
			   "%s names %s, which is not there: no task starts "
			   "here",
			   lua, path);
	else if (doctor_is_open(path, reading->flux->owner))
		doctor_say(doctor, DOCTOR_FAIL, SHELL,
			   "chown root and chmod go-w it and its folder: the "
			   "shells of all users load it",
			   "%s can be changed by others", path);
	else
		doctor_say(doctor, DOCTOR_OK, SHELL, NULL, "%s loads %s", lua,
			   path);
	check_conf(reading, call->conf);
}

static void check_rival(struct reading *reading, const char *path,
			const char *lua)
{
	reading->rival_count++;
	doctor_say(reading->flux->doctor, DOCTOR_FAIL, "other plugins",
		   "take it away from there",
		   "%s loads %s: both would set the variables of tasks", lua,
		   path);
}

/* A file that a load means, or a pattern's. */
static void take_plugin(struct reading *reading, const char *path,
			const struct initrc_call *call, const char *lua)
{
	const char *file = flux_file_name(path);

	if (strcmp(file, FLUX_SHELL_FILE) == 0)
		check_plugin(reading, path, call, lua);
	else if (flux_is_rival(file))
		check_rival(reading, path, lua);
}

static void take_pattern(struct reading *reading, const char *pattern,
			 const struct initrc_call *call, const char *lua)
{
	glob_t found = { 0 };

	if (glob(pattern, GLOB_NOMAGIC, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			take_plugin(reading, found.gl_pathv[i], call, lua);
	globfree(&found);
}

/* A path by itself, or what is in the folders where shells look. */
static void take_load(struct reading *reading, const struct initrc_call *call,
		      const char *lua)
{
	_auto_(freep) char *folders = strdup(reading->plugins);
	char *rest = folders, *folder;

	if (*call->file == '/') {
		take_pattern(reading, call->file, call, lua);
		return;
	}
	while (*call->file && rest && (folder = strsep(&rest, ":"))) {
		_auto_(freep) char *pattern = NULL;

		if (asprintf(&pattern, "%s/%s", folder, call->file) < 0)
			return;
		if (strpbrk(pattern, "*?[") || access(pattern, F_OK) == 0)
			take_pattern(reading, pattern, call, lua);
	}
}

/* --- files --- */

static void read_lua(struct reading *reading, const char *path);

static void read_pattern(struct reading *reading, const char *folder,
			 const char *pattern)
{
	_auto_(freep) char *whole = NULL;
	glob_t found = { 0 };

	if (!*pattern ||
	    asprintf(&whole, "%s%s%s", *pattern == '/' ? "" : folder,
		     *pattern == '/' ? "" : "/", pattern) < 0)
		return;
	if (glob(whole, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			read_lua(reading, found.gl_pathv[i]);
	globfree(&found);
}

static void take_call(struct reading *reading, const struct initrc_call *call,
		      const char *lua)
{
	_auto_(freep) char *folder = NULL;

	switch (call->kind) {
	case INITRC_LOAD:
		take_load(reading, call, lua);
		break;
	case INITRC_SOURCE:
		read_pattern(reading, reading->folder, call->file);
		break;
	case INITRC_RCPATH:
		if (asprintf(&folder, "%s/lua.d", reading->folder) < 0)
			folder = NULL;
		if (folder)
			read_pattern(reading, folder, call->file);
		break;
	}
}

static char *read_file(const char *path)
{
	_auto_(fclosep) FILE *file = fopen(path, "re");
	char *text = file ? calloc(1, BYTES_MAX + 1) : NULL;

	if (text)
		fread(text, 1, BYTES_MAX, file);
	return text;
}

static void read_lua(struct reading *reading, const char *path)
{
	_auto_(freep) char *text = read_file(path);
	const char *rest = text;
	struct initrc_call call;

	if (!text) {
		doctor_say(reading->flux->doctor, DOCTOR_FAIL, SHELL, NULL,
			   "%s: %s", path, strerror(errno));
		return;
	}
	if (doctor_is_open(path, reading->flux->owner))
		doctor_say(reading->flux->doctor, DOCTOR_FAIL, SHELL,
			   "chown root and chmod go-w it and its folder: the "
			   "shells of all users run it",
			   "%s can be changed by others", path);
	if (reading->depth == DEPTH_MAX)
		return;
	reading->depth++;
	while (initrc_next(&rest, &call)) {
		take_call(reading, &call, path);
		initrc_call_fini(&call);
	}
	reading->depth--;
}

static void say_missing(const struct reading *reading, const char *initrc)
{
	_auto_(freep) char *advice = NULL;

	if (asprintf(&advice, "ln -s " FLUX_PLUGINS "/fairlead.lua %s/lua.d/",
		     reading->folder) < 0)
		advice = NULL;
	doctor_say(reading->flux->doctor, DOCTOR_FAIL, SHELL, advice,
		   "neither %s nor what it reads loads " FLUX_SHELL_FILE
		   ": tasks do not know their lane",
		   initrc);
}

void doctor_flux_shell(const struct doctor_flux *flux)
{
	_auto_(freep) char *initrc =
		doctor_flux_attribute(flux, "conf.shell_initrc");
	_auto_(freep) char *plugins =
		doctor_flux_attribute(flux, "conf.shell_pluginpath");
	_auto_(freep) char *copy = initrc ? strdup(initrc) : NULL;
	struct reading reading = { .flux = flux, .plugins = plugins };

	if (!flux->is_node) {
		doctor_say(flux->doctor, DOCTOR_SKIP, SHELL,
			   "ask again on a node",
			   "Flux runs no jobs on this machine");
		return;
	}
	if (!copy || !plugins) {
		doctor_say(flux->doctor, DOCTOR_SKIP, SHELL, NULL,
			   "Flux does not say which files its shells read "
			   "(conf.shell_initrc)");
		return;
	}
	reading.folder = dirname(copy);
	read_lua(&reading, initrc);
	if (reading.count == 0)
		say_missing(&reading, initrc);
	if (reading.rival_count == 0)
		doctor_say(flux->doctor, DOCTOR_OK, "other plugins", NULL,
			   "no shell plugin sets variables of lanes beside "
			   "ours");
}
