/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/core/test/fake_driver.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct fake_state {
	char vni[256], ctx[256];
	bool is_fatal, has_twin, is_loss_fatal;
};

static int configure(const struct fairlead_setting *settings, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	struct fake_state *state = calloc(1, sizeof(*state));
	int result = 0;

	strcpy(state->vni, "1024-1039");
	strcpy(state->ctx, "0-7");
	state->is_fatal = true;
	state->has_twin = true;
	for (size_t i = 0; i < count; i++) {
		const char *name = settings[i].name;
		const char *value = settings[i].value;

		if (strcmp(name, "vni") == 0)
			snprintf(state->vni, sizeof(state->vni), "%s", value);
		else if (strcmp(name, "ctx") == 0)
			snprintf(state->ctx, sizeof(state->ctx), "%s", value);
		else if (strcmp(name, "fatal") == 0)
			state->is_fatal = strcmp(value, "yes") == 0;
		else if (strcmp(name, "loss") == 0)
			state->is_loss_fatal = strcmp(value, "fatal") == 0;
		else if (strcmp(name, "twin") == 0)
			state->has_twin = strcmp(value, "yes") == 0;
		else
			result = error_add(ret_error, -EINVAL,
					   "line %u: no setting '%s'",
					   settings[i].line, name);
	}
	if (result == 0)
		*ret_state = state;
	else
		free(state);
	return result;
}

static int bare_configure(const struct fairlead_setting *settings, size_t count,
			  void **ret_state, struct fairlead_error *ret_error)
{
	(void)settings;
	(void)count;
	(void)ret_error;
	*ret_state = NULL;
	return 0;
}

static size_t pools(void *data,
		    struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX])
{
	const struct fake_state *state = data;

	specs[0] = (struct fairlead_pool_spec){ .name = "vni",
						.limit = 16384,
						.universe = state->vni };
	specs[1] = (struct fairlead_pool_spec){ .name = "ctx",
						.limit = 64,
						.universe = state->ctx };
	return state->has_twin ? 2 : 1;
}

static size_t no_pools(void *data,
		       struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX])
{
	(void)data;
	(void)specs;
	return 0;
}

/* The number after "name=" in the options, or the default. */
static uint32_t option(const char *options, const char *name, uint32_t number)
{
	const char *at = strstr(options, name);

	return at == NULL ? number
			  : (uint32_t)strtoul(at + strlen(name), NULL, 10);
}

static int reserve(void *data, const struct fairlead_driver_request *request,
		   struct fairlead_plan *ret_plan,
		   struct fairlead_error *ret_error)
{
	const struct fake_state *state = data;
	struct fairlead_plan plan = { .has_lane = true };

	if (strstr(request->options, "refuse") != NULL)
		return error_set(ret_error, -EINVAL, "'%s' will not do",
				 request->options);
	plan.counts[0] = option(request->options, "vnis=", 1);
	plan.counts[1] = option(request->options, "ctxs=", 0);
	plan.is_fatal = state->is_fatal;
	if (strstr(request->options, "off") != NULL) {
		plan.counts[0] = 0;
		plan.has_lane = false;
	}
	if (plan.counts[0] == 0)
		strcpy(plan.reason, "none requested");
	snprintf(plan.options, sizeof(plan.options), "%s", request->options);
	if (strstr(request->options, "trees=") != NULL) {
		snprintf(plan.outside, sizeof(plan.outside), "%u",
			 option(request->options, "trees=", 0));
		plan.is_outside_fatal =
			strstr(request->options, "must") != NULL;
		plan.secret_size = 16;
	}
	*ret_plan = plan;
	return 0;
}

static void outside(void *data, struct fairlead_outside *ret_outside)
{
	const struct fake_state *state = data;

	ret_outside->wait_ms = FAKE_OUTSIDE_WAIT_MS;
	ret_outside->is_loss_fatal = state->is_loss_fatal;
	ret_outside->per_job = 7;
	ret_outside->total = 4086;
	ret_outside->min_nodes = 4;
}

static int pack(void *data, const struct fairlead_pack *pack,
		uint8_t **ret_bytes, size_t *ret_size,
		struct fairlead_error *ret_error)
{
	(void)data;
	(void)ret_error;
	*ret_bytes = calloc(1, pack->outside_size + 1);
	memcpy(*ret_bytes,
	       pack->outside_size > 0 ? pack->outside : (const uint8_t *)"",
	       pack->outside_size);
	*ret_size = pack->outside_size;
	return 0;
}

static int bare_reserve(void *data,
			const struct fairlead_driver_request *request,
			struct fairlead_plan *ret_plan,
			struct fairlead_error *ret_error)
{
	(void)data;
	(void)ret_error;
	*ret_plan = (struct fairlead_plan){
		.has_lane = strcmp(request->options, "lane") == 0,
		.reason = "nothing to reserve",
	};
	return 0;
}

static int describe(void *data, const struct fairlead_lane *lane,
		    const char *reason, const char **ret_event_name,
		    char **ret_context)
{
	json_t *context = json_object();
	json_t *ids = json_array();

	(void)data;
	for (uint32_t i = 0; i < lane->id_count; i++)
		json_array_append_new(ids, json_integer(lane->ids[i]));
	json_object_set_new(context, "ids", ids);
	if (lane->id_count == 0)
		json_object_set_new(context, "empty-reason",
				    json_string(reason));
	*ret_event_name = "fake-net";
	*ret_context = json_dumps(context, JSON_COMPACT);
	json_decref(context);
	return *ret_context == NULL ? -ENOMEM : 0;
}

/*
 * With the option "members", "GRANT: NODE=PLACE ...", and each node needs
 * a place, which is text here; without it, nothing.
 */
static int assemble(void *data, const struct fairlead_lane *lane,
		    const char *const *nodes,
		    const struct fairlead_place *places, size_t count,
		    uint8_t **ret_bytes, size_t *ret_size,
		    struct fairlead_error *ret_error)
{
	FILE *file;
	char *text;
	size_t size;

	(void)data;
	if (strstr(lane->options, "members") == NULL) {
		*ret_bytes = NULL;
		*ret_size = 0;
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		if (places[i].size == 0)
			return error_set(ret_error, -EINVAL,
					 "node '%s' has no place", nodes[i]);
	file = open_memstream(&text, &size);
	if (file == NULL)
		return -ENOMEM;
	fprintf(file, "%u:", (unsigned int)lane->grant_id);
	for (size_t i = 0; i < count; i++)
		fprintf(file, " %s=%.*s", nodes[i], (int)places[i].size,
			(const char *)places[i].bytes);
	fclose(file);
	*ret_bytes = (uint8_t *)text;
	*ret_size = size;
	return 0;
}

static const struct fairlead_manager_ops manager_ops = {
	.assemble = assemble,
	.configure = configure,
	.destroy = free,
	.pools = pools,
	.reserve = reserve,
	.describe = describe,
	.pack = pack,
	.outside = outside,
};

static size_t lined_pools(void *data,
			  struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX])
{
	(void)data;
	specs[0] = (struct fairlead_pool_spec){ .name = "prg",
						.limit = 100,
						.universe = "1-9" };
	specs[1] = (struct fairlead_pool_spec){
		.name = "ctx", .limit = 64, .universe = "8-23", .positions = 10
	};
	return 2;
}

static int lined_reserve(void *data,
			 const struct fairlead_driver_request *request,
			 struct fairlead_plan *ret_plan,
			 struct fairlead_error *ret_error)
{
	struct fairlead_plan plan = { .counts = { 1, 0 },
				      .is_fatal = true,
				      .has_lane = true };
	struct fairlead_run run = { .low = UINT32_MAX };

	(void)data;
	(void)ret_error;
	for (size_t i = 0; i < request->node_count; i++) {
		uint32_t position = (uint32_t)(request->nodes[i][1] - '0');

		run.low = position < run.low ? position : run.low;
		run.high = position > run.high ? position : run.high;
	}
	run.length = option(request->options, "len=", 2);
	plan.runs[1] = run;
	if (strstr(request->options, "plain") == NULL)
		plan.secret_size = LINED_SECRET_SIZE;
	snprintf(plan.options, sizeof(plan.options), "%s", request->options);
	*ret_plan = plan;
	return 0;
}

static int lined_pack(void *data, const struct fairlead_pack *pack,
		      uint8_t **ret_bytes, size_t *ret_size,
		      struct fairlead_error *ret_error)
{
	FILE *file;
	char *text;

	(void)data;
	if (strstr(pack->lane->options, "unpacked") != NULL)
		return error_set(ret_error, -EINVAL, "it cannot be packed");
	file = open_memstream(&text, ret_size);
	if (file == NULL)
		return -ENOMEM;
	fprintf(file, "%u: %u-%u", (unsigned int)pack->lane->grant_id,
		pack->lane->ids[1], pack->lane->ids[2]);
	for (size_t i = 0; i < pack->node_count; i++)
		fprintf(file, " %s=%u", pack->nodes[i], pack->tasks[i]);
	fputc(' ', file);
	for (size_t i = 0; i < pack->secret_size; i++)
		fprintf(file, "%02x", pack->secret[i]);
	fclose(file);
	*ret_bytes = (uint8_t *)text;
	return 0;
}

static const struct fairlead_manager_ops lined_ops = {
	.configure = bare_configure,
	.destroy = free,
	.pools = lined_pools,
	.reserve = lined_reserve,
	.describe = describe,
	.pack = lined_pack,
};

static const struct fairlead_manager_ops bare_ops = {
	.configure = bare_configure,
	.destroy = free,
	.pools = no_pools,
	.reserve = bare_reserve,
	.describe = describe,
};

const struct fairlead_driver fake_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = "fake",
	.manager = &manager_ops,
};

const struct fairlead_driver twin_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = "twin",
	.manager = &manager_ops,
};

const struct fairlead_driver bare_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = "bare",
	.manager = &bare_ops,
};

const struct fairlead_driver lined_driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = "lined",
	.manager = &lined_ops,
};
