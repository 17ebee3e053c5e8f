/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/slurm/expect.h"

static int no_effect(struct fairlead_effects *effects,
		     const struct fairlead_effect *effect)
{
	return 0;
}

/* What the driver would plan for a small job. */
static int plan(const struct config_driver *section, const char *options,
		struct fairlead_plan *ret_plan)
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
	const struct fairlead_manager_ops *ops = section->driver->manager;
	struct fairlead_effects effects = { .add = no_effect };
	struct fairlead_error error;
	void *state = NULL;
	int result = ops->configure(section->settings, section->setting_count,
				    &state, &error);

	if (result < 0)
		return result;
	result = ops->reserve(state, &request, ret_plan, &effects, &error);
	ops->destroy(state);
	return result;
}

enum lane_expectation lane_expect(const struct config *config,
				  const char *interconnect, const char *options)
{
	const char *name =
		interconnect ? interconnect : config->manager.interconnect;
	const struct config_driver *section = config_driver_find(config, name);
	struct fairlead_plan wanted = { 0 };

	if (!section || !section->driver->manager ||
	    plan(section, options, &wanted) < 0)
		return LANE_MUST;
	if (!wanted.has_lane)
		return LANE_NONE;
	return wanted.is_fatal ? LANE_MUST : LANE_MAY;
}
