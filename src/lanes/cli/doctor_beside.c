/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/doctor_beside.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/cli/output.h"
#include "lanes/cli/remote.h"
#include "lanes/cli/slurm/expect.h"

static bool is_path_open(const char *path, uid_t also)
{
	struct stat status;

	return stat(path, &status) == 0 &&
	       ((status.st_uid != 0 && status.st_uid != also) ||
		((status.st_mode & (S_IWGRP | S_IWOTH)) &&
		 !(S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX))));
}

bool doctor_is_open(const char *path, uid_t also)
{
	_auto_(freep) char *copy = memory_text(path);
	_auto_(freep) char *target = realpath(path, NULL);

	return is_path_open(path, also) || is_path_open(dirname(copy), also) ||
	       (target && is_path_open(dirname(target), also));
}

bool doctor_is_url(const char *path)
{
	return strncmp(path, "tcp://", 6) == 0;
}

void doctor_host(char *host, size_t size)
{
	memset(host, 0, size);
	gethostname(host, size - 1);
}

bool doctor_is_host(const char *host, const char *name)
{
	size_t size = strcspn(host, ".");

	return size > 0 && strncmp(host, name, size) == 0 &&
	       (name[size] == 0 || strchr(".(", name[size]));
}

const char *doctor_default(const struct config *config)
{
	return lane_expectation_name(lane_expect(config, NULL, ""));
}

const char *doctor_beside_manager(const struct doctor_beside *beside)
{
	const char *path = secure_getenv("FAIRLEAD_SOCKET");

	if (beside->manager)
		return beside->manager;
	if (path && *path)
		return path;
	return config_manager_of(beside->doctor->config, beside->section);
}

/* --- its user --- */

static const struct config_submitter *find_submitter(
	const struct doctor_beside *beside)
{
	const struct config_manager *manager = &beside->doctor->config->manager;

	for (size_t i = 0; i < manager->submitter_count; i++)
		if (strcmp(manager->submitters[i].name,
			   beside->section->submitter) == 0)
			return &manager->submitters[i];
	return NULL;
}

void doctor_beside_user(const struct doctor_beside *beside, const char *who,
			uid_t user)
{
	const struct config_submitter *found = find_submitter(beside);
	bool is_remote = doctor_is_url(doctor_beside_manager(beside));
	struct doctor *doctor = beside->doctor;
	const char *name = beside->section->submitter;
	_auto_(freep) char *advice = memory_format(
		"in the manager's fairlead.conf: manager { submitter "
		"\"%s\" { uid = %u } }",
		name, user);

	if ((found && found->uid == user) || (user == 0 && !is_remote))
		doctor_say(doctor, DOCTOR_OK, "submitter", NULL,
			   "%s, uid %u, may reserve for '%s'", who, user, name);
	else if (found)
		doctor_say(doctor, DOCTOR_FAIL, "submitter", advice,
			   "%s is uid %u, and the submitter '%s' uid %u", who,
			   user, name, found->uid);
	else if (is_remote)
		doctor_say(doctor, DOCTOR_SKIP, "submitter", advice,
			   "whether the manager takes %s, uid %u, for '%s' is "
			   "not said here",
			   who, user, name);
	else
		doctor_say(doctor, DOCTOR_FAIL, "submitter", advice,
			   "there is no submitter '%s', who %s, uid %u, has to "
			   "be",
			   name, who, user);
}

void doctor_beside_drain(const struct doctor_beside *beside)
{
	const struct config_manager *manager = &beside->doctor->config->manager;
	struct doctor *doctor = beside->doctor;
	_auto_(freep) char *advice = memory_format(
		"in fairlead.conf: manager { drain_command = "
		"\"%s/drain\"  undrain_command = \"%s/undrain\" }",
		beside->scripts, beside->scripts);

	if (doctor_is_url(doctor_beside_manager(beside)))
		doctor_say(doctor, DOCTOR_SKIP, "drain_command",
			   "retry on the manager's machine",
			   "the manager is on another machine");
	else if (*manager->drain_command && *manager->undrain_command)
		doctor_say(doctor, DOCTOR_OK, "drain_command", NULL,
			   "%s and %s", manager->drain_command,
			   manager->undrain_command);
	else
		doctor_say(doctor, DOCTOR_WARN, "drain_command", advice,
			   "a node that Fairlead drains, as it cannot take a "
			   "lane back, goes on getting jobs from %s",
			   beside->title);
}

/* --- nodes --- */

static char *format_names(const json_t *names)
{
	size_t count = json_object_size(names);
	_auto_(freep) const char **list =
		memory_array(count + 1, sizeof(*list));
	const char *name;
	size_t i = 0;
	json_t *ignored;

	json_object_foreach ((json_t *)names, name, ignored)
		list[i++] = name;
	return memory_have(hostlist_format(list, count));
}

void doctor_beside_nodes(const struct doctor_beside *beside,
			 const json_t *names)
{
	_auto_(fairlead_closep) struct fairlead *handle = NULL;
	json_auto_t *unknown = json_copy((json_t *)names);
	json_auto_t *answer = NULL;
	_auto_(freep) char *check = memory_format("%s's nodes", beside->title);
	_auto_(freep) char *text = NULL;
	struct doctor *doctor = beside->doctor;
	struct fairlead_error error;
	const json_t *node;
	size_t i;

	if (!names)
		return;
	if (fairlead_open(doctor_beside_manager(beside), &handle, &error) < 0 ||
	    remote_try(handle, "node-list", NULL, &answer, &error) < 0) {
		doctor_say(doctor, DOCTOR_SKIP, check,
			   "retry when the manager answers", "%s", error.text);
		return;
	}
	json_array_foreach (json_object_get(answer, "nodes"), i, node)
		json_object_del(unknown, output_text(node, "name"));
	if (json_object_size(unknown) == 0) {
		doctor_say(doctor, DOCTOR_OK, check, NULL,
			   "the manager knows all %zu",
			   json_object_size(names));
		return;
	}
	text = format_names(unknown);
	doctor_say(doctor, DOCTOR_FAIL, check,
		   "add them to 'nodes' of the section 'manager', under the "
		   "names that the job manager has; jobs there are refused",
		   "the manager does not know %s", text);
}

void doctor_check_setting(struct doctor *doctor, enum doctor_level level,
			  const char *check, const char *where,
			  const char *name, const char *value,
			  const char *wanted, const char *why)
{
	_auto_(freep) char *advice =
		memory_format("set %s to \"%s\" in %s", name, wanted, where);

	if (strcmp(value, wanted) == 0)
		doctor_say(doctor, DOCTOR_OK, check, NULL,
			   "%s is %s, as in fairlead.conf", name, value);
	else
		doctor_say(doctor, level, check, advice,
			   "%s is %s, fairlead.conf has %s: %s", name, value,
			   wanted, why);
}
