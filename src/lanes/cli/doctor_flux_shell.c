/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Job shells load plugins by files in Lua, which are searched for the plugin's
 * name: what they do is not known without running them.
 */
#include <errno.h>
#include <glob.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "fairlead.h"
#include "lanes/cli/doctor_flux.h"

#define SHELL     "shell plugin"
#define BYTES_MAX 65536

struct shell_reading {
	const struct doctor_flux *flux;
	size_t count;       /* of our plugin */
	size_t rival_count; /* of others that make lanes */
};

/* A setting that is not the plugin's default has to be in the file. */
static void check_settings(const struct shell_reading *reading, const char *lua,
			   const char *text)
{
	const struct config *config = reading->flux->config;
	const struct {
		const char *name, *unsaid, *wanted;
		enum doctor_level level;
	} settings[] = {
		{ "default", "must", doctor_default(config), DOCTOR_WARN },
		{ "submitter", "flux", config->flux.submitter, DOCTOR_FAIL },
		{ "jobs_dir", FAIRLEAD_JOBS_DIR, config->node.jobs,
		  DOCTOR_FAIL },
		{ "node_socket", FAIRLEAD_NODE_SOCKET, config->node.socket,
		  DOCTOR_FAIL },
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		_auto_(freep) char *advice =
			memory_format("in its conf: %s = \"%s\"",
				      settings[i].name, settings[i].wanted);

		if (strcmp(settings[i].unsaid, settings[i].wanted) != 0 &&
		    !strstr(text, settings[i].wanted))
			doctor_say(reading->flux->doctor, settings[i].level,
				   SHELL, advice,
				   "%s does not have %s \"%s\", which "
				   "fairlead.conf has",
				   lua, settings[i].name, settings[i].wanted);
	}
}

static void check_plugin(struct shell_reading *reading, const char *path,
			 const char *lua)
{
	struct doctor *doctor = reading->flux->doctor;

	reading->count++;
	if (*path == '/' && access(path, F_OK) < 0)
		doctor_say(doctor, DOCTOR_FAIL, SHELL,
			   "install it on every node: " FLUX_PLUGINS,
			   "%s names %s, which is not there: no task starts "
			   "here",
			   lua, path);
	else if (*path == '/' && doctor_is_open(path, reading->flux->owner))
		doctor_say(doctor, DOCTOR_FAIL, SHELL,
			   "chown root and chmod go-w it and its folder: the "
			   "shells of all users load it",
			   "%s can be changed by others", path);
	else
		doctor_say(doctor, DOCTOR_OK, SHELL, NULL, "%s names %s", lua,
			   path);
}

static void check_rival(struct shell_reading *reading, const char *name,
			const char *where)
{
	reading->rival_count++;
	doctor_say(reading->flux->doctor, DOCTOR_FAIL, "other plugins",
		   "remove it from there",
		   "%s has %s: both plugins would set the variables of tasks",
		   where, name);
}

static void take_line(struct shell_reading *reading, char *line,
		      const char *lua)
{
	char *name = strstr(line, FLUX_SHELL_FILE);
	char *begin = name;

	line += strspn(line, " \t");
	if (strncmp(line, "--", 2) == 0)
		return;
	while (begin && begin > line && !strchr("\"'[", begin[-1]))
		begin--;
	if (name) {
		name[strlen(FLUX_SHELL_FILE)] = 0;
		check_plugin(reading, begin, lua);
	} else if (strstr(line, ".so") && flux_is_rival(line)) {
		check_rival(reading, line, lua);
	}
}

static void read_lua(struct shell_reading *reading, const char *path)
{
	_auto_(fclosep) FILE *file = fopen(path, "re");
	_auto_(freep) char *text = memory_alloc(BYTES_MAX + 1);
	size_t before = reading->count, size;
	const char *rest = text, *line;

	if (!file) {
		doctor_say(reading->flux->doctor, DOCTOR_FAIL, SHELL, NULL,
			   "%s: %s", path, strerror(errno));
		return;
	}
	fread(text, 1, BYTES_MAX, file);
	if (doctor_is_open(path, reading->flux->owner))
		doctor_say(reading->flux->doctor, DOCTOR_FAIL, SHELL,
			   "chown root and chmod go-w it and its folder: the "
			   "shells of all users run it",
			   "%s can be changed by others", path);
	while ((line = text_line(&rest, &size))) {
		_auto_(freep) char *copy =
			memory_format("%.*s", (int)size, line);

		take_line(reading, copy, path);
	}
	if (reading->count > before)
		check_settings(reading, path, text);
}

static void read_pattern(struct shell_reading *reading, const char *folder,
			 const char *pattern,
			 void (*take)(struct shell_reading *reading,
				      const char *path))
{
	_auto_(freep) char *whole = memory_format("%s/%s", folder, pattern);
	glob_t found = { 0 };

	if (glob(whole, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			take(reading, found.gl_pathv[i]);
	globfree(&found);
}

/* Shells load what is in these folders. */
static void take_plugin(struct shell_reading *reading, const char *path)
{
	const char *file = flux_file_name(path);

	if (strcmp(file, FLUX_SHELL_FILE) == 0)
		check_plugin(reading, path, "conf.shell_pluginpath");
	else if (flux_is_rival(file))
		check_rival(reading, path, "conf.shell_pluginpath");
}

static void say_missing(const struct shell_reading *reading, const char *initrc,
			const char *folder)
{
	_auto_(freep) char *advice = memory_format(
		"ln -s " FLUX_PLUGINS "/fairlead.lua %s/lua.d/", folder);

	doctor_say(reading->flux->doctor, DOCTOR_FAIL, SHELL, advice,
		   "neither %s nor lua.d beside it names " FLUX_SHELL_FILE
		   ": tasks do not know their lane",
		   initrc);
}

void doctor_flux_shell(const struct doctor_flux *flux)
{
	_auto_(freep) char *initrc =
		doctor_flux_attribute(flux, "conf.shell_initrc");
	_auto_(freep) char *plugins =
		doctor_flux_attribute(flux, "conf.shell_pluginpath");
	_auto_(freep) char *copy = initrc ? memory_text(initrc) : NULL;
	struct shell_reading reading = { .flux = flux };
	char *rest = plugins, *folder;

	if (!flux->is_node) {
		doctor_say(flux->doctor, DOCTOR_SKIP, SHELL,
			   "ask again on a node",
			   "Flux runs no jobs on this machine");
		return;
	}
	if (!initrc || !plugins) {
		doctor_say(flux->doctor, DOCTOR_SKIP, SHELL, NULL,
			   "Flux does not say which files its shells read "
			   "(conf.shell_initrc)");
		return;
	}
	read_lua(&reading, initrc);
	read_pattern(&reading, dirname(copy), "lua.d/*.lua", read_lua);
	while ((folder = strsep(&rest, ":")))
		read_pattern(&reading, folder, "*.so", take_plugin);
	if (reading.count == 0)
		say_missing(&reading, initrc, copy);
	if (reading.rival_count == 0)
		doctor_say(flux->doctor, DOCTOR_OK, "other plugins", NULL,
			   "no shell plugin sets variables of lanes beside "
			   "ours");
}
