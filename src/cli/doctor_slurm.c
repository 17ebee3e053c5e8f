/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slurm, as its controller goes by its configuration, beside ours. What is on
 * other machines is said to be skipped here.
 */
#include "cli/doctor_slurm.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "cli/child.h"
#include "cli/output.h"
#include "cli/remote.h"
#include "cli/slurm/commands.h"
#include "cli/slurm/settings.h"

#define TIMEOUT_NONE 65534 /* as Slurm shows that there is none */

static bool is_path_open(const char *path, uid_t also)
{
	struct stat status;

	return stat(path, &status) == 0 &&
	       ((status.st_uid != 0 && status.st_uid != also) ||
		((status.st_mode & (S_IWGRP | S_IWOTH)) &&
		 !(S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX))));
}

bool doctor_slurm_is_open(const char *path, uid_t also)
{
	_auto_(freep) char *copy = strdup(path);

	return !copy || is_path_open(path, also) ||
	       is_path_open(dirname(copy), also);
}

char *doctor_slurm_path(const struct doctor_slurm *slurm, const char *path)
{
	_auto_(freep) char *conf = slurm_setting(slurm->settings, "SLURM_CONF");
	char *whole;

	if (*path == '/' || !conf)
		return strdup(path);
	return asprintf(&whole, "%s/%s", dirname(conf), path) < 0 ? NULL
								  : whole;
}

/* --- what Slurm says --- */

static bool read_settings(struct doctor_slurm *slurm)
{
	static const char *const argv[] = { "scontrol", "show", "config",
					    NULL };
	_auto_(freep) char *cluster = NULL;
	_auto_(freep) char *version = NULL;
	_auto_(freep) char *user = NULL;
	struct fairlead_error error;

	if (child_run(slurm->config->slurm.commands, argv, &slurm->settings,
		      NULL, &error) < 0) {
		doctor_say(slurm->doctor, DOCTOR_FAIL, "Slurm",
			   "is slurmctld running? 'commands' and 'conf' of the "
			   "section 'slurm' say where Slurm is",
			   "%s", error.text);
		return false;
	}
	cluster = slurm_setting(slurm->settings, "ClusterName");
	version = slurm_setting(slurm->settings, "SLURM_VERSION");
	user = slurm_setting(slurm->settings, "SlurmUser");
	slurm->has_user = slurm_setting_uid(user, &slurm->user);
	doctor_say(slurm->doctor, DOCTOR_OK, "Slurm", NULL,
		   "cluster '%s', version %s", cluster ? cluster : "",
		   version ? version : "unknown");
	return true;
}

/* Is `name` the host, up to its domain? */
static bool is_host(const char *host, const char *name)
{
	size_t size = strcspn(host, ".");

	return size > 0 && strncmp(host, name, size) == 0 &&
	       (name[size] == 0 || strchr(".(", name[size]));
}

static bool is_controller(const struct doctor_slurm *slurm, const char *host)
{
	_auto_(freep) char *value = NULL;

	for (size_t i = 0;; i++) {
		free(value);
		value = slurm_setting_at(slurm->settings, "SlurmctldHost", i);
		if (!value)
			return false;
		if (is_host(host, value))
			return true;
	}
}

/* Lines NODE|HOST of sinfo. */
static void take_nodes(struct doctor_slurm *slurm, char *text, const char *host)
{
	char *line, *name;

	slurm->nodes = json_object();
	while ((line = strsep(&text, "\n"))) {
		name = strsep(&line, "|");
		if (!line || !*name)
			continue;
		json_object_set_new(slurm->nodes, name, json_true());
		if (is_host(host, line))
			slurm->is_node = true;
	}
}

static void find_machines(struct doctor_slurm *slurm)
{
	static const char *const argv[] = { "sinfo", "-h",    "-a", "-N",
					    "-o",    "%N|%n", NULL };
	_auto_(freep) char *text = NULL;
	struct fairlead_error error;
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	slurm->is_controller = is_controller(slurm, host);
	if (child_run(slurm->config->slurm.commands, argv, &text, NULL,
		      &error) == 0)
		take_nodes(slurm, text, host);
	else
		doctor_say(slurm->doctor, DOCTOR_FAIL, "Slurm's nodes", NULL,
			   "%s", error.text);
}

/* --- its settings --- */

static void check_flags(const struct doctor_slurm *slurm)
{
	_auto_(freep) char *flags =
		slurm_setting(slurm->settings, "PrologFlags");
	bool has_alloc = slurm_setting_has(flags, "Alloc");
	bool has_defer = slurm_setting_has(flags, "DeferBatch");
	_auto_(freep) char *advice = NULL;

	if (has_alloc && has_defer) {
		doctor_say(slurm->doctor, DOCTOR_OK, "PrologFlags", NULL, "%s",
			   flags);
		return;
	}
	if (asprintf(&advice,
		     "in slurm.conf: PrologFlags=%s%s%s%s, and restart "
		     "slurmctld "
		     "and the slurmds",
		     flags ? flags : "", flags ? "," : "",
		     has_alloc || has_defer ? "" : "Alloc,",
		     has_defer ? "Alloc" : "DeferBatch") < 0)
		advice = NULL;
	doctor_say(slurm->doctor, DOCTOR_FAIL, "PrologFlags", advice, "%s: %s",
		   flags ? flags : "none",
		   has_alloc ? "a batch job starts when the first of its nodes "
			       "is ready"
			     : "a node's prolog waits for the first task, and "
			       "salloc has none");
}

static void check_switch(const struct doctor_slurm *slurm)
{
	_auto_(freep) char *type = slurm_setting(slurm->settings, "SwitchType");

	if (type && strcmp(type, "switch/hpe_slingshot") == 0)
		doctor_say(slurm->doctor, DOCTOR_FAIL, "SwitchType",
			   "in slurm.conf: no SwitchType; or let Fairlead's "
			   "interconnect be another one",
			   "%s: both would make lanes, out of the same VNIs",
			   type);
	else
		doctor_say(slurm->doctor, DOCTOR_OK, "SwitchType", NULL, "%s",
			   type ? type : "none");
}

/* Since Slurm 24.11 there are two settings for it. */
static void check_timeout(const struct doctor_slurm *slurm)
{
	static const char *const names[] = { "PrologEpilogTimeout",
					     "PrologTimeout", NULL };
	uint32_t apply_s = slurm->config->manager.apply_timeout_ms / 1000;

	for (size_t i = 0; names[i]; i++) {
		_auto_(freep) char *value =
			slurm_setting(slurm->settings, names[i]);
		unsigned long seconds = value ? strtoul(value, NULL, 10) : 0;

		if (!value)
			continue;
		if (seconds > 0 && seconds < apply_s && seconds != TIMEOUT_NONE)
			doctor_say(
				slurm->doctor, DOCTOR_WARN, names[i],
				"make it longer, or 'apply_timeout' of "
				"fairlead.conf shorter",
				"Slurm ends a prolog after %lu s, and a lane "
				"may take %" PRIu32 " s (apply_timeout)",
				seconds, apply_s);
		else
			doctor_say(slurm->doctor, DOCTOR_OK, names[i], NULL,
				   "it leaves the time that a lane may take, "
				   "%" PRIu32 " s",
				   apply_s);
	}
}

/* --- ours --- */

static bool is_url(const char *path)
{
	return strncmp(path, "tcp://", 6) == 0;
}

static const char *manager_of(const struct doctor_slurm *slurm)
{
	const char *path = secure_getenv("FAIRLEAD_SOCKET");

	if (path && *path)
		return path;
	return config_manager_of(slurm->config, &slurm->config->slurm);
}

static void check_commands(const struct doctor_slurm *slurm)
{
	static const char *const names[] = { "squeue", "scancel", NULL };
	const char *folder = slurm->config->slurm.commands;

	for (size_t i = 0; names[i]; i++) {
		_auto_(freep) char *path = NULL;

		if (asprintf(&path, "%s/%s", folder, names[i]) < 0)
			path = NULL;
		if (path && access(path, X_OK) < 0)
			doctor_say(slurm->doctor, DOCTOR_FAIL, "commands",
				   "'commands' of the section 'slurm' is the "
				   "folder of Slurm's commands",
				   "%s: %s", path, strerror(errno));
	}
}

static const struct config_submitter *find_submitter(
	const struct config *config)
{
	for (size_t i = 0; i < config->manager.submitter_count; i++)
		if (strcmp(config->manager.submitters[i].name,
			   config->slurm.submitter) == 0)
			return &config->manager.submitters[i];
	return NULL;
}

/* May PrologSlurmctld, which is SlurmUser, reserve? */
static void check_user(const struct doctor_slurm *slurm)
{
	const struct config_submitter *found = find_submitter(slurm->config);
	bool is_remote = is_url(manager_of(slurm));
	_auto_(freep) char *advice = NULL;
	const char *name = slurm->config->slurm.submitter;

	if (!slurm->has_user)
		return;
	if (asprintf(&advice,
		     "in the manager's fairlead.conf: manager { submitter "
		     "\"%s\" { uid = %u } }",
		     name, slurm->user) < 0)
		advice = NULL;
	if ((found && found->uid == slurm->user) ||
	    (slurm->user == 0 && !is_remote))
		doctor_say(slurm->doctor, DOCTOR_OK, "submitter", NULL,
			   "SlurmUser, uid %u, may reserve for '%s'",
			   slurm->user, name);
	else if (found)
		doctor_say(slurm->doctor, DOCTOR_FAIL, "submitter", advice,
			   "SlurmUser is uid %u, and the submitter '%s' uid %u",
			   slurm->user, name, found->uid);
	else if (is_remote)
		doctor_say(slurm->doctor, DOCTOR_SKIP, "submitter", advice,
			   "whether the manager takes SlurmUser, uid %u, for "
			   "'%s' is not said here",
			   slurm->user, name);
	else
		doctor_say(slurm->doctor, DOCTOR_FAIL, "submitter", advice,
			   "there is no submitter '%s', who SlurmUser, uid %u, "
			   "has to be",
			   name, slurm->user);
}

static void check_drain(const struct doctor_slurm *slurm)
{
	const struct config_manager *manager = &slurm->config->manager;

	if (is_url(manager_of(slurm)))
		doctor_say(slurm->doctor, DOCTOR_SKIP, "drain_command",
			   "ask again on the manager's machine",
			   "the manager is on another machine");
	else if (*manager->drain_command && *manager->undrain_command)
		doctor_say(slurm->doctor, DOCTOR_OK, "drain_command", NULL,
			   "%s and %s", manager->drain_command,
			   manager->undrain_command);
	else
		doctor_say(slurm->doctor, DOCTOR_WARN, "drain_command",
			   "in fairlead.conf: manager { drain_command = "
			   "\"" SLURM_SCRIPTS "/drain\"  undrain_command = "
			   "\"" SLURM_SCRIPTS "/undrain\" }",
			   "a node that Fairlead drains, as it cannot take a "
			   "lane back, goes on getting jobs from Slurm");
}

/* --- nodes --- */

/* Take the names that the manager knows off; false: it did not say. */
static bool take_known(struct fairlead *handle, json_t *unknown,
		       struct fairlead_error *ret_error)
{
	_auto_(freep) char *after = NULL;

	do {
		json_auto_t *page =
			doctor_ask(handle, "node-list",
				   json_pack("{s:s*}", "after", after),
				   ret_error);
		const json_t *node;
		size_t i;

		if (!page)
			return false;
		json_array_foreach (json_object_get(page, "nodes"), i, node)
			json_object_del(unknown, output_text(node, "name"));
		free(after);
		after = doctor_next_page(page);
	} while (after);
	return true;
}

static char *format_names(const json_t *names)
{
	size_t count = json_object_size(names);
	_auto_(freep) const char **list = calloc(count + 1, sizeof(*list));
	const char *name;
	size_t i = 0;
	json_t *ignored;

	if (!list)
		return NULL;
	json_object_foreach ((json_t *)names, name, ignored)
		list[i++] = name;
	return hostlist_format(list, count);
}

static void check_nodes(const struct doctor_slurm *slurm)
{
	_auto_(fairlead_closep) struct fairlead *handle = NULL;
	json_auto_t *unknown = json_copy(slurm->nodes);
	_auto_(freep) char *names = NULL;
	struct fairlead_error error;

	if (!slurm->nodes)
		return;
	if (fairlead_open(manager_of(slurm), &handle, &error) < 0 ||
	    !take_known(handle, unknown, &error)) {
		doctor_say(slurm->doctor, DOCTOR_SKIP, "Slurm's nodes",
			   "ask again when the manager answers", "%s",
			   error.text);
		return;
	}
	if (json_object_size(unknown) == 0) {
		doctor_say(slurm->doctor, DOCTOR_OK, "Slurm's nodes", NULL,
			   "the manager knows all %zu",
			   json_object_size(slurm->nodes));
		return;
	}
	names = format_names(unknown);
	doctor_say(slurm->doctor, DOCTOR_FAIL, "Slurm's nodes",
		   "'nodes' of the section 'manager' has to have them, by the "
		   "names that Slurm has; jobs there are refused",
		   "the manager does not know %s",
		   names ? names : "some of them");
}

void doctor_check_slurm(struct doctor *doctor)
{
	struct doctor_slurm slurm = { .doctor = doctor,
				      .config = doctor->config };

	if (!doctor->config) {
		doctor_say(doctor, DOCTOR_SKIP, "Slurm", NULL,
			   "where it is is not known without the "
			   "configuration");
		return;
	}
	slurm_commands_prepare(&doctor->config->slurm);
	if (read_settings(&slurm)) {
		find_machines(&slurm);
		check_flags(&slurm);
		check_switch(&slurm);
		doctor_slurm_hooks(&slurm);
		doctor_slurm_spank(&slurm);
		check_commands(&slurm);
		check_user(&slurm);
		check_timeout(&slurm);
		check_drain(&slurm);
		check_nodes(&slurm);
	}
	json_decref(slurm.nodes);
	free(slurm.settings);
}
