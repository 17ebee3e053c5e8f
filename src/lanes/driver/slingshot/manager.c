/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager half. It reads the site's policy from
 *
 *	vni_pool         id set within 2-9,11-65535; default 1024-65535
 *	default_vnis     0..4, default 1: VNIs of a job that does not say
 *	reserve_fatal    default true; false: a job that cannot get VNIs runs
 *	traffic_classes  names with commas; default LOW_LATENCY,BEST_EFFORT
 *	max_X            most of a resource, per service
 *	per_core_X       reserved of it for each core of the job on the node
 *
 * (X: ptes txqs tgqs eqs cts les tles acs) and turns a job's options into a
 * number of VNIs and completed options. The nodes' settings are accepted here
 * without a look, since one file may serve both.
 *
 * VNI 0 is no VNI, and 1 and 10 are the default service's, which any user may
 * have: a pool with one of them would hand out a lane that is no lane.
 */
#include "lanes/driver/slingshot/slingshot.h"

#include "base/memory.h"
#include "lanes/driver/common/vnis.h"
#include "lanes/driver/slingshot/policy.h"

#define VNI_POOL_NAME "vni"

struct slingshot_manager {
	char *vni_pool; /* id set, in its shortest form */
	uint32_t default_vnis;
	bool is_reserve_fatal;
	struct slingshot_policy policy;
};

static void destroy(void *data)
{
	struct slingshot_manager *state = data;

	if (!state)
		return;
	free(state->vni_pool);
	free(state);
}

static void destroy_statep(struct slingshot_manager **state)
{
	destroy(*state);
}

static const char *pool_flaw(const struct idset *pool)
{
	if (idset_has(pool, 1))
		return "has VNI 1, which is the default service's";
	if (idset_has(pool, 10))
		return "has VNI 10, which is the default service's";
	return NULL;
}

static const struct vnis our_vnis = {
	.limit = 65536,
	.otherwise = "1024-65535",
	.range = "2-9,11-65535",
	.flaw = pool_flaw,
};

/* NULL: what is wrong with it is added to settings. */
static char *read_pool(struct settings *settings)
{
	_auto_(idset_destroyp) struct idset *pool = NULL;

	memory_check(vnis_read(&our_vnis, settings, &pool));
	return pool ? memory_have(idset_format(pool)) : NULL;
}

static int configure(const struct fairlead_setting *list, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	_auto_(destroy_statep) struct slingshot_manager *state =
		memory_alloc(sizeof(*state));
	struct settings settings;
	int result;

	state->default_vnis = 1;
	state->is_reserve_fatal = true;
	state->policy = slingshot_policy_default;
	settings_begin(&settings, list, count, slingshot_settings);
	state->vni_pool = read_pool(&settings);
	settings_number(&settings, "default_vnis", 0, SLINGSHOT_VNIS_MAX,
			&state->default_vnis);
	settings_bool(&settings, "reserve_fatal", &state->is_reserve_fatal);
	slingshot_policy_read(&state->policy, &settings);
	result = settings_finish(&settings, ret_error);
	if (result == 0)
		*ret_state = take_ptr(state);
	return result;
}

static size_t pools(void *data,
		    struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX])
{
	const struct slingshot_manager *state = data;

	specs[0] = (struct fairlead_pool_spec){
		.name = VNI_POOL_NAME,
		.limit = our_vnis.limit,
		.universe = state->vni_pool,
	};
	return 1;
}

static int reserve(void *data, const struct fairlead_driver_request *request,
		   struct fairlead_plan *ret_plan,
		   struct fairlead_effects *effects,
		   struct fairlead_error *ret_error)
{
	const struct slingshot_manager *state = data;
	struct slingshot_request asked;
	struct fairlead_plan plan = { 0 };
	int result;

	result = slingshot_request_parse(request->options, &state->policy,
					 &state->policy, state->default_vnis,
					 &asked, ret_error);
	if (result < 0)
		return result;
	vnis_plan(asked.vni_count, asked.is_off, &plan);
	plan.is_fatal = state->is_reserve_fatal;
	slingshot_request_format(&asked, plan.options);
	*ret_plan = plan;
	return 0;
}

static int describe(void *data, const struct fairlead_lane *lane,
		    const char *reason, const char **ret_event_name,
		    char **ret_context)
{
	memory_check(vnis_describe(lane, reason, ret_context));
	*ret_event_name = SLINGSHOT_EVENT;
	return 0;
}

const struct fairlead_manager_ops slingshot_manager_ops = {
	.configure = configure,
	.destroy = destroy,
	.pools = pools,
	.reserve = reserve,
	.describe = describe,
};
