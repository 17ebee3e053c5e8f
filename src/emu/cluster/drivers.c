/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nodes have for each interconnect that can be emulated: a section of the
 * configuration, and a file for Elan. A driver is added by a line of the table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cluster/container.h"
#include "emu/cluster/internal.h"
#include "lanes/driver/driver.h"

#define ELAN_RAILS_MAX 31 /* that fairlead-rms knows */

struct emulated {
	const char *name; /* of the driver */
	bool (*is_there)(const struct cluster_options *options);
	/* The section without its settings that were given. */
	void (*write)(FILE *file, const struct cluster *cluster,
		      const struct cluster_options *options);
};

static bool is_in_section(const char *setting, const char *section)
{
	size_t size = strlen(section);

	return strncmp(setting, section, size) == 0 && setting[size] == '.';
}

static bool is_given(const struct cluster_options *options, const char *setting)
{
	size_t size = strlen(setting);

	for (size_t i = 0; i < options->setting_count; i++)
		if (strncmp(options->settings[i], setting, size) == 0 &&
		    options->settings[i][size] == '=')
			return true;
	return false;
}

void cluster_section_write(FILE *file, const struct cluster_options *options,
			   const char *section)
{
	for (size_t i = 0; i < options->setting_count; i++) {
		const char *name = options->settings[i] + strlen(section) + 1;

		if (is_in_section(options->settings[i], section))
			fprintf(file, "    %.*s = \"%s\"\n",
				(int)(strchr(name, '=') - name), name,
				strchr(name, '=') + 1);
	}
}

/* --- software NICs --- */

static bool has_softnic(const struct cluster_options *options)
{
	return true;
}

static void slingshot_write(FILE *file, const struct cluster *cluster,
			    const struct cluster_options *options)
{
	fprintf(file, "    library = \"%s/softnic/libcxi.so.1\"\n",
		cluster->dir);
	fprintf(file, "    emulation = true\n");
	fprintf(file, "    device_path = \"/run/fairlead/softnic/dev\"\n");
	if (!cluster->has_softfm)
		return;
	fprintf(file,
		"    hwcoll_url = \"https://" CLUSTER_SOFTFM_ADDRESS "\"\n");
	fprintf(file, "    hwcoll_credentials = \"%s/softfm/auth\"\n",
		cluster->dir);
	fprintf(file, "    hwcoll_ca = \"%s/softfm/ca.pem\"\n", cluster->dir);
	fprintf(file, "    hwcoll_node_ca = \"%s/softfm/ca.pem\"\n",
		cluster->dir);
}

bool cluster_wants_softfm(const struct cluster_options *options)
{
	for (size_t i = 0; i < options->setting_count; i++)
		if (strcmp(options->settings[i], CLUSTER_SOFTFM) == 0)
			return true;
	return false;
}

/* --- Ethernet --- */

static bool has_rails(const struct cluster_options *options)
{
	return options->rail_count > 0;
}

/*
 * A node has its own cgroup for root: programs that are there see no other. Its
 * daemon and launchers have one mount namespace, which netns wants.
 */
static void ethernet_write(FILE *file, const struct cluster *cluster,
			   const struct cluster_options *options)
{
	fprintf(file, "    devices = \"");
	for (uint32_t i = 1; i <= options->rail_count; i++)
		fprintf(file, "%seth%u", i > 1 ? "," : "", i);
	fprintf(file, "\"\n");
	if (cluster->cgroup[0] != '\0')
		fprintf(file,
			"    cgroup = \"" CONTAINER_CGROUP "\"\n"
			"    job_cgroup = \"" CONTAINER_CGROUP "/job-%%g\"\n");
	if (!is_given(options, "ethernet.isolation"))
		fprintf(file, "    isolation = \"host,netns\"\n");
}

/* --- Elan: it is there when something is set for it --- */

uint32_t cluster_elan_rails(const struct cluster_options *options)
{
	const char *name = "elan3.rails=";
	uint32_t rails = 0;

	for (size_t i = 0; i < options->setting_count; i++) {
		const char *setting = options->settings[i];

		if (!is_in_section(setting, "elan3"))
			continue;
		if (strncmp(setting, name, strlen(name)) == 0)
			rails = (uint32_t)strtoul(setting + strlen(name), NULL,
						  10);
		else if (rails == 0)
			rails = 1;
	}
	/* What is no number of rails is the driver's to refuse. */
	return rails > ELAN_RAILS_MAX ? 1 : rails;
}

static bool has_elan(const struct cluster_options *options)
{
	return cluster_elan_rails(options) > 0;
}

/* Node I is ElanID I, where nothing else was given. */
static void elan3_write(FILE *file, const struct cluster *cluster,
			const struct cluster_options *options)
{
	if (!is_given(options, "elan3.elanhosts") &&
	    !is_given(options, "elan3.genders"))
		fprintf(file, "    elanhosts = \"%s/elanhosts\"\n",
			cluster->dir);
}

int cluster_elanhosts_write(const struct cluster *cluster,
			    struct fairlead_error *ret_error)
{
	char path[CLUSTER_PATH_MAX];
	uint32_t last = cluster->node_count - 1;
	FILE *file;

	if (cluster->elan_count == 0)
		return 0;
	cluster_path(cluster, path, "elanhosts");
	file = fopen(path, "we");
	if (file != NULL)
		fprintf(file, "eip [0-%u] n[0-%u]\n", last, last);
	if (file == NULL || fclose(file) != 0)
		return error_set(ret_error, -errno, "cannot write '%s': %s",
				 path, strerror(errno));
	return 0;
}

/* --- all --- */

static const struct emulated table[] = {
	{ "slingshot", has_softnic, slingshot_write }, /* the default */
	{ "ethernet", has_rails, ethernet_write },
	{ "elan3", has_elan, elan3_write },
};
#define TABLE_SIZE (sizeof(table) / sizeof(table[0]))

const char *cluster_default_interconnect(void)
{
	return table[0].name;
}

static bool is_there(const struct emulated *emulated,
		     const struct cluster_options *options)
{
	return driver_find(emulated->name) != NULL &&
	       emulated->is_there(options);
}

bool cluster_has_section(const struct cluster_options *options,
			 const char *setting)
{
	for (size_t i = 0; i < TABLE_SIZE; i++)
		if (is_in_section(setting, table[i].name))
			return is_there(&table[i], options);
	return is_in_section(setting, "manager") ||
	       is_in_section(setting, "node") ||
	       is_in_section(setting, "fabric");
}

void cluster_drivers_write(FILE *file, const struct cluster *cluster,
			   const struct cluster_options *options)
{
	for (size_t i = 0; i < TABLE_SIZE; i++) {
		if (!is_there(&table[i], options))
			continue;
		fprintf(file, "\ndriver \"%s\" {\n", table[i].name);
		table[i].write(file, cluster, options);
		cluster_section_write(file, options, table[i].name);
		fprintf(file, "}\n");
	}
}
