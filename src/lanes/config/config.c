/* SPDX-License-Identifier: BSD-3-Clause */
/* From the sections of a file to a struct config. */
#include "lanes/config/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/memory.h"
#include "lanes/config/file.h"
#include "lanes/config/settings.h"

#define DRIVER_ALWAYS "none"

/* Everything that one config_parse() works on. */
struct build {
	struct config *config;
	unsigned int roles;
	const struct fairlead_driver *const *drivers;
	size_t driver_count;
	struct settings_errors *errors;
};

static const struct config_section *section_known(const char *name)
{
	const struct config_section *known = config_sections;

	while (known->name != NULL && strcmp(known->name, name) != 0)
		known++;
	return known->name != NULL ? known : NULL;
}

static bool is_driver(const struct conf_section *section)
{
	return section->parent == 0 && section->name != NULL &&
	       strcmp(section->name, "driver") == 0;
}

static bool is_submitter(const struct build *build,
			 const struct conf_section *section)
{
	const struct conf_section *parent =
		&build->config->conf.sections[section->parent];

	return parent->parent == 0 && parent->name != NULL &&
	       strcmp(parent->name, "manager") == 0 && section->name != NULL &&
	       strcmp(section->name, "submitter") == 0;
}

static void check_section(const struct build *build,
			  const struct conf_section *section)
{
	bool has_title = is_driver(section) || is_submitter(build, section);
	const struct conf_section *first =
		conf_find(&build->config->conf, section->parent, section->name,
			  section->title);

	if (!has_title &&
	    (section->parent != 0 || section_known(section->name) == NULL))
		settings_errors_add(build->errors, section->line,
				    "'%s': no such section", section->name);
	else if (has_title != (*section->title != 0))
		settings_errors_add(build->errors, section->line,
				    has_title ? "'%s': a name is missing, as "
						"in %s \"NAME\" { }"
					      : "'%s': the section has no "
						"name, as in %s { }",
				    section->name, section->name);
	else if (first != section)
		settings_errors_add(build->errors, section->line,
				    "'%s': the section is in line %u already",
				    section->name, first->line);
}

static void check_sections(const struct build *build)
{
	const struct conf *conf = &build->config->conf;

	for (size_t i = 1; i < conf->count && !build->errors->is_cut; i++)
		if (conf->sections[i].name != NULL)
			check_section(build, &conf->sections[i]);
}

static void read_sections(const struct build *build)
{
	for (const struct config_section *known = config_sections;
	     known->name != NULL; known++) {
		const struct settings settings = conf_settings(
			conf_find(&build->config->conf, 0, known->name, ""),
			build->errors);

		settings_read(&settings, &known->table, build->config);
	}
}

static void take_submitter(const struct build *build,
			   const struct conf_section *section)
{
	const struct settings settings = conf_settings(section, build->errors);
	struct config_manager *manager = &build->config->manager;
	struct config_submitter submitter = {
		.name = section->title,
		.uid = UINT32_MAX,
	};
	struct fairlead_error error;

	if (*submitter.name != 0 &&
	    type_submitter_check(submitter.name, &error) < 0)
		settings_errors_add(build->errors, section->line,
				    "'submitter': %s", error.text);
	settings_read(&settings, &config_submitter_settings, &submitter);
	if (settings_find(&settings, "uid") == NULL)
		settings_errors_add(build->errors, section->line,
				    "submitter '%s': 'uid' is missing",
				    submitter.name);
	for (size_t i = 0; i < manager->submitter_count; i++)
		if (submitter.uid != UINT32_MAX &&
		    manager->submitters[i].uid == submitter.uid)
			settings_fail(&settings, "uid",
				      "%u is submitter '%s' already",
				      submitter.uid,
				      manager->submitters[i].name);
	if (manager->submitter_count < CONFIG_SUBMITTERS_MAX)
		manager->submitters[manager->submitter_count++] = submitter;
	else
		settings_errors_add(build->errors, section->line,
				    "'submitter': at most %d",
				    CONFIG_SUBMITTERS_MAX);
}

static const struct fairlead_driver *find_built_in(const struct build *build,
						   const char *name)
{
	for (size_t i = 0; i < build->driver_count; i++)
		if (strcmp(build->drivers[i]->name, name) == 0)
			return build->drivers[i];
	return NULL;
}

/* What the driver's manager half reports, "line 12: 'vni_pool': .." a line. */
static void check_driver(const struct build *build,
			 const struct config_driver *driver)
{
	const struct fairlead_manager_ops *ops = driver->driver->manager;
	struct fairlead_error error = { 0 };
	void *state = NULL;
	char *rest = NULL;
	int result = memory_check(ops->configure(
		driver->settings, driver->setting_count, &state, &error));

	if (result == 0) {
		ops->destroy(state);
		return;
	}
	for (char *text = strtok_r(error.text, "\n", &rest); text != NULL;
	     text = strtok_r(NULL, "\n", &rest)) {
		unsigned int line = 0;
		int size = 0;

		if (sscanf(text, "line %u: %n", &line, &size) < 1)
			line = 0;
		settings_errors_add(build->errors, line, "%s", text + size);
	}
}

static bool is_file(const struct fairlead_driver *driver, const char *name)
{
	const struct fairlead_setting_spec *spec = driver->settings->specs;

	while (spec->name != NULL && strcmp(spec->name, name) != 0)
		spec++;
	return spec->name != NULL && (spec->flags & FAIRLEAD_SETTING_FILE) != 0;
}

/* A node without one has other drivers. */
static void read_files(const struct build *build,
		       const struct fairlead_driver *driver,
		       struct conf_section *section)
{
	bool is_needed = (build->roles & CONFIG_ROLE_MANAGER) != 0;

	for (size_t i = 0; i < section->count; i++) {
		struct fairlead_setting *setting = &section->settings[i];
		struct fairlead_error error;
		int result = 0;

		if (is_file(driver, setting->name) && *setting->value == '/')
			result = file_read(setting->value, &setting->content,
					   &setting->content_size, &error);
		if (result < 0 && (result != -ENOENT || is_needed))
			settings_errors_add(build->errors, setting->line,
					    "'%s': %s: %s", setting->name,
					    setting->value, error.text);
	}
}

static struct config_driver *add_driver(struct config *config,
					const struct fairlead_driver *driver,
					const struct conf_section *section)
{
	struct config_driver *added = &config->drivers[config->driver_count++];

	added->driver = driver;
	if (section != NULL) {
		added->settings = section->settings;
		added->setting_count = section->count;
		added->line = section->line;
	}
	return added;
}

static void take_driver(const struct build *build, struct conf_section *section)
{
	const struct fairlead_driver *built_in =
		find_built_in(build, section->title);
	const struct settings settings = conf_settings(section, build->errors);
	_auto_(freep) void *values = NULL;
	struct config_driver *driver;

	if (built_in == NULL && *section->title != 0)
		settings_errors_add(build->errors, section->line,
				    "driver '%s' is not built in",
				    section->title);
	if (built_in == NULL ||
	    config_driver_find(build->config, section->title) != NULL)
		return;
	driver = add_driver(build->config, built_in, section);
	read_files(build, built_in, section);
	/* A client asks daemons, who know what their drivers make of them. */
	if (build->roles == CONFIG_ROLE_CLIENT)
		return;
	values = memory_alloc(built_in->settings->size);
	settings_read(&settings, built_in->settings, values);
	if (built_in->manager != NULL &&
	    (build->roles == 0 || (build->roles & CONFIG_ROLE_MANAGER) != 0))
		check_driver(build, driver);
}

/* Of submitters and drivers. */
static void take_lists(const struct build *build)
{
	struct config *config = build->config;
	struct conf *conf = &config->conf;
	const struct fairlead_driver *always =
		find_built_in(build, DRIVER_ALWAYS);

	config->manager.submitters = memory_array(
		CONFIG_SUBMITTERS_MAX, sizeof(*config->manager.submitters));
	config->drivers =
		memory_array(build->driver_count, sizeof(*config->drivers));
	if (always != NULL &&
	    conf_find(conf, 0, "driver", DRIVER_ALWAYS) == NULL)
		add_driver(config, always, NULL);
	for (size_t i = 1; i < conf->count; i++) {
		if (is_driver(&conf->sections[i]))
			take_driver(build, &conf->sections[i]);
		else if (is_submitter(build, &conf->sections[i]))
			take_submitter(build, &conf->sections[i]);
	}
}

static void check_interconnect(const struct build *build)
{
	const char *name = build->config->manager.interconnect;
	const struct settings settings =
		conf_settings(conf_find(&build->config->conf, 0, "manager", ""),
			      build->errors);

	if (config_driver_find(build->config, name) == NULL)
		settings_fail(&settings, "interconnect",
			      "'%s' is off: it has no section driver \"%s\" "
			      "{ }",
			      name, name);
}

static void check_required(const struct build *build)
{
	if ((build->roles & CONFIG_ROLE_NODE) != 0 &&
	    *build->config->node.manager == 0)
		settings_errors_add(build->errors, 0,
				    "node: 'manager' (HOST:PORT) is missing");
}

/* --- ports --- */

/*
 * Two listeners clash when they have one port, and one address or one of them
 * has every address. An interface counts as having every address. Values that
 * are no addresses are errors already.
 */
#define PORTS_MAX 5

struct config_port {
	const char *section;
	const char *key;
	struct address address;
};

struct config_ports {
	struct config_port ports[PORTS_MAX];
	size_t count;
};

static void add_port(struct config_ports *ports, const char *section,
		     const char *key, const char *text)
{
	struct config_port *port = &ports->ports[ports->count];

	*port = (struct config_port){ .section = section, .key = key };
	if (*text != 0 &&
	    address_parse_listen(text, &port->address, NULL) == 0 &&
	    port->address.port != 0)
		ports->count++;
}

static bool is_everywhere(const char *host)
{
	struct in6_addr numeric;

	return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0 ||
	       (inet_pton(AF_INET, host, &numeric) != 1 &&
		inet_pton(AF_INET6, host, &numeric) != 1);
}

static bool is_clash(const struct address *one, const struct address *other)
{
	return one->port == other->port &&
	       (strcmp(one->host, other->host) == 0 ||
		is_everywhere(one->host) || is_everywhere(other->host));
}

static void report_clash(const struct config *config,
			 const struct config_port *first,
			 const struct config_port *second,
			 struct settings_errors *errors)
{
	const struct settings settings = conf_settings(
		conf_find(&config->conf, 0, second->section, ""), errors);

	settings_fail(&settings, second->key,
		      "port %u is that of '%s' in the section '%s': give it "
		      "another one",
		      second->address.port, first->key, first->section);
}

static void check_ports(const struct config *config, unsigned int roles,
			struct settings_errors *errors)
{
	const struct config_manager *manager = &config->manager;
	const struct config_fabric *fabric = &config->fabric;
	bool is_node = (roles & CONFIG_ROLE_NODE) != 0;
	struct config_ports ports = { 0 };

	/* Without a role, such as in a check, the file says who it is for. */
	if (roles == 0 ? conf_find(&config->conf, 0, "manager", "") == NULL
		       : (roles & CONFIG_ROLE_MANAGER) == 0)
		return;
	add_port(&ports, "manager", "listen", manager->listen);
	add_port(&ports, "manager", "listen_clients", manager->listen_clients);
	add_port(&ports, "manager", "metrics", manager->metrics);
	add_port(&ports, "fabric",
		 is_node || *fabric->listen_manager != 0 ? "listen_manager"
							 : "listen",
		 config_fabric_of_manager(fabric));
	if (is_node)
		add_port(&ports, "fabric", "listen", fabric->listen);
	for (size_t i = 0; i < ports.count; i++)
		for (size_t j = i + 1; j < ports.count; j++)
			if (is_clash(&ports.ports[i].address,
				     &ports.ports[j].address))
				report_clash(config, &ports.ports[i],
					     &ports.ports[j], errors);
}

/* --- the whole --- */

int config_parse(const char *text, size_t size, const char *name,
		 unsigned int roles,
		 const struct fairlead_driver *const *drivers,
		 size_t driver_count, struct config **ret_config,
		 char **ret_errors)
{
	struct config *config = memory_alloc(sizeof(*config));
	struct settings_errors errors = { 0 };
	const struct build build = {
		.config = config,
		.roles = roles,
		.drivers = drivers,
		.driver_count = driver_count,
		.errors = &errors,
	};

	config->file = memory_text(name);
	conf_parse(text, size, &config->conf, &errors);
	check_sections(&build);
	read_sections(&build);
	take_lists(&build);
	check_interconnect(&build);
	check_required(&build);
	check_ports(config, roles, &errors);
	if (errors.count == 0) {
		*ret_config = config;
		return 0;
	}
	*ret_errors = settings_errors_format(&errors, name);
	config_destroy(config);
	return -EINVAL;
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
	conf_fini(&config->conf);
	free(config->manager.submitters);
	free(config->drivers);
	free(config->file);
	free(config);
}

const struct config_driver *config_driver_find(const struct config *config,
					       const char *name)
{
	for (size_t i = 0; i < config->driver_count; i++)
		if (strcmp(config->drivers[i].driver->name, name) == 0)
			return &config->drivers[i];
	return NULL;
}
