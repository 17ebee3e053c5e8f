/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node half: rails, and the table of operations. Where fairlead-rms does
 * not run the driver is open all the same: each operation says so.
 */
#include "lanes/driver/elan3/node.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/driver/elan3/hosts.h"
#include "lanes/driver/elan3/place.h"
#include "lanes/driver/elan3/settings.h"

static void close_node(void *state)
{
	free(state);
}

static void place_find(struct elan3_node *node, const struct elan_hosts *hosts,
		       const char *host)
{
	char name[HOST_NAME_MAX + 1] = "";

	if (*host == 0) {
		gethostname(name, sizeof(name) - 1);
		host = name;
	}
	if (!hosts) {
		node->elan_id = -ENOENT;
		snprintf(node->place_flaw, sizeof(node->place_flaw),
			 "the file with the ElanIDs is not on this node "
			 "('genders' or 'elanhosts' of driver \"elan3\")");
		return;
	}
	node->elan_id = elan_hosts_find(hosts, host);
	if (node->elan_id < 0 && host == name && strchr(name, '.')) {
		*strchr(name, '.') = '\0';
		node->elan_id = elan_hosts_find(hosts, name);
	}
	if (node->elan_id < 0)
		snprintf(node->place_flaw, sizeof(node->place_flaw),
			 "this node, '%.64s', has no ElanID in the site's file "
			 "('host' of driver \"elan3\" is its name there)",
			 host);
}

static int open_node(const struct fairlead_setting *list, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts = NULL;
	struct elan3_settings settings;
	struct elan3_node *node;
	int result =
		elan3_settings_read(list, count, &settings, &hosts, ret_error);

	if (result < 0)
		return result;
	node = memory_alloc(sizeof(*node));
	node->dir = settings.dir;
	node->rail_count = settings.rail_count;
	place_find(node, hosts, settings.host);
	*ret_state = node;
	return 0;
}

static void describe(const struct elan3_node *node,
		     const struct rms_client_rails *rails, uint32_t rail,
		     struct fairlead_device *device)
{
	const uint32_t total = ELAN3_CONTEXT_LIMIT - ELAN3_CONTEXT_FIRST;
	uint32_t reserved = rails->contexts[rail];
	bool is_there = (rails->up >> rail & 1) != 0;

	snprintf(device->name, sizeof(device->name), "elan%u", rail);
	device->is_usable = is_there && node->elan_id >= 0;
	if (!is_there)
		snprintf(device->detail, sizeof(device->detail),
			 "fairlead-rms has no such rail (its option --rails "
			 "says which there are)");
	else if (node->elan_id < 0)
		snprintf(device->detail, sizeof(device->detail), "%.*s",
			 (int)sizeof(device->detail) - 1, node->place_flaw);
	else
		snprintf(device->detail, sizeof(device->detail),
			 "ElanID %d, by fairlead-rms", node->elan_id);
	device->resource_count = 1;
	snprintf(device->resources[0].name, sizeof(device->resources[0].name),
		 "contexts");
	device->resources[0].total = total;
	device->resources[0].reserved = reserved < total ? reserved : total;
}

/* Also those that should be there. */
static int probe(void *state,
		 void (*emit)(void *arg, const struct fairlead_device *device),
		 void *arg, struct fairlead_error *ret_error)
{
	const struct elan3_node *node = state;
	struct rms_client_rails rails;
	int result = elan3_rails_read(node, &rails, ret_error);

	for (uint32_t i = 0; i < ELAN3_RAILS_MAX && result == 0; i++) {
		struct fairlead_device device = { 0 };

		if (i >= node->rail_count && !(rails.up >> i & 1))
			continue;
		describe(node, &rails, i, &device);
		emit(arg, &device);
	}
	return result;
}

static int place(void *state, struct fairlead_place *ret_place,
		 struct fairlead_error *ret_error)
{
	const struct elan3_node *node = state;
	struct elan3_place place = { 0 };
	struct rms_client_rails rails;
	int result;

	if (node->elan_id < 0)
		return error_set(ret_error, node->elan_id, "%s",
				 node->place_flaw);
	result = elan3_rails_read(node, &rails, ret_error);
	if (result < 0)
		return result;
	result = rms_client_adapter(node->dir, &place.adapter);
	if (result < 0)
		return elan3_fail(node, result, ret_error,
				  "cannot ask for the adapter's address");
	for (uint32_t i = 0; i < ELAN3_RAILS_MAX; i++) {
		bool is_up = (rails.up >> i & 1) != 0;

		if (i >= node->rail_count && !is_up)
			continue;
		place.rail_count = i + 1;
		place.rails[i].port = is_up ? ELAN3_PORT_UP : ELAN3_PORT_DOWN;
		place.rails[i].id = (uint32_t)node->elan_id;
	}
	elan3_place_encode(&place, ret_place);
	return 0;
}

static void summarize(void *state, char text[FAIRLEAD_SUMMARY_MAX + 1])
{
	const struct elan3_node *node = state;
	uint32_t wanted = (UINT32_C(1) << node->rail_count) - 1;
	bool is_sure = false;
	char names[ELAN3_RAILS_TEXT_MAX];
	char lacks[ELAN3_RAILS_TEXT_MAX];
	struct rms_client_rails rails;

	if (rms_client_version(node->dir, &is_sure) < 0 ||
	    rms_client_rails(node->dir, &rails) < 0) {
		snprintf(text, FAIRLEAD_SUMMARY_MAX + 1,
			 FAIRLEAD_SUMMARY_LEVEL "none" FAIRLEAD_SUMMARY_LACKS
						"fairlead-rms (start "
						"fairlead-rms.service)");
		return;
	}
	elan3_rails_format(rails.up, names);
	elan3_rails_format(wanted & ~rails.up, lacks);
	snprintf(text, FAIRLEAD_SUMMARY_MAX + 1,
		 FAIRLEAD_SUMMARY_LEVEL "%s, %.110s%s%s%s%.70s",
		 is_sure ? "cgroups" : "search", names[0] ? names : "no rails",
		 lacks[0] || !is_sure ? FAIRLEAD_SUMMARY_LACKS : "",
		 is_sure ? "" : "cgroups of version 2",
		 lacks[0] && !is_sure ? ", " : "", lacks);
}

const struct fairlead_node_ops elan3_node_ops = {
	.open = open_node,
	.close = close_node,
	.probe = probe,
	.apply = elan3_apply,
	.revoke = elan3_revoke,
	.env = elan3_env,
	.inherit = elan3_inherit,
	.task = elan3_task,
	.list = elan3_list,
	.destroy = elan3_destroy,
	.place = place,
	.summarize = summarize,
};
