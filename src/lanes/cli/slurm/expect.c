/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/slurm/expect.h"

static int no_effect(struct fairlead_effects *effects,
		     const struct fairlead_effect *effect)
{
	return 0;
}

/* What the driver would plan for a small job. */
static enum lane_expectation plan(const struct config_driver *section,
				  const char *options)
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
	struct fairlead_plan wanted = { 0 };
	struct fairlead_error error;
	void *state = NULL;
	int result;

	if (ops->configure(section->settings, section->setting_count, &state,
			   &error) < 0)
		return LANE_MAY;
	result = ops->reserve(state, &request, &wanted, &effects, &error);
	ops->destroy(state);
	if (result < 0)
		return LANE_MUST;
	if (!wanted.has_lane)
		return LANE_NONE;
	return wanted.is_fatal ? LANE_MUST : LANE_MAY;
}

enum lane_expectation lane_expect(const struct config *config,
				  const char *interconnect, const char *options)
{
	const char *name =
		interconnect ? interconnect : config->manager.interconnect;
	const struct config_driver *section = config_driver_find(config, name);

	return section && section->driver->manager ? plan(section, options)
						   : LANE_MUST;
}
