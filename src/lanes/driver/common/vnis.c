/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/common/vnis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/memory.h"

static const char *flaw_of(const struct vnis *vnis, const struct idset *pool)
{
	if (idset_has(pool, 0))
		return "has VNI 0, which is no VNI";
	return vnis->flaw ? vnis->flaw(pool) : NULL;
}

int vnis_check(const struct vnis *vnis, const char *text,
	       struct idset **ret_pool, struct fairlead_error *ret_error)
{
	_auto_(idset_destroyp) struct idset *pool = NULL;
	struct fairlead_error error = { 0 };
	int result =
		memory_check(idset_parse(text, vnis->limit, &pool, &error));
	const char *flaw = result < 0 ? error.text : flaw_of(vnis, pool);

	if (flaw)
		return error_set(ret_error, -EINVAL,
				 "'%s' %s%s; the pool must be within %s", text,
				 result < 0 ? "is no id set: " : "", flaw,
				 vnis->range);
	if (ret_pool)
		*ret_pool = take_ptr(pool);
	return 0;
}

void *vnis_state_create(const struct vnis_settings *settings, size_t size)
{
	struct vnis_settings *state = memory_copy(settings, size);

	state->pool = memory_text(settings->pool);
	return state;
}

void vnis_state_destroy(void *data)
{
	struct vnis_settings *state = data;

	if (state)
		free((char *)state->pool);
	free(state);
}

size_t vnis_pools(const struct vnis *vnis, const void *state,
		  struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX])
{
	const struct vnis_settings *settings = state;

	specs[0] = (struct fairlead_pool_spec){
		.name = "vni",
		.limit = vnis->limit,
		.universe = settings->pool,
	};
	return 1;
}

void vnis_plan(const struct vnis_settings *settings, uint32_t count,
	       bool is_off, struct fairlead_plan *plan)
{
	plan->counts[0] = count;
	plan->has_lane = count > 0;
	plan->is_fatal = settings->is_reserve_fatal;
	plan->reason[0] = '\0';
	if (is_off)
		strcpy(plan->reason, "disabled by user request");
	else if (count == 0)
		strcpy(plan->reason, "none requested");
}

char *vnis_describe(const struct fairlead_lane *lane, const char *reason)
{
	struct json_text context = { 0 };

	json_text_begin(&context);
	json_text_object(&context, "reservation");
	json_text_numbers(&context, "vnis", lane->ids, lane->id_count);
	json_text_end(&context);
	json_text_numbers(&context, "vnis", lane->ids, lane->id_count);
	if (lane->id_count == 0)
		json_text_string(&context, "empty-reason", reason);
	json_text_end(&context);
	return memory_have(json_text_take(&context));
}
