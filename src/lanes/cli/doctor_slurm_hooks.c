/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hooks run as root or as SlurmUser, so nobody else may change them. A site's
 * own script may call ours: it is read for the words that do.
 */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/doctor_slurm.h"
#include "lanes/cli/slurm/slurm.h"
#include "lanes/cli/slurm/settings.h"

#define SCRIPT_BYTES_MAX 65536
#define VALUES_MAX       64

struct hook {
	const char *setting;
	const char *name; /* `fairlead slurm NAME` */
	bool is_on_nodes; /* and as root; else at the controller, as SlurmUser */
};

static const struct hook hooks[] = {
	{ "PrologSlurmctld", "prolog-slurmctld", false },
	{ "Prolog", "prolog", true },
	{ "Epilog", "epilog", true },
	{ "EpilogSlurmctld", "epilog-slurmctld", false },
};

/* Does it say "slurm NAME" or "slurm/NAME", and not a longer name? */
static bool has_call(const char *text, const char *name)
{
	size_t length = strlen(name);

	while ((text = strstr(text, "slurm"))) {
		text += strlen("slurm");
		if ((*text == ' ' || *text == '/') &&
		    strncmp(text + 1, name, length) == 0 &&
		    !strchr("-abcdefghijklmnopqrstuvwxyz",
			    text[1 + length] ? text[1 + length] : ' '))
			return true;
	}
	return false;
}

/* Ours, which takes the name of a link for the hook's. */
static bool is_ours(const char *path, const char *name)
{
	_auto_(freep) char *program = realpath(path, NULL);
	const char *slash = program ? strrchr(program, '/') : NULL;
	const char *hook = slurm_link_hook(path);

	return slash && strcmp(slash + 1, SLURM_PROGRAM) == 0 && hook &&
	       strcmp(hook, name) == 0;
}

static bool does_call(const char *path, const char *name)
{
	_auto_(fclosep) FILE *file = fopen(path, "re");
	_auto_(freep) char *text = memory_alloc(SCRIPT_BYTES_MAX + 1);

	if (!file)
		return false;
	if (is_ours(path, name))
		return true;
	fread(text, 1, SCRIPT_BYTES_MAX, file);
	return strstr(text, "fairlead") && has_call(text, name);
}

static void say_missing(const struct doctor_slurm *slurm,
			const struct hook *hook, const char *path, int result)
{
	bool is_here =
		hook->is_on_nodes ? slurm->is_node : slurm->is_controller;

	if (result == -ENOENT && !is_here)
		doctor_say(slurm->doctor, DOCTOR_SKIP, hook->setting,
			   hook->is_on_nodes ? "retry on a node"
					     : "retry at the controller",
			   "%s is not on this machine, which does not run it",
			   path);
	else
		doctor_say(slurm->doctor, DOCTOR_FAIL, hook->setting,
			   "install it, or fix the setting in slurm.conf",
			   "%s: %s", path, strerror(-result));
}

/* True when Slurm can run it and nobody else can change it. */
static bool check_file(const struct doctor_slurm *slurm,
		       const struct hook *hook, const char *path)
{
	uid_t also = hook->is_on_nodes || !slurm->has_user ? 0 : slurm->user;
	struct stat status;

	if (stat(path, &status) < 0) {
		say_missing(slurm, hook, path, -errno);
		return false;
	}
	if (!S_ISREG(status.st_mode) || !(status.st_mode & S_IXUSR)) {
		doctor_say(slurm->doctor, DOCTOR_FAIL, hook->setting,
			   "chmod 755", "%s is no program that can be run",
			   path);
		return false;
	}
	if (doctor_is_open(path, also)) {
		doctor_say(slurm->doctor, DOCTOR_FAIL, hook->setting,
			   "chown root and chmod go-w it and its folder: Slurm "
			   "runs it with privileges",
			   "%s can be changed by others", path);
		return false;
	}
	return true;
}

/* The files of a value, which may be a pattern. */
static void check_value(const struct doctor_slurm *slurm,
			const struct hook *hook, const char *value,
			bool *is_good, bool *is_called)
{
	_auto_(freep) char *pattern = doctor_slurm_path(slurm, value);
	glob_t found = { 0 };

	if (glob(pattern, GLOB_NOCHECK, NULL, &found) != 0) {
		*is_good = false;
		doctor_say(slurm->doctor, DOCTOR_FAIL, hook->setting, NULL,
			   "%s: the files of this pattern cannot be listed",
			   pattern);
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		*is_good =
			check_file(slurm, hook, found.gl_pathv[i]) && *is_good;
		*is_called =
			does_call(found.gl_pathv[i], hook->name) || *is_called;
	}
	globfree(&found);
}

static void check_hook(const struct doctor_slurm *slurm,
		       const struct hook *hook)
{
	_auto_(freep) char *advice = NULL;
	bool is_good = true, is_called = false;
	size_t count = 0;

	for (; count < VALUES_MAX; count++) {
		_auto_(freep) char *value =
			slurm_setting_at(slurm->settings, hook->setting, count);

		if (!value)
			break;
		check_value(slurm, hook, value, &is_good, &is_called);
	}
	advice = memory_format(count == 0 ? "in slurm.conf: %s=" SLURM_SCRIPTS
					    "/%s"
					  : "have %s call " SLURM_SCRIPTS
					    "/%s, and end as it does",
			       hook->setting, hook->name);
	if (count == 0)
		doctor_say(slurm->doctor, DOCTOR_FAIL, hook->setting, advice,
			   "it is not set: no job gets its lane, or gives it "
			   "back");
	else if (is_good && !is_called)
		doctor_say(slurm->doctor, DOCTOR_WARN, hook->setting, advice,
			   "it does not mention 'fairlead slurm %s'",
			   hook->name);
	else if (is_good)
		doctor_say(slurm->doctor, DOCTOR_OK, hook->setting, NULL,
			   "it calls 'fairlead slurm %s'", hook->name);
}

void doctor_slurm_hooks(const struct doctor_slurm *slurm)
{
	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		check_hook(slurm, &hooks[i]);
}
