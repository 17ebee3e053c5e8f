/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Taking a configuration, at the start and live. It is checked whole, with all
 * errors, before any of it is taken. What is in use is never forgotten: an
 * identifier outside the new universe is draining, a node that left and still
 * holds something is leaving.
 */
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "lanes/manager/core/out.h"
#include "lanes/proto/collective.h"

void config_plan_fini(struct config_plan *plan)
{
	hostlist_destroy(plan->nodes);
	drivers_drop(&plan->drivers);
	plan->nodes = NULL;
}

/* Names that differ and stand for one member of a collective. */
static void nids_check(const struct hostlist *list,
		       struct fairlead_error *error)
{
	size_t other;
	int index = nid_duplicate(list, &other);

	if (index >= 0)
		error_add(error, -EINVAL,
			  "nodes: '%s' and '%s' have the same NID: one of them "
			  "needs another name",
			  list->names[other], list->names[index]);
	else if (index != -ENOENT)
		error_add(error, index, "nodes: out of memory");
}

static void nodes_plan(const struct core_config *config,
		       struct config_plan *plan, struct fairlead_error *error)
{
	struct fairlead_error own = { 0 };
	int duplicate;

	if (config->nodes[0] == 0)
		return;
	if (hostlist_parse(config->nodes, &plan->nodes, &own) < 0) {
		error_add(error, -EINVAL, "nodes: %s", own.text);
		return;
	}
	duplicate = hostlist_duplicate(plan->nodes);
	if (duplicate >= 0)
		error_add(error, -EINVAL, "nodes: '%s' stands twice",
			  plan->nodes->names[duplicate]);
	else
		nids_check(plan->nodes, error);
}

/* A driver stays on until its external reservations are released. */
static void outsides_check(const struct core *core,
			   const struct core_config *config,
			   struct fairlead_error *ret_error)
{
	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++) {
		const struct interconnect *ic = &core->interconnects.list[i];
		uint32_t count = core->outsides[i].table.item_count;
		bool is_on = count == 0;

		for (size_t n = 0; n < config->driver_count; n++)
			is_on = is_on ||
				config->drivers[n].driver == ic->driver;
		if (!is_on)
			error_add(
				ret_error, -EINVAL,
				"driver '%s' has %u external reservations: it "
				"cannot be turned off before they are "
				"released",
				ic->driver->name, count);
	}
}

int config_plan(const struct core *core, const struct core_config *config,
		struct config_plan *ret_plan, struct fairlead_error *ret_error)
{
	bool is_known = false;

	*ret_plan = (struct config_plan){ 0 };
	*ret_error = (struct fairlead_error){ 0 };
	nodes_plan(config, ret_plan, ret_error);
	if (config->apply_timeout_ms == 0)
		error_add(ret_error, -EINVAL, "apply_timeout is 0");
	if (config->revoke_timeout_ms == 0)
		error_add(ret_error, -EINVAL, "revoke_timeout is 0");
	if (config->events_keep >= CORE_TOMBSTONES_MAX)
		error_add(ret_error, -EINVAL,
			  "events of %" PRIu32
			  " grants are to be kept; the maximum is %d",
			  config->events_keep, CORE_TOMBSTONES_MAX - 1);
	for (size_t i = 0; i < config->driver_count; i++)
		is_known = is_known || strcmp(config->drivers[i].driver->name,
					      config->interconnect) == 0;
	if (!is_known)
		error_add(ret_error, -EINVAL,
			  "interconnect '%s' is not turned on",
			  config->interconnect);
	drivers_plan(&core->interconnects, config, &core->probe,
		     &ret_plan->drivers, ret_error);
	outsides_check(core, config, ret_error);
	return ret_error->code;
}

void config_take(struct core *core, const struct core_config *config,
		 struct config_plan *plan)
{
	nodes_foreach(node, &core->nodes) core_reports_detach(core, node);
	drivers_take(&core->interconnects, &plan->drivers, &core->probe);
	core_cursors_apply(core);
	nodes_foreach(node, &core->nodes) core_reports_attach(core, node);
	core->cluster = config->cluster;
	core->interconnect = config->interconnect;
	core->apply_timeout_ms = config->apply_timeout_ms;
	core->revoke_timeout_ms = config->revoke_timeout_ms;
	core->tombstones.keys_max = config->events_keep;
}

/* --- nodes --- */

/* True: nothing keeps the node, and it is gone. */
static bool node_go(struct core *core, struct node *node)
{
	if (node->is_configured || node->is_pinned || node_is_needed(node))
		return false;
	core_hit(core, EDGE_NODE_GONE);
	core_delete_node(core, node);
	nodes_remove(&core->nodes, node);
	return true;
}

void core_node_settle(struct core *core, struct node *node)
{
	if (node_go(core, node))
		core_store_names(core);
}

void core_node_unpin(struct core *core, struct node *node)
{
	node->is_pinned = false;
	core_node_settle(core, node);
}

/* Nodes that left the configuration or came into it. */
struct node_changes {
	const char **added, **removed, **leaving;
	size_t added_count, removed_count, leaving_count;
};

static void node_changes_fini(struct node_changes *changes)
{
	free(changes->added);
	free(changes->removed);
	free(changes->leaving);
}

static bool *listed_of(const struct core *core, const struct hostlist *list)
{
	bool *is_listed = memory_array(core->nodes.limit, sizeof(bool));

	for (size_t i = 0; list != NULL && i < list->count; i++) {
		const struct node *node =
			nodes_find(&core->nodes, list->names[i]);

		if (node != NULL)
			is_listed[node->index] = true;
	}
	return is_listed;
}

static void node_changes_find(const struct core *core,
			      const struct hostlist *list,
			      struct node_changes *ret_changes)
{
	size_t count = list == NULL ? 0 : list->count;
	_auto_(freep) bool *is_listed = listed_of(core, list);
	struct node_changes changes = {
		.added = memory_array(count, sizeof(char *)),
		.removed = memory_array(core->nodes.count, sizeof(char *)),
		.leaving = memory_array(core->nodes.count, sizeof(char *)),
	};

	for (size_t i = 0; i < count; i++) {
		const struct node *node =
			nodes_find(&core->nodes, list->names[i]);

		if (node == NULL || !node->is_configured)
			changes.added[changes.added_count++] = list->names[i];
	}
	nodes_foreach(node, &core->nodes)
	{
		if (is_listed[node->index] || !node->is_configured)
			continue;
		if (node_is_needed(node))
			changes.leaving[changes.leaving_count++] = node->name;
		else
			changes.removed[changes.removed_count++] = node->name;
	}
	*ret_changes = changes;
}

static int node_changes_check(const struct core *core,
			      const struct node_changes *changes,
			      struct fairlead_error *ret_error)
{
	if (changes->removed_count + changes->leaving_count >
	    CORE_NAMED_NODES_MAX)
		return error_add(ret_error, -EINVAL,
				 "nodes: more than %d leave at once",
				 CORE_NAMED_NODES_MAX);
	if (core->nodes.count + changes->added_count > CORE_NODES_MAX)
		return error_add(ret_error, -EINVAL,
				 "nodes: more than %d, with those that are "
				 "leaving",
				 CORE_NODES_MAX);
	return 0;
}

static void set_configured(struct core *core, struct node *node,
			   bool is_configured)
{
	node->is_configured = is_configured;
	nodes_changed(&core->nodes, node);
}

static void node_enter(struct core *core, const char *name)
{
	struct node *node = nodes_find(&core->nodes, name);

	if (node == NULL)
		node = memory_have(nodes_add(&core->nodes, name, NODE_NONE));
	else if (core->is_started)
		core_hit(core, EDGE_NODE_RETURN);
	set_configured(core, node, true);
}

static void nodes_take(struct core *core, const struct node_changes *changes)
{
	for (size_t i = 0; i < changes->leaving_count; i++) {
		set_configured(core,
			       nodes_find(&core->nodes, changes->leaving[i]),
			       false);
		core_hit(core, EDGE_NODE_LEAVE);
	}
	for (size_t i = 0; i < changes->removed_count; i++) {
		struct node *node =
			nodes_find(&core->nodes, changes->removed[i]);

		set_configured(core, node, false);
		node_go(core, node);
	}
	for (size_t i = 0; i < changes->added_count; i++)
		node_enter(core, changes->added[i]);
	core_store_names(core);
}

int config_nodes_start(struct core *core, const struct hostlist *list,
		       struct fairlead_error *ret_error)
{
	struct node_changes changes;
	int result;

	node_changes_find(core, list, &changes);
	result = node_changes_check(core, &changes, ret_error);
	if (result == 0) {
		nodes_take(core, &changes);
		for (uint32_t i = 0; i < core->nodes.limit; i++)
			if (core->nodes.by_index[i] != NULL)
				node_go(core, core->nodes.by_index[i]);
		core_store_names(core);
	}
	node_changes_fini(&changes);
	return result;
}

/* --- live --- */

/* One line a change, for people; no end of line behind the last. */
static void line_add(struct writer *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void line_add(struct writer *lines, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	if (lines->size > 0)
		write_u8(lines, '\n');
	write_bytes(lines, text, strlen(text));
	free(text);
}

static void line_nodes(struct writer *lines, const char *what,
		       const char *const *names, size_t count)
{
	_auto_(freep) char *text = NULL;

	if (count == 0)
		return;
	text = memory_have(hostlist_format(names, count));
	line_add(lines, "nodes %s: %s", what, text);
}

static const struct fairlead_setting *setting_find(
	const struct fairlead_setting *settings, size_t count, const char *name)
{
	static const struct fairlead_setting none = { .value = "(default)" };

	for (size_t i = 0; i < count; i++)
		if (strcmp(settings[i].name, name) == 0)
			return &settings[i];
	return &none;
}

/* Of a file that a setting names. */
static bool is_same_content(const struct fairlead_setting *before,
			    const struct fairlead_setting *after)
{
	return before->content == NULL || after->content == NULL ||
	       (before->content_size == after->content_size &&
		memcmp(before->content, after->content, after->content_size) ==
			0);
}

static void lines_driver(const struct interconnect *ic,
			 const struct core_driver_config *config,
			 struct writer *lines)
{
	for (size_t i = 0; i < config->setting_count; i++) {
		const struct fairlead_setting *after = &config->settings[i];
		const struct fairlead_setting *before = setting_find(
			ic->settings, ic->setting_count, after->name);

		if (strcmp(before->value, after->value) != 0)
			line_add(lines, "%s: %s: %s -> %s", ic->driver->name,
				 after->name, before->value, after->value);
		else if (!is_same_content(before, after))
			line_add(lines, "%s: %s: what is in %s has changed",
				 ic->driver->name, after->name, after->value);
	}
	for (size_t i = 0; i < ic->setting_count; i++) {
		const struct fairlead_setting *before = &ic->settings[i];
		const char *after =
			setting_find(config->settings, config->setting_count,
				     before->name)
				->value;

		if (strcmp(after, "(default)") == 0)
			line_add(lines, "%s: %s: %s -> %s", ic->driver->name,
				 before->name, before->value, after);
	}
}

static void lines_drivers(const struct core *core,
			  const struct driver_plan *plan, struct writer *lines)
{
	bool is_kept[CORE_DRIVERS_MAX] = { 0 };

	for (size_t i = 0; i < plan->count; i++) {
		const struct interconnect *ic =
			&core->interconnects.list[plan->list[i].index];

		is_kept[plan->list[i].index] = true;
		if (ic->driver == NULL)
			line_add(lines, "%s: turned on",
				 plan->list[i].config->driver->name);
		else
			lines_driver(ic, plan->list[i].config, lines);
	}
	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++)
		if (!is_kept[i] && core->interconnects.list[i].driver != NULL)
			line_add(lines, "%s: turned off",
				 core->interconnects.list[i].driver->name);
}

static void lines_numbers(const struct core *core,
			  const struct core_config *config,
			  struct writer *lines)
{
	if (strcmp(core->interconnect, config->interconnect) != 0)
		line_add(lines, "interconnect: %s -> %s", core->interconnect,
			 config->interconnect);
	if (core->apply_timeout_ms != config->apply_timeout_ms)
		line_add(lines,
			 "apply_timeout: %" PRIu32 " ms -> %" PRIu32 " ms",
			 core->apply_timeout_ms, config->apply_timeout_ms);
	if (core->revoke_timeout_ms != config->revoke_timeout_ms)
		line_add(lines,
			 "revoke_timeout: %" PRIu32 " ms -> %" PRIu32 " ms",
			 core->revoke_timeout_ms, config->revoke_timeout_ms);
	if (core->tombstones.keys_max != config->events_keep)
		line_add(lines, "events_keep: %zu -> %" PRIu32,
			 core->tombstones.keys_max, config->events_keep);
}

/* Identifiers that drain after the change, which becomes the new state. */
static void lines_draining(struct core *core, struct writer *lines)
{
	interconnects_foreach(ic, &core->interconnects)
	{
		for (size_t i = 0; i < ic->pool_count; i++) {
			_auto_(freep) char *text = memory_have(
				idset_format(ic->pools[i].draining));

			if (text[0] != 0)
				line_add(lines, "%s: pool %s: draining %s",
					 ic->driver->name, ic->pools[i].name,
					 text);
		}
	}
}

int core_configure(struct core *core, const struct core_config *config,
		   char **ret_changes, struct fairlead_error *ret_error)
{
	struct node_changes changes = { 0 };
	struct writer lines = { 0 };
	struct config_plan plan;
	int result = config_plan(core, config, &plan, ret_error);

	if (result == 0) {
		node_changes_find(core, plan.nodes, &changes);
		result = node_changes_check(core, &changes, ret_error);
	}
	if (result == 0) {
		lines_numbers(core, config, &lines);
		line_nodes(&lines, "added", changes.added, changes.added_count);
		line_nodes(&lines, "removed", changes.removed,
			   changes.removed_count);
		line_nodes(&lines, "leaving", changes.leaving,
			   changes.leaving_count);
		lines_drivers(core, &plan.drivers, &lines);
		config_take(core, config, &plan);
		nodes_take(core, &changes);
		core_outside_configured(core);
		core_recovery_settle(core);
		lines_draining(core, &lines);
		write_u8(&lines, 0);
		*ret_changes = memory_have((char *)writer_take(&lines, NULL));
	}
	node_changes_fini(&changes);
	config_plan_fini(&plan);
	return result;
}
