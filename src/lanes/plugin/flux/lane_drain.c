/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job that is refused because of some of its nodes: these are drained, with
 * the reason, before the job's end gives them to another one; no other is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/hostlist.h"
#include "lanes/plugin/flux/blame.h"
#include "lanes/plugin/flux/eventlog.h"
#include "lanes/plugin/flux/lane.h"

static void on_drained(flux_future_t *future, void *arg)
{
	struct flux_lane *lane = arg;

	if (flux_future_get(future, NULL) < 0)
		flux_log(lane->lanes->h, LOG_ERR,
			 "fairlead: %s: cannot drain %s: %s", lane->name,
			 entry_text(json_array_get(lane->blamed,
						   lane->drained_count),
				    "nodes"),
			 future_strerror(future, errno));
	flux_future_destroy(future);
	lane->future = NULL;
	lane->drained_count++;
	if (lane->step != LANE_DRAIN)
		return; /* the job ends meanwhile */
	lane_drain(lane);
	lanes_pump(lane->lanes);
}

static bool drain_next(struct flux_lane *lane)
{
	const json_t *entry = json_array_get(lane->blamed, lane->drained_count);
	char reason[FAIRLEAD_ERROR_TEXT_MAX];

	/* One line: what a node says may have several. */
	snprintf(reason, sizeof(reason), "fairlead: %.*s (job %s)",
		 (int)strcspn(entry_text(entry, "text"), "\n"),
		 entry_text(entry, "text"), lane->name);
	lane->future = flux_rpc_pack(lane->lanes->h, "resource.drain", 0, 0,
				     "{s:s s:s s:s}", "targets",
				     entry_text(entry, "nodes"), "reason",
				     reason, "mode", "update");
	if (lane->future &&
	    flux_future_then(lane->future, -1., on_drained, lane) == 0)
		return true;
	flux_log_error(lane->lanes->h, "fairlead: %s: resource.drain",
		       lane->name);
	flux_future_destroy(lane->future);
	lane->future = NULL;
	return false;
}

void lane_drain(struct flux_lane *lane)
{
	lane->step = LANE_DRAIN;
	while (lane->drained_count < json_array_size(lane->blamed)) {
		if (drain_next(lane))
			return;
		lane->drained_count++;
	}
	lane_deny(lane, lane->note);
}

/* --- who is to blame, by the manager's list of its nodes --- */

/* Those of the job that are drained in Fairlead, or none of the manager's. */
static char *unfit_nodes(const struct flux_lane *lane)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	size_t count = 0;

	if (hostlist_parse(lane->nodes, &list, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < list->count; i++) {
		char *name = list->names[i];

		if (json_is_false(json_object_get(lane->members, name)))
			continue;
		list->names[i] = list->names[count];
		list->names[count++] = name;
	}
	if (count == 0)
		return NULL;
	return hostlist_format((const char *const *)list->names, count);
}

static void blame_unfit(struct flux_lane *lane)
{
	char *nodes = unfit_nodes(lane);

	if (nodes)
		lane->blamed = json_pack("[{s:s, s:s}]", "nodes", nodes, "text",
					 lane->note);
	free(nodes);
}

/* Where none is connected it is the manager that is cut off from them. */
static bool is_any_up(const json_t *nodes)
{
	const json_t *node;
	size_t i;

	json_array_foreach ((json_t *)nodes, i, node)
		if (strcmp(entry_text(node, "state"), "up") == 0)
			return true;
	return false;
}

void lane_take_nodes(struct flux_lane *lane, const json_t *answer)
{
	const json_t *nodes = json_object_get(answer, "nodes");
	const json_t *node;
	const char *after = json_string_value(json_object_get(answer, "after"));
	size_t i;

	/* What is not known counts against who has failed. */
	if (!answer || (lane->blamed && is_any_up(nodes))) {
		lane_drain(lane);
		return;
	}
	if (!lane->members)
		lane->members = json_object();
	json_array_foreach (nodes, i, node) {
		json_object_set(lane->members, entry_text(node, "name"),
				json_object_get(node, "drained"));
	}
	free(lane->after);
	lane->after = after ? strdup(after) : NULL;
	if (!lane->after) {
		if (lane->blamed)
			blame_remove_unreached(lane->blamed);
		else
			blame_unfit(lane);
		lane_drain(lane);
		return;
	}
	lane_wait(lane);
}
