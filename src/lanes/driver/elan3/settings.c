/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/elan3/settings.h"

#include "base/memory.h"
#include "lanes/driver/elan3/hosts.h"
#include "lanes/driver/elan3/policy.h"

#define AT(member) offsetof(struct elan3_settings, member)
#define NODE       FAIRLEAD_SETTING_RESTART_NODE
#define FILE_      FAIRLEAD_SETTING_FILE

/* --- types --- */

static int set_check(const char *text, uint32_t first, uint32_t limit,
		     struct fairlead_error *ret_error)
{
	_auto_(idset_destroyp) struct idset *set = NULL;
	int result = memory_check(idset_parse(text, limit, &set, ret_error));

	if (result == 0 && idset_count(set) > 0 && idset_next(set, 0) < first)
		return error_set(ret_error, -EINVAL,
				 "has %u, which is below %u",
				 idset_next(set, 0), first);
	return result;
}

static int contexts_check(const char *text, struct fairlead_error *ret_error)
{
	return set_check(text, ELAN3_CONTEXT_FIRST, ELAN3_CONTEXT_LIMIT,
			 ret_error);
}

static int programs_check(const char *text, struct fairlead_error *ret_error)
{
	return set_check(text, 1, ELAN3_PROGRAM_LIMIT, ret_error);
}

static int down_check(const char *text, struct fairlead_error *ret_error)
{
	return set_check(text, 0, ELAN_ID_MAX + 1, ret_error);
}

static int ports_check(const char *text, struct fairlead_error *ret_error)
{
	struct idset *ports[ELAN3_RAILS_MAX] = { NULL };
	int result = elan3_ports_parse(text, ports, ret_error);

	for (size_t i = 0; i < ELAN3_RAILS_MAX; i++)
		idset_destroy(ports[i]);
	return result;
}

static const struct fairlead_setting_type type_contexts = { "IDSET",
							    contexts_check };
static const struct fairlead_setting_type type_programs = { "IDSET",
							    programs_check };
static const struct fairlead_setting_type type_down = { "IDSET", down_check };
static const struct fairlead_setting_type type_ports = { "RAIL:ELANIDS...",
							 ports_check };

static const struct fairlead_setting_spec specs[] = {
	{ "genders", &settings_file, AT(genders), "", FILE_ | NODE,
	  "A genders file with the ElanIDs of the nodes. This or *elanhosts* "
	  "is required." },
	{ "elanhosts", &settings_file, AT(elanhosts), "", FILE_ | NODE,
	  "A file with the ElanIDs of the nodes, in lines such as _eip [0-3] "
	  "node[0-3]_." },
	{ "genders_attribute", &settings_text, AT(attribute), "elanid", NODE,
	  "The attribute with the ElanID: a number, or *%n* for the number at "
	  "the end of the node's name." },
	{ "rails", &settings_number, AT(rail_count), "1", NODE,
	  "Number of rails of each node.", 1, ELAN3_RAILS_MAX },
	{ "contexts", &type_contexts, AT(contexts), ELAN3_CONTEXTS, 0,
	  "Contexts of jobs, within the default." },
	{ "programs", &type_programs, AT(programs), ELAN3_PROGRAMS, 0,
	  "Program numbers of jobs, within 1-8388607." },
	{ "down", &type_down, AT(down), "", 0,
	  "ElanIDs that get no jobs. Default: none." },
	{ "down_ports", &type_ports, AT(down_ports), "", 0,
	  "ElanIDs that get no jobs on that rail, separated by blanks. "
	  "Default: none." },
	{ "reserve_fatal", &settings_bool, AT(is_reserve_fatal), "true", 0,
	  "*true*: a job that cannot get its contexts fails. *false*: it runs "
	  "without a lane, and its event says why." },
	{ "rms_directory", &settings_folder, AT(dir), "/run/fairlead-rms", NODE,
	  "Folder of *fairlead-rms*(8), writable by root only." },
	{ "host", &settings_text, AT(host), "", NODE,
	  "The node's name in the file with the ElanIDs. Default: the host's "
	  "name, whole, and then without its domain." },
	{ NULL },
};

const struct fairlead_settings elan3_settings = {
	specs, sizeof(struct elan3_settings)
};

/* --- the file --- */

static void hosts_read(const struct settings *settings,
		       const struct elan3_settings *values,
		       struct elan_hosts **ret_hosts)
{
	bool is_genders = *values->genders != 0;
	const char *name = is_genders ? "genders" : "elanhosts";
	const struct fairlead_setting *file = settings_find(settings, name);
	struct fairlead_error error = { 0 };
	int result;

	if (is_genders && *values->elanhosts != 0)
		settings_fail(settings, "elanhosts",
			      "'genders' is set as well");
	else if (!is_genders && *values->elanhosts == 0)
		settings_errors_add(settings->errors, 0,
				    "'genders' or 'elanhosts' has to be set, "
				    "for the ElanIDs of the nodes");
	if (is_genders == (*values->elanhosts != 0) || file->content == NULL)
		return;
	result = is_genders
			 ? genders_hosts(file->content, file->content_size,
					 values->attribute, ret_hosts, &error)
			 : elanhosts_parse(file->content, file->content_size,
					   ret_hosts, &error);
	if (memory_check(result) < 0)
		settings_fail(settings, name, "%s: %s", file->value,
			      error.text);
	else if (elan_hosts_count(*ret_hosts) == 0)
		settings_fail(settings, name, "%s has no ElanIDs", file->value);
}

int elan3_settings_read(const struct fairlead_setting *list, size_t count,
			struct elan3_settings *ret_settings,
			struct elan_hosts **ret_hosts,
			struct fairlead_error *ret_error)
{
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts = NULL;
	struct settings_errors errors = { 0 };
	const struct settings settings = { list, count, &errors };
	struct elan3_settings values = { 0 };
	int result;

	settings_read(&settings, &elan3_settings, &values);
	hosts_read(&settings, &values, &hosts);
	result = settings_finish(&errors, ret_error);
	if (result < 0)
		return result;
	*ret_settings = values;
	*ret_hosts = take_ptr(hosts);
	return 0;
}
