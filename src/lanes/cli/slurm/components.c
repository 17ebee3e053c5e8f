/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/slurm/components.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/runs.h"
#include "base/text.h"

#define CORES_MAX 65535

/* Of what is not known here something may run. */
static enum component_state state_of(const char *name, size_t size)
{
	static const struct {
		const char *name;
		enum component_state state;
	} known[] = {
		{ "BOOT_FAIL", COMPONENT_OVER },
		{ "CANCELLED", COMPONENT_OVER },
		{ "COMPLETED", COMPONENT_OVER },
		{ "COMPLETING", COMPONENT_ENDING },
		{ "DEADLINE", COMPONENT_OVER },
		{ "FAILED", COMPONENT_OVER },
		{ "NODE_FAIL", COMPONENT_OVER },
		{ "OUT_OF_MEMORY", COMPONENT_OVER },
		{ "PENDING", COMPONENT_OVER },
		{ "PREEMPTED", COMPONENT_OVER },
		{ "REQUEUED", COMPONENT_OVER },
		{ "REQUEUE_FED", COMPONENT_OVER },
		{ "REQUEUE_HOLD", COMPONENT_OVER },
		{ "REVOKED", COMPONENT_OVER },
		{ "RUNNING", COMPONENT_RUNNING },
		{ "SPECIAL_EXIT", COMPONENT_OVER },
		{ "TIMEOUT", COMPONENT_OVER },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].name) == size &&
		    memcmp(name, known[i].name, size) == 0)
			return known[i].state;
	return COMPONENT_THERE;
}

static int parse_line(char *line, struct component *ret_component,
		      struct fairlead_error *ret_error)
{
	struct component component = { 0 };
	const char *fields[4];
	char *rest = line;
	int result = 0;

	for (size_t i = 0; i < 4; i++)
		fields[i] = strsep(&rest, "|");
	if (!fields[3] || rest ||
	    !text_number(fields[0], strlen(fields[0]), &component.id) ||
	    component.id == 0 ||
	    !text_number(fields[2], strlen(fields[2]), &component.cpu_count))
		return error_set(ret_error, -EINVAL,
				 "cannot parse '%.60s' of squeue: it has to be "
				 "ID|STATE|CPUS|NODES",
				 line);
	component.state = state_of(fields[1], strlen(fields[1]));
	if (*fields[3] && strcmp(fields[3], "(null)") != 0)
		result = hostlist_parse(fields[3], &component.nodes, ret_error);
	if (result == 0)
		*ret_component = component;
	return result;
}

int components_parse(char *text, struct components **ret_components,
		     struct fairlead_error *ret_error)
{
	_auto_(components_destroyp) struct components *components =
		memory_alloc(sizeof(*components));
	char *line;
	int result = 0;

	while (result == 0 && (line = strsep(&text, "\n"))) {
		if (*line == 0)
			continue;
		if (components->count == COMPONENTS_MAX)
			return error_set(ret_error, -E2BIG,
					 "a job of more than %d components",
					 COMPONENTS_MAX);
		result = parse_line(line, &components->items[components->count],
				    ret_error);
		if (result == 0)
			components->count++;
	}
	if (result == 0 && components->count == 0)
		result = error_set(ret_error, -EINVAL,
				   "squeue does not list the job");
	if (result == 0)
		*ret_components = take_ptr(components);
	return result;
}

bool components_is_over(const char *text, uint32_t id)
{
	const char *line;
	size_t size;

	while ((line = text_line(&text, &size))) {
		const char *bar = memchr(line, '|', size);
		uint32_t number;

		if (bar && text_number(line, (size_t)(bar - line), &number) &&
		    number == id)
			return state_of(bar + 1,
					size - (size_t)(bar + 1 - line)) <
			       COMPONENT_THERE;
	}
	return false;
}

void components_destroy(struct components *components)
{
	for (size_t i = 0; components && i < components->count; i++)
		hostlist_destroy(components->items[i].nodes);
	free(components);
}

static bool has_node(const struct component *component, const char *node)
{
	for (size_t i = 0; component->nodes && i < component->nodes->count; i++)
		if (strcmp(component->nodes->names[i], node) == 0)
			return true;
	return false;
}

bool components_has_other(const struct components *components, uint32_t id,
			  const char *node)
{
	for (size_t i = 0; i < components->count; i++) {
		const struct component *component = &components->items[i];

		if (component->id == id)
			continue;
		if (node ? component->state != COMPONENT_OVER &&
				    has_node(component, node)
			 : component->state >= COMPONENT_THERE)
			return true;
	}
	return false;
}

bool components_is_running(const struct components *components, uint32_t id)
{
	for (size_t i = 0; i < components->count; i++)
		if (components->items[i].id == id)
			return components->items[i].state == COMPONENT_RUNNING;
	return false;
}

/* --- the whole job --- */

struct component_node {
	UT_hash_handle hh;
	const char *name;
	uint32_t cores;
};

static uint32_t cores_of_node(const struct component *component)
{
	uint32_t count = (uint32_t)component->nodes->count;

	return (component->cpu_count + count - 1) / count;
}

/* `slots` has one for every node of every component. */
static void collect(const struct components *components,
		    struct component_node *slots, struct component_node **table)
{
	struct component_node *found;

	for (size_t i = 0; i < components->count; i++) {
		const struct component *component = &components->items[i];

		if (component->state < COMPONENT_THERE || !component->nodes)
			continue;
		for (size_t j = 0; j < component->nodes->count; j++) {
			const char *name = component->nodes->names[j];

			HASH_FIND_STR(*table, name, found);
			if (!found) {
				found = slots++;
				*found =
					(struct component_node){ .name = name };
				HASH_ADD_KEYPTR(hh, *table, found->name,
						strlen(found->name), found);
				if (!hash_was_added(found))
					memory_end();
			}
			found->cores += cores_of_node(component);
			if (found->cores > CORES_MAX)
				found->cores = CORES_MAX;
		}
	}
}

static size_t node_count(const struct components *components)
{
	size_t count = 0;

	for (size_t i = 0; i < components->count; i++)
		if (components->items[i].nodes)
			count += components->items[i].nodes->count;
	return count;
}

int components_join(const struct components *components, char **ret_nodes,
		    char **ret_cores, struct fairlead_error *ret_error)
{
	size_t most = node_count(components), count = 0;
	_auto_(freep) struct component_node *slots =
		memory_array(most + 1, sizeof(*slots));
	_auto_(freep) const char **names =
		memory_array(most + 1, sizeof(*names));
	_auto_(freep) uint32_t *cores = memory_array(most + 1, sizeof(*cores));
	struct component_node *table = NULL;

	collect(components, slots, &table);
	while (count < most && slots[count].name) {
		names[count] = slots[count].name;
		cores[count] = slots[count].cores > 0 ? slots[count].cores : 1;
		count++;
	}
	HASH_CLEAR(hh, table);
	if (count == 0)
		return error_set(ret_error, -ENODATA, "the job has no nodes");
	*ret_nodes = memory_have(hostlist_format(names, count));
	*ret_cores = memory_have(runs_format(cores, count));
	return 0;
}
