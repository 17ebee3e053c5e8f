/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/slurm/expect.h"

#include <errno.h>

/*
 * What the driver would plan for a small job. -ENOENT: there is no such
 * interconnect; -EBADMSG: its settings are wrong; -EINVAL: it refuses the
 * options.
 */
static int plan(const struct config *config, const char *interconnect,
		const char *options, struct fairlead_plan *ret_plan)
{
	static const char *const nodes[] = { "n" };
	static const uint32_t one[] = { 1 };
	const struct fairlead_driver_request request = {
		.key = "expect/1/0",
		.options = options,
		.node_count = 1,
		.nodes = nodes,
		.cores = one,
		.tasks = one,
	};
	const struct config_driver *section =
		config_driver_find(config, interconnect);
	const struct fairlead_manager_ops *ops;
	struct fairlead_error error;
	void *state = NULL;
	int result;

	*ret_plan = (struct fairlead_plan){ 0 };
	if (!section || !section->driver->manager)
		return -ENOENT;
	ops = section->driver->manager;
	if (ops->configure(section->settings, section->setting_count, &state,
			   &error) < 0)
		return -EBADMSG;
	result = ops->reserve(state, &request, ret_plan, &error);
	ops->destroy(state);
	return result < 0 ? -EINVAL : 0;
}

enum lane_expectation lane_expect(const struct config *config,
				  const char *interconnect, const char *options)
{
	struct fairlead_plan planned;
	int result =
		plan(config,
		     interconnect ? interconnect : config->manager.interconnect,
		     options, &planned);

	if (result == 0 && !planned.has_lane)
		return LANE_NONE;
	if (result == -EBADMSG || (result == 0 && !planned.is_fatal))
		return LANE_MAY;
	return LANE_MUST;
}
