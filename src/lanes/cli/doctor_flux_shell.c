/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Job shells load plugins that files in Lua name, and all of some folders. The
 * files are searched: what they do is not known without running them.
 */
#include "lanes/cli/doctor_flux_shell.h"

#include <glob.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "lanes/cli/doctor_beside.h"
#include "lanes/cli/flux/said.h"

#define SHELL     "shell plugin"
#define BYTES_MAX 65536

struct shell_reading {
	struct doctor *doctor;
	uid_t owner;
	size_t count;       /* of our plugin */
	size_t rival_count; /* of others that make lanes */
};

static bool is_open(const struct shell_reading *reading, const char *path)
{
	if (*path != '/' || !doctor_is_open(path, reading->owner))
		return false;
	doctor_say(reading->doctor, DOCTOR_FAIL, SHELL,
		   "chown root and chmod go-w it and its folder: the shells of "
		   "all users load it",
		   "%s can be changed by others", path);
	return true;
}

static void check_plugin(struct shell_reading *reading, const char *path,
			 const char *where)
{
	reading->count++;
	if (*path == '/' && access(path, F_OK) < 0)
		doctor_say(reading->doctor, DOCTOR_FAIL, SHELL,
			   "install it on every node",
			   "%s names %s, which is not there: no task starts "
			   "here",
			   where, path);
	else if (!is_open(reading, path))
		doctor_say(reading->doctor, DOCTOR_OK, SHELL, NULL,
			   "job shells load %s by %s", path, where);
}

static void check_rival(struct shell_reading *reading, const char *name,
			const char *where)
{
	reading->rival_count++;
	doctor_say(reading->doctor, DOCTOR_FAIL, "other plugins",
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

static void take_lua(struct shell_reading *reading, const char *path)
{
	_auto_(fclosep) FILE *file = fopen(path, "re");
	_auto_(freep) char *text = memory_alloc(BYTES_MAX + 1);
	const char *rest = text, *line;
	size_t size;

	if (file)
		fread(text, 1, BYTES_MAX, file);
	is_open(reading, path);
	while ((line = text_line(&rest, &size))) {
		_auto_(freep) char *copy =
			memory_format("%.*s", (int)size, line);

		take_line(reading, copy, path);
	}
}

static void take_plugin(struct shell_reading *reading, const char *path)
{
	const char *file = strrchr(path, '/') + 1;

	if (strcmp(file, FLUX_SHELL_FILE) == 0)
		check_plugin(reading, path, "conf.shell_pluginpath");
	else if (flux_is_rival(file))
		check_rival(reading, path, "conf.shell_pluginpath");
}

static void take_files(struct shell_reading *reading, const char *folder,
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

void doctor_flux_shell(struct doctor *doctor, uid_t owner, const char *initrc,
		       const char *folders)
{
	struct shell_reading reading = { .doctor = doctor, .owner = owner };
	_auto_(freep) char *copy = memory_text(initrc ? initrc : "");
	_auto_(freep) char *list = memory_text(folders ? folders : "");
	char *rest = list, *folder;

	if (initrc) {
		take_lua(&reading, initrc);
		take_files(&reading, dirname(copy), "lua.d/*.lua", take_lua);
	}
	while (*list && (folder = strsep(&rest, ":")))
		take_files(&reading, folder, "*.so", take_plugin);
	if (reading.count == 0)
		doctor_say(
			doctor, DOCTOR_FAIL, SHELL,
			"link /usr/lib/fairlead/flux/fairlead.lua into the "
			"folder lua.d beside the shells' initrc.lua",
			"neither %s nor lua.d beside it names " FLUX_SHELL_FILE
			": tasks do not know their lane",
			initrc ? initrc : "initrc.lua");
	if (reading.rival_count == 0)
		doctor_say(doctor, DOCTOR_OK, "other plugins", NULL,
			   "no shell plugin sets variables of lanes beside "
			   "ours");
}
