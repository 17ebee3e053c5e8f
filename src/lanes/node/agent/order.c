/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A prolog that was given its job's grant. The grant says what no node knows by
 * itself: that a job has no lane, so that nothing is to be waited for; and what
 * a lane that is not here yet is to be. It is believed only so far: what is
 * made comes from the manager, signed.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "lanes/proto/grant.h"
#include "lanes/node/agent/internal.h"

static int order_take(const struct agent *agent,
		      const struct grant_public *public,
		      struct work_order *order,
		      struct fairlead_error *ret_error)
{
	int result = request_key_parse(public->key, &order->job, ret_error);

	if (result < 0)
		return result;
	if (strlen(public->interconnect) > FAIRLEAD_DRIVER_NAME_MAX ||
	    strlen(public->options) > FAIRLEAD_OPTIONS_MAX)
		return error_set(ret_error, -EINVAL,
				 "the grant's interconnect or options are too "
				 "long");
	if (hostlist_find(public->nodes, agent->name) < 0)
		return error_set(ret_error, -EINVAL,
				 "the grant of '%s' does not name this node, "
				 "'%s'",
				 public->key, agent->name);
	order->has_job = true;
	order->has_lane = public->has_lane;
	order->lane.grant_id = public->grant_id;
	order->lane.uid = public->uid;
	order->lane.gid = public->gid;
	order->lane.id_count = public->id_count;
	strcpy(order->lane.options, public->options);
	strcpy(order->driver, public->interconnect);
	return 0;
}

int order_read_grant(const struct agent *agent, const char *text,
		     struct work_order *order, struct fairlead_error *ret_error)
{
	struct grant_public public;
	struct grant grant;
	json_t *object;
	int result = grant_parse(text, &grant, ret_error);

	if (result < 0)
		return result;
	object = json_loads(grant.public_text, JSON_REJECT_DUPLICATES, NULL);
	result = grant_public_read(object, order->lane.ids, &public, ret_error);
	if (result == 0)
		result = order_take(agent, &public, order, ret_error);
	json_decref(object);
	grant_fini(&grant);
	return result;
}

struct agent_collector {
	struct fairlead_warnings warnings;
	json_t *lines;
};

static void collector_add(struct fairlead_warnings *warnings, const char *line)
{
	struct agent_collector *collector = (struct agent_collector *)warnings;

	json_array_append_new(collector->lines, json_string(line));
}

int order_preview(const struct agent *agent, const struct work_order *order,
		  json_t *lines, struct fairlead_error *ret_error)
{
	struct agent_collector collector = {
		.warnings = { .add = collector_add }, .lines = lines
	};
	struct fairlead_lane lane = order->lane;

	lane.job = order->job.job;
	for (size_t i = 0; i < agent->options.driver_count; i++) {
		const struct guard_driver *driver = &agent->options.drivers[i];

		if (strcmp(driver->driver->name, order->driver) != 0)
			continue;
		if (!driver->is_open)
			return error_set(ret_error, -ENODEV, "driver '%s': %s",
					 order->driver, driver->detail);
		return driver->driver->node->apply(driver->state, &lane, true,
						   NULL, &collector.warnings,
						   ret_error);
	}
	return error_set(ret_error, -ENODEV, "this node has no driver '%s'",
			 order->driver);
}
