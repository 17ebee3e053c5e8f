/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What drivers say of themselves, on this node and, at the manager, on all: one
 * finding for all nodes that lack the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/memory.h"
#include "base/idset.h"
#include "lanes/cli/doctor.h"
#include "lanes/cli/output.h"
#include "lanes/driver/driver.h"

struct idset *doctor_pool(const struct doctor *doctor, const char *driver)
{
	const struct fairlead_driver *found = driver_find(driver);
	const struct config_driver *section =
		doctor->config ? config_driver_find(doctor->config, driver)
			       : NULL;
	struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX];
	struct fairlead_error ignored;
	struct idset *pool = NULL;
	void *state;

	if (!found || !section ||
	    found->manager->configure(section->settings, section->setting_count,
				      &state, &ignored) < 0)
		return NULL;
	/* Drivers count their devices' identifiers by the first. */
	if (found->manager->pools(state, specs) > 0 && specs[0].universe)
		idset_parse(specs[0].universe, specs[0].limit, &pool, NULL);
	found->manager->destroy(state);
	return pool;
}

void doctor_part_summary(char *summary, const char **ret_lacks)
{
	char *lacks = strstr(summary, FAIRLEAD_SUMMARY_LACKS);

	*ret_lacks = "";
	if (!lacks)
		return;
	*lacks = '\0';
	*ret_lacks = lacks + strlen(FAIRLEAD_SUMMARY_LACKS);
}

static void lacking_add(json_t *lacking, const char *driver, const char *lacks,
			const char *node)
{
	_auto_(freep) char *text = memory_format("%s lacks %s", driver, lacks);
	json_t *names = json_object_get(lacking, text);

	if (!names) {
		names = json_array();
		json_object_set_new(lacking, text, names);
	}
	json_array_append_new(names, json_string(node));
}

/* Of the drivers of all nodes. */
static void check_drivers(struct doctor *doctor, const json_t *nodes,
			  json_t *lacking)
{
	const json_t *node, *driver;
	size_t i, k;

	json_array_foreach (nodes, i, node) {
		json_array_foreach (json_object_get(node, "drivers"), k,
				    driver) {
			_auto_(freep) char *detail =
				memory_text(output_text(driver, "detail"));
			const char *lacks;

			doctor_part_summary(detail, &lacks);
			if (!json_is_true(json_object_get(driver, "usable")))
				doctor_say(doctor, DOCTOR_FAIL, "driver",
					   "fix it there, or drain the node",
					   "%s: %s cannot be used%s%s",
					   output_text(node, "name"),
					   output_text(driver, "name"),
					   *detail ? ", " : "", detail);
			else if (*lacks)
				lacking_add(lacking,
					    output_text(driver, "name"), lacks,
					    output_text(node, "name"));
		}
	}
}

static char *nodes_of(const json_t *names)
{
	size_t count = json_array_size(names);
	_auto_(freep) const char **list =
		memory_array(count + 1, sizeof(*list));

	for (size_t i = 0; i < count; i++)
		list[i] = json_string_value(json_array_get(names, i));
	return memory_have(hostlist_format(list, count));
}

void doctor_check_levels(struct doctor *doctor, const json_t *nodes)
{
	json_auto_t *lacking = json_object();
	const char *text;
	json_t *names;

	check_drivers(doctor, nodes, lacking);
	json_object_foreach (lacking, text, names) {
		_auto_(freep) char *list = nodes_of(names);

		doctor_say(doctor, DOCTOR_WARN, "level",
			   "'fairlead doctor' on such a node has details; the "
			   "manual of the interconnect explains the levels",
			   "%s on %s", text, list);
	}
}
