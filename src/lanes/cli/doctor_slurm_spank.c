/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plugin reads no configuration: what it has to know is said by the
 * arguments of its line, and is compared here.
 */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/doctor_slurm.h"
#include "lanes/cli/slurm/expect.h"
#include "lanes/cli/slurm/plugstack.h"
#include "lanes/cli/slurm/settings.h"
#include "fairlead.h"

#define CHECK     "SPANK plugin"
#define PLUGIN    "spank_fairlead.so"
#define DEPTH_MAX 8

struct stack {
	const struct doctor_slurm *slurm;
	size_t count; /* lines that name our plugin */
	unsigned int depth;
};

/* A node needs it; users may submit from this machine or not. */
static enum doctor_level lacking(const struct doctor_slurm *slurm)
{
	return slurm->is_node ? DOCTOR_FAIL : DOCTOR_WARN;
}

/* An argument, or the plugin's default, against ours. */
static void check_argument(const struct doctor_slurm *slurm,
			   const struct plugstack_line *line, const char *name,
			   const char *unset, const char *wanted,
			   const char *why)
{
	_auto_(freep) char *value = plugstack_argument(line->arguments, name);

	doctor_check_setting(slurm->doctor, DOCTOR_FAIL, CHECK, "that line",
			     name, value ? value : unset, wanted, why);
}

static const char *why_default(const struct doctor_slurm *slurm)
{
	switch (lane_expect(slurm->config, NULL, "")) {
	case LANE_NONE:
		return "tasks of jobs that ask for no lane fail, or look for "
		       "one";
	case LANE_MAY:
		return "tasks of jobs that go on without a lane fail, or those "
		       "of others start without theirs";
	case LANE_MUST:
		break;
	}
	return "tasks start without their lane where it is missing";
}

/* In the folder of its path, or in PluginDir, where there may be several. */
static char *find_plugin(const struct doctor_slurm *slurm, const char *path)
{
	_auto_(freep) char *folders =
		slurm_setting(slurm->settings, "PluginDir");
	char *rest = folders, *folder, *found = NULL;

	if (*path == '/')
		return access(path, F_OK) == 0 ? memory_text(path) : NULL;
	while (rest && (folder = strsep(&rest, ":"))) {
		found = memory_format("%s/%s", folder, path);
		if (access(found, F_OK) == 0)
			return found;
		free(take_ptr(found));
	}
	return NULL;
}

static void check_plugin_file(const struct doctor_slurm *slurm,
			      const char *path)
{
	_auto_(freep) char *found = find_plugin(slurm, path);

	if (!found)
		doctor_say(slurm->doctor, lacking(slurm), CHECK,
			   "install it on nodes and where users submit; with "
			   "'optional' Slurm goes on without it, and without "
			   "--fairlead",
			   "%s is not there", path);
	else if (doctor_is_open(found, 0))
		doctor_say(slurm->doctor, DOCTOR_FAIL, CHECK,
			   "chown root and chmod go-w it and its folder: "
			   "slurmd loads it as root",
			   "%s can be changed by others", found);
	else
		doctor_say(slurm->doctor, DOCTOR_OK, CHECK, NULL,
			   "%s is there, and root's", found);
}

static void check_line(struct stack *stack, const struct plugstack_line *line,
		       const char *file)
{
	const struct doctor_slurm *slurm = stack->slurm;

	if (++stack->count > 1) {
		doctor_say(slurm->doctor, DOCTOR_FAIL, CHECK, "leave one line",
			   "%s names it once more", file);
		return;
	}
	if (line->is_required)
		doctor_say(
			slurm->doctor, DOCTOR_WARN, CHECK,
			"write 'optional': a task whose lane is missing "
			"fails all the same",
			"%s has it 'required': where it cannot be loaded, as "
			"after an upgrade of Slurm, no srun, no sbatch and "
			"no slurmd starts",
			file);
	check_plugin_file(slurm, line->path);
	check_argument(slurm, line, "default", "must",
		       doctor_default(slurm->config), why_default(slurm));
	check_argument(slurm, line, "submitter", "slurm",
		       slurm->config->slurm.submitter,
		       "tasks do not find what is for them");
	check_argument(slurm, line, "jobs_dir", FAIRLEAD_JOBS_DIR,
		       slurm->config->node.jobs,
		       "tasks do not find what is for them");
}

static void read_stack(struct stack *stack, const char *path);

static void read_include(struct stack *stack, const char *pattern,
			 const char *file)
{
	const char *slash = strrchr(file, '/');
	_auto_(freep) char *whole = NULL;
	glob_t found = { 0 };

	/* As Slurm has it: beside the file. */
	whole = memory_format("%.*s%s",
			      *pattern == '/' ? 0 : (int)(slash - file + 1),
			      file, pattern);
	if (glob(whole, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			read_stack(stack, found.gl_pathv[i]);
	globfree(&found);
}

static void read_stack(struct stack *stack, const char *path)
{
	_auto_(fclosep) FILE *file = fopen(path, "re");
	_auto_(freep) char *text = NULL;
	struct plugstack_line line;
	size_t capacity = 0;

	if (!file) {
		doctor_say(stack->slurm->doctor, lacking(stack->slurm), CHECK,
			   NULL, "%s: %s", path, strerror(errno));
		return;
	}
	if (stack->depth == DEPTH_MAX)
		return;
	stack->depth++;
	while (getline(&text, &capacity, file) > 0) {
		enum plugstack_kind kind = plugstack_parse(text, &line);

		if (kind == PLUGSTACK_INCLUDE)
			read_include(stack, line.path, path);
		else if (kind == PLUGSTACK_PLUGIN &&
			 plugstack_is(&line, PLUGIN))
			check_line(stack, &line, path);
	}
	stack->depth--;
}

void doctor_slurm_spank(const struct doctor_slurm *slurm)
{
	struct stack stack = { .slurm = slurm };
	_auto_(freep) char *setting =
		slurm_setting(slurm->settings, "PlugStackConfig");
	_auto_(freep) char *path = doctor_slurm_path(
		slurm, setting ? setting : "/etc/slurm/plugstack.conf");
	_auto_(freep) char *advice = NULL;

	read_stack(&stack, path);
	advice = memory_format("in %s: optional " SLURM_SCRIPTS "/" PLUGIN
			       " default=%s",
			       path, doctor_default(slurm->config));
	if (stack.count == 0)
		doctor_say(slurm->doctor, lacking(slurm), CHECK, advice,
			   "%s does not name it: there is no --fairlead, and "
			   "tasks do not know their lane",
			   path);
}
