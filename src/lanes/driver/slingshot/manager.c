/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager half. It turns a job's options into a number of VNIs and
 * completed options.
 */
#include "lanes/driver/slingshot/slingshot.h"

#include "lanes/driver/slingshot/settings.h"

static int configure(const struct fairlead_setting *list, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	struct slingshot_settings settings;
	int result = slingshot_settings_read(list, count, &settings, ret_error);

	if (result < 0)
		return result;
	*ret_state = vnis_state_create(&settings.vnis, sizeof(settings));
	return 0;
}

static size_t pools(void *data,
		    struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX])
{
	return vnis_pools(&slingshot_vnis, data, specs);
}

static int reserve(void *data, const struct fairlead_driver_request *request,
		   struct fairlead_plan *ret_plan,
		   struct fairlead_error *ret_error)
{
	const struct slingshot_settings *state = data;
	struct slingshot_request asked;
	struct fairlead_plan plan = { 0 };
	int result;

	result = slingshot_request_parse(request->options, &state->policy,
					 &state->policy,
					 state->vnis.default_count, &asked,
					 ret_error);
	if (result < 0)
		return result;
	vnis_plan(&state->vnis, asked.vni_count, asked.is_off, &plan);
	slingshot_request_format(&asked, plan.options);
	*ret_plan = plan;
	return 0;
}

static int describe(void *data, const struct fairlead_lane *lane,
		    const char *reason, const char **ret_event_name,
		    char **ret_context)
{
	*ret_context = vnis_describe(lane, reason);
	*ret_event_name = SLINGSHOT_EVENT;
	return 0;
}

const struct fairlead_manager_ops slingshot_manager_ops = {
	.configure = configure,
	.destroy = vnis_state_destroy,
	.pools = pools,
	.reserve = reserve,
	.describe = describe,
};
