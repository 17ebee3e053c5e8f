/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the flat list of settings to a struct config: one table says for each
 * text and timeout where it goes, how it is checked and what its default is.
 * Submitters and drivers are lists and are made by hand.
 */
#include "lanes/config/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/config/check.h"
#include "lanes/config/contents.h"
#include "lanes/config/parse.h"
#include "lanes/config/ports.h"
#include "lanes/config/settings.h"

#define DRIVER_ALWAYS "none"

struct timeout_setting {
	const char *section;
	const char *key;
	size_t offset; /* of a uint32_t in struct config */
	uint32_t max_s;
	uint32_t fallback_s;
};

#define AT(member) offsetof(struct config, member)

const struct text_setting text_settings[] = {
	{ "", "cluster", AT(cluster), CHECK_NAME, "cluster", 0,
	  CONFIG_ROLE_MANAGER },
	{ "manager", "listen", AT(manager.listen), CHECK_LISTEN, "0.0.0.0:7171",
	  CONFIG_ROLE_MANAGER },
	{ "manager", "socket", AT(manager.socket), CHECK_PATH,
	  "/run/fairlead/manager.sock", CONFIG_ROLE_MANAGER },
	{ "manager", "listen_clients", AT(manager.listen_clients),
	  CHECK_LISTEN_OR_NONE, "", CONFIG_ROLE_MANAGER },
	{ "manager", "munge_socket", AT(manager.munge_socket),
	  CHECK_PATH_OR_NONE, "", CONFIG_ROLE_MANAGER },
	{ "manager", "state", AT(manager.state), CHECK_PATH,
	  "/var/lib/fairlead", CONFIG_ROLE_MANAGER },
	{ "manager", "key", AT(manager.key), CHECK_PATH,
	  "/etc/fairlead/manager.key", 0, CONFIG_ROLE_MANAGER },
	{ "manager", "nodes", AT(manager.nodes), CHECK_NODES, "" },
	{ "manager", "interconnect", AT(manager.interconnect), CHECK_DRIVER,
	  DRIVER_ALWAYS },
	{ "manager", "user", AT(manager.user), CHECK_USER, "fairlead",
	  CONFIG_ROLE_MANAGER },
	{ "manager", "drain_command", AT(manager.drain_command),
	  CHECK_PATH_OR_NONE, "", 0, CONFIG_ROLE_MANAGER },
	{ "manager", "undrain_command", AT(manager.undrain_command),
	  CHECK_PATH_OR_NONE, "", 0, CONFIG_ROLE_MANAGER },
	{ "manager", "metrics", AT(manager.metrics), CHECK_LISTEN_OR_NONE, "",
	  CONFIG_ROLE_MANAGER },
	{ "node", "name", AT(node.name), CHECK_NODE_NAME, "",
	  CONFIG_ROLE_NODE },
	{ "node", "manager", AT(node.manager), CHECK_ADDRESS_OR_NONE, "",
	  CONFIG_ROLE_NODE },
	{ "node", "socket", AT(node.socket), CHECK_PATH,
	  "/run/fairlead/node.sock", CONFIG_ROLE_NODE },
	{ "node", "run", AT(node.run), CHECK_PATH, "/run/fairlead/node",
	  CONFIG_ROLE_NODE },
	{ "node", "jobs", AT(node.jobs), CHECK_PATH, "/run/fairlead/jobs",
	  CONFIG_ROLE_NODE },
	{ "node", "key", AT(node.key), CHECK_PATH, "/etc/fairlead/node.key",
	  CONFIG_ROLE_NODE },
	{ "node", "user", AT(node.user), CHECK_USER, "fairlead",
	  CONFIG_ROLE_NODE },
	{ "node", "incarnation", AT(node.incarnation), CHECK_PATH,
	  "/proc/sys/kernel/random/boot_id", CONFIG_ROLE_NODE },
	{ "fabric", "provider", AT(fabric.provider), CHECK_PROVIDER,
	  "tcp;ofi_rxm", CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE },
	{ "fabric", "listen", AT(fabric.listen), CHECK_PLACE_OR_NONE, "",
	  CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE },
	{ "fabric", "listen_manager", AT(fabric.listen_manager),
	  CHECK_PLACE_OR_NONE, "", CONFIG_ROLE_MANAGER },
	{ "slurm", "submitter", AT(slurm.submitter), CHECK_SUBMITTER, "slurm" },
	{ "slurm", "manager", AT(slurm.manager), CHECK_MANAGER_OR_NONE, "" },
	{ "slurm", "commands", AT(slurm.commands), CHECK_PATH, "/usr/bin" },
	{ "slurm", "conf", AT(slurm.conf), CHECK_PATH_OR_NONE, "" },
	{ "flux", "submitter", AT(flux.submitter), CHECK_SUBMITTER, "flux" },
	{ "flux", "manager", AT(flux.manager), CHECK_MANAGER_OR_NONE, "" },
	{ "flux", "commands", AT(flux.commands), CHECK_PATH, "/usr/bin" },
};

static const struct timeout_setting timeout_settings[] = {
	{ "manager", "apply_timeout", AT(manager.apply_timeout_ms),
	  CONFIG_TIMEOUT_MAX_S, 30 },
	{ "manager", "revoke_timeout", AT(manager.revoke_timeout_ms),
	  CONFIG_TIMEOUT_MAX_S, 10 },
	{ "slurm", "grace", AT(slurm.grace_ms), CONFIG_TIMEOUT_MAX_S, 60 },
	{ "slurm", "answer_timeout", AT(slurm.answer_timeout_ms),
	  CONFIG_TIMEOUT_MAX_S, 60 },
	{ "node", "epilog_timeout", AT(node.epilog_timeout_ms),
	  CONFIG_TIMEOUT_MAX_S, 5 },
	{ "node", "housekeeping_timeout", AT(node.housekeeping_timeout_ms),
	  CONFIG_HOUSEKEEPING_MAX_S, 300 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const size_t text_setting_count = COUNT(text_settings);

/* Everything that one config_parse() works on. */
struct build {
	struct config *config;
	const struct parse *parse;
	const struct fairlead_driver *const *drivers;
	size_t driver_count;
	struct report *report;
	bool checks_drivers;         /* what their settings say */
	enum contents_reader reader; /* of the files that these name */
};

static void check_repeated(const struct build *build)
{
	for (size_t i = 0; i < build->parse->count; i++) {
		const struct parse_entry *entry = &build->parse->entries[i];
		const struct parse_entry *first = parse_find(
			build->parse, entry->section, entry->title, entry->key);

		if (first != entry)
			report_add(build->report, entry->line,
				   "%s: is set in line %u already", entry->key,
				   first->line);
	}
}

static int take_texts(const struct build *build)
{
	for (size_t i = 0; i < COUNT(text_settings); i++) {
		const struct text_setting *setting = &text_settings[i];
		char **member =
			(char **)((char *)build->config + setting->offset);
		const struct parse_entry *entry = parse_find(
			build->parse, setting->section, "", setting->key);

		if (entry != NULL)
			check_text(setting->kind, setting->key, entry->value,
				   entry->line, build->report);
		*member = strdup(entry == NULL ? setting->fallback
					       : entry->value);
		if (*member == NULL)
			return -ENOMEM;
	}
	return 0;
}

static void take_timeouts(const struct build *build)
{
	for (size_t i = 0; i < COUNT(timeout_settings); i++) {
		const struct timeout_setting *setting = &timeout_settings[i];
		uint32_t *member =
			(uint32_t *)((char *)build->config + setting->offset);
		const struct parse_entry *entry = parse_find(
			build->parse, setting->section, "", setting->key);

		*member = entry == NULL
				  ? setting->fallback_s * 1000
				  : check_seconds(setting->key, entry->value,
						  setting->max_s, entry->line,
						  build->report);
	}
}

static void take_log_level(const struct build *build)
{
	const struct parse_entry *entry =
		parse_find(build->parse, "log", "", "level");

	build->config->log_level = LOG_LEVEL_INFO;
	if (entry != NULL &&
	    log_level_parse(entry->value, &build->config->log_level) < 0)
		report_add(build->report, entry->line,
			   "level: '%s' is not error, warning, info or debug",
			   entry->value);
}

static void check_submitter_uid(const struct build *build, uid_t uid,
				unsigned int line)
{
	const struct config_manager *manager = &build->config->manager;

	for (size_t i = 0; i < manager->submitter_count; i++) {
		if (manager->submitters[i].uid == uid)
			report_add(build->report, line,
				   "uid: %u is submitter '%s' already", uid,
				   manager->submitters[i].name);
	}
}

static int take_submitter(const struct build *build,
			  const struct parse_entry *section)
{
	struct config_manager *manager = &build->config->manager;
	const struct parse_entry *uid =
		parse_find(build->parse, "submitter", section->title, "uid");
	struct config_submitter *submitter;
	uint32_t number = 0;

	check_submitter_name(section->title, section->line, build->report);
	if (uid == NULL)
		report_add(build->report, section->line,
			   "submitter '%s': uid is missing", section->title);
	else if (check_number("uid", uid->value, &number, uid->line,
			      build->report))
		check_submitter_uid(build, number, uid->line);
	if (manager->submitter_count == CONFIG_SUBMITTERS_MAX) {
		report_add(build->report, section->line,
			   "submitter: at most %d", CONFIG_SUBMITTERS_MAX);
		return 0;
	}
	submitter = &manager->submitters[manager->submitter_count];
	submitter->name = strdup(section->title);
	submitter->uid = number;
	if (submitter->name == NULL)
		return -ENOMEM;
	manager->submitter_count++;
	return 0;
}

static int take_submitters(const struct build *build)
{
	struct config_manager *manager = &build->config->manager;
	int result = 0;

	manager->submitters =
		calloc(CONFIG_SUBMITTERS_MAX, sizeof(*manager->submitters));
	if (manager->submitters == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < build->parse->count && result == 0; i++) {
		const struct parse_entry *entry = &build->parse->entries[i];

		if (strcmp(entry->section, "submitter") == 0 &&
		    *entry->key == 0)
			result = take_submitter(build, entry);
	}
	return result;
}

static const struct fairlead_driver *find_built_in(const struct build *build,
						   const char *name)
{
	for (size_t i = 0; i < build->driver_count; i++) {
		if (strcmp(build->drivers[i]->name, name) == 0)
			return build->drivers[i];
	}
	return NULL;
}

static bool has_setting(const struct fairlead_driver *driver, const char *name)
{
	for (size_t i = 0; driver->settings[i] != NULL; i++) {
		if (strcmp(driver->settings[i], name) == 0)
			return true;
	}
	return false;
}

static int take_driver_settings(const struct build *build,
				struct config_driver *driver)
{
	const struct parse *parse = build->parse;
	size_t count;

	driver->settings = calloc(parse->count + 1, sizeof(*driver->settings));
	if (driver->settings == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < parse->count; i++) {
		const struct parse_entry *entry = &parse->entries[i];
		struct fairlead_setting *setting =
			&driver->settings[driver->setting_count];

		if (strcmp(entry->section, "driver") != 0 ||
		    strcmp(entry->title, driver->driver->name) != 0 ||
		    *entry->key == 0)
			continue;
		if (!has_setting(driver->driver, entry->key)) {
			report_add(build->report, entry->line,
				   "driver '%s' has no setting '%s'",
				   driver->driver->name, entry->key);
			continue;
		}
		driver->setting_count++;
		setting->name = strdup(entry->key);
		setting->value = strdup(entry->value);
		setting->line = entry->line;
		if (setting->name == NULL || setting->value == NULL)
			return -ENOMEM;
	}
	count = build->report->count;
	if (contents_read(driver, build->reader, build->report) < 0)
		return -ENOMEM;
	if (!build->checks_drivers || driver->driver->manager == NULL ||
	    build->report->count > count)
		return 0;
	return check_driver(driver->driver, driver->settings,
			    driver->setting_count, build->report);
}

static int take_driver(const struct build *build, const char *name,
		       unsigned int line)
{
	struct config *config = build->config;
	const struct fairlead_driver *built_in = find_built_in(build, name);
	struct config_driver *driver;

	if (built_in == NULL) {
		if (line > 0)
			report_add(build->report, line,
				   "driver '%s' is not built in", name);
		return 0;
	}
	driver = &config->drivers[config->driver_count++];
	driver->driver = built_in;
	driver->line = line;
	return take_driver_settings(build, driver);
}

static int take_drivers(const struct build *build)
{
	struct config *config = build->config;
	const struct parse_entry *entry;
	int result = 0;

	config->drivers =
		calloc(build->driver_count + 1, sizeof(*config->drivers));
	if (config->drivers == NULL)
		return -ENOMEM;
	if (parse_find(build->parse, "driver", DRIVER_ALWAYS, "") == NULL)
		result = take_driver(build, DRIVER_ALWAYS, 0);
	for (size_t i = 0; i < build->parse->count && result == 0; i++) {
		entry = &build->parse->entries[i];
		if (strcmp(entry->section, "driver") == 0 && *entry->key == 0)
			result = take_driver(build, entry->title, entry->line);
	}
	entry = parse_find(build->parse, "manager", "", "interconnect");
	if (result == 0 && entry != NULL && *entry->value != 0 &&
	    build->parse->is_complete &&
	    config_driver_find(config, entry->value) == NULL)
		report_add(build->report, entry->line,
			   "interconnect: '%s' is off: it has no section "
			   "driver \"%s\" { }",
			   entry->value, entry->value);
	return result;
}

static void check_required(const struct build *build, unsigned int roles)
{
	if ((roles & CONFIG_ROLE_NODE) != 0 && build->parse->is_complete &&
	    *build->config->node.manager == 0)
		report_add(build->report, 0,
			   "node: 'manager' (HOST:PORT) is missing");
}

static int build_config(const struct build *build, unsigned int roles)
{
	int result = take_texts(build);

	if (result == 0)
		result = take_submitters(build);
	if (result == 0)
		result = take_drivers(build);
	if (result < 0)
		return result;
	take_timeouts(build);
	take_log_level(build);
	check_repeated(build);
	check_required(build, roles);
	ports_check(build->parse, build->config, roles, build->report);
	return build->report->count > 0 ? -EINVAL : 0;
}

int config_parse(const char *text, size_t size, const char *name,
		 unsigned int roles,
		 const struct fairlead_driver *const *drivers,
		 size_t driver_count, struct config **ret_config,
		 char **ret_errors)
{
	_auto_(config_destroyp) struct config *config = NULL;
	struct report report = { 0 };
	struct parse parse = { 0 };
	struct build build = {
		.parse = &parse,
		.drivers = drivers,
		.driver_count = driver_count,
		.report = &report,
		.checks_drivers =
			roles == 0 || (roles & CONFIG_ROLE_MANAGER) != 0,
		.reader = (roles & CONFIG_ROLE_MANAGER) != 0 ? CONTENTS_MANAGER
			  : (roles & CONFIG_ROLE_NODE) != 0  ? CONTENTS_NODE
							     : CONTENTS_ANYBODY,
	};
	int result;

	config = build.config = calloc(1, sizeof(*config));
	if (config != NULL)
		config->file = strdup(name);
	result = config == NULL || config->file == NULL ? -ENOMEM : 0;
	if (result == 0)
		result = parse_text(text, size, drivers, driver_count, &parse,
				    &report);
	if (result == 0)
		result = build_config(&build, roles);
	if (result == 0)
		*ret_config = take_ptr(config);
	else
		*ret_errors =
			result == -ENOMEM ? NULL : report_format(&report, name);
	parse_fini(&parse);
	report_fini(&report);
	return result;
}

const char *config_fabric_of_manager(const struct config_fabric *fabric)
{
	return *fabric->listen_manager != 0 ? fabric->listen_manager
					    : fabric->listen;
}

const char *config_manager_of(const struct config *config,
			      const struct config_job_manager *section)
{
	return *section->manager != 0 ? section->manager
				      : config->manager.socket;
}

void config_destroy(struct config *config)
{
	if (config == NULL)
		return;
	for (size_t i = 0; i < COUNT(text_settings); i++)
		free(*(char **)((char *)config + text_settings[i].offset));
	for (size_t i = 0; i < config->manager.submitter_count; i++)
		free(config->manager.submitters[i].name);
	free(config->manager.submitters);
	for (size_t i = 0; i < config->driver_count; i++) {
		struct config_driver *driver = &config->drivers[i];

		for (size_t j = 0; j < driver->setting_count; j++) {
			free((char *)driver->settings[j].name);
			free((char *)driver->settings[j].value);
			free((char *)driver->settings[j].content);
		}
		free(driver->settings);
	}
	free(config->drivers);
	free(config->file);
	free(config);
}

const struct config_driver *config_driver_find(const struct config *config,
					       const char *name)
{
	for (size_t i = 0; i < config->driver_count; i++) {
		if (strcmp(config->drivers[i].driver->name, name) == 0)
			return &config->drivers[i];
	}
	return NULL;
}
