/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slurm, as its controller goes by its configuration, beside ours. What is on
 * other machines is said to be skipped here.
 */
#include "lanes/cli/doctor_slurm.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/child.h"
#include "lanes/cli/slurm/commands.h"
#include "lanes/cli/slurm/settings.h"

#define TIMEOUT_NONE 65534 /* as Slurm shows that there is none */

char *doctor_slurm_path(const struct doctor_slurm *slurm, const char *path)
{
	_auto_(freep) char *conf = slurm_setting(slurm->settings, "SLURM_CONF");

	return *path == '/' || !conf
		       ? memory_text(path)
		       : memory_format("%s/%s", dirname(conf), path);
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

	if (child_run(slurm->config->slurm.commands, argv, CHILD_TIMEOUT_MS,
		      &slurm->settings, NULL, &error) < 0) {
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

static bool is_controller(const struct doctor_slurm *slurm, const char *host)
{
	_auto_(freep) char *value = NULL;

	for (size_t i = 0;; i++) {
		free(value);
		value = slurm_setting_at(slurm->settings, "SlurmctldHost", i);
		if (!value)
			return false;
		if (doctor_is_host(host, value))
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
		if (doctor_is_host(host, line))
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

	doctor_host(host, sizeof(host));
	slurm->is_controller = is_controller(slurm, host);
	if (child_run(slurm->config->slurm.commands, argv, CHILD_TIMEOUT_MS,
		      &text, NULL, &error) == 0)
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
	advice = memory_format(
		"in slurm.conf: PrologFlags=%s%s%s%s, and restart "
		"slurmctld "
		"and the slurmds",
		flags ? flags : "", flags ? "," : "",
		has_alloc || has_defer ? "" : "Alloc,",
		has_defer ? "Alloc" : "DeferBatch");
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

static void check_beside(const struct doctor_slurm *slurm)
{
	const struct doctor_beside beside = {
		.doctor = slurm->doctor,
		.title = "Slurm",
		.scripts = SLURM_SCRIPTS,
		.section = &slurm->config->slurm,
	};

	if (slurm->has_user)
		doctor_beside_user(&beside, "SlurmUser", slurm->user);
	check_timeout(slurm);
	doctor_beside_drain(&beside);
	doctor_beside_nodes(&beside, slurm->nodes);
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
		check_beside(&slurm);
	}
	json_decref(slurm.nodes);
	free(slurm.settings);
}
