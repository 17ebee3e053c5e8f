/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job of this driver goes through the same life as any other, with nothing
 * in it. It has no settings and no options: a job that brings some expects a
 * lane that it would not get, and is refused.
 *
 * No environment is set or unset. What the job inherited belongs to other
 * drivers, and who asks for no interconnect also asks not to be touched.
 */
#include "lanes/driver/none/none.h"

#include <string.h>

#include "base/memory.h"
#include "base/settings.h"
#include "lanes/driver/common/options.h"

static int configure(const struct fairlead_setting *list, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	struct settings_errors errors = { 0 };
	const struct settings settings = { list, count, &errors };
	int result;

	settings_read(&settings, &settings_none, NULL);
	result = settings_finish(&errors, ret_error);
	if (result == 0)
		*ret_state = NULL;
	return result;
}

static void destroy_state(void *state)
{
}

static size_t pools(void *state,
		    struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX])
{
	return 0;
}

static int reserve(void *state, const struct fairlead_driver_request *request,
		   struct fairlead_plan *ret_plan,
		   struct fairlead_error *ret_error)
{
	struct options options;
	int result = options_parse(&options, request->options, ret_error);

	if (result < 0)
		return result;
	if (options.count > 0)
		return error_set(ret_error, -EINVAL,
				 "interconnect 'none' has no option '%s'",
				 options.items[0].name);
	*ret_plan = (struct fairlead_plan){
		.is_fatal = true,
		.reason = "none requested",
	};
	return 0;
}

static int describe(void *state, const struct fairlead_lane *lane,
		    const char *reason, const char **ret_event_name,
		    char **ret_context)
{
	*ret_event_name = none_driver.name;
	*ret_context = memory_text("{\"reservation\":{}}");
	return 0;
}

static int probe(void *state,
		 void (*emit)(void *arg, const struct fairlead_device *device),
		 void *arg, struct fairlead_error *ret_error)
{
	return 0;
}

static int apply(void *state, const struct fairlead_lane *lane, bool is_dry_run,
		 struct fairlead_record *ret_record,
		 struct fairlead_warnings *warnings,
		 struct fairlead_error *ret_error)
{
	ret_record->size = 0;
	return 0;
}

static int revoke(void *state, const struct fairlead_lane *lane,
		  const struct fairlead_record *record, bool is_dry_run,
		  struct fairlead_warnings *warnings,
		  struct fairlead_error *ret_error)
{
	return 0;
}

static int list(void *state,
		void (*emit)(void *arg, const struct fairlead_object *object),
		void *arg, struct fairlead_error *ret_error)
{
	return 0;
}

static int destroy(void *state, const struct fairlead_object *object,
		   bool is_dry_run, struct fairlead_error *ret_error)
{
	return error_set(ret_error, -ENOENT,
			 "interconnect 'none' has no object %u on '%s'",
			 object->id, object->device);
}

static const struct fairlead_manager_ops manager_ops = {
	.configure = configure,
	.destroy = destroy_state,
	.pools = pools,
	.reserve = reserve,
	.describe = describe,
};

static const struct fairlead_node_ops node_ops = {
	.open = configure,
	.close = destroy_state,
	.probe = probe,
	.apply = apply,
	.revoke = revoke,
	.list = list,
	.destroy = destroy,
};

const struct fairlead_driver none_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = "none",
	.description = "no interconnect: reserves nothing, makes nothing",
	.settings = &settings_none,
	.variables = (const char *const[]){ NULL },
	.manager = &manager_ops,
	.node = &node_ops,
};
