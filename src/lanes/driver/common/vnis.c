/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/common/vnis.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/json_text.h"

static const char *flaw_of(const struct vnis *vnis, const struct idset *pool)
{
	if (idset_count(pool) == 0)
		return "has no VNI";
	if (idset_has(pool, 0))
		return "has VNI 0, which is no VNI";
	return vnis->flaw ? vnis->flaw(pool) : NULL;
}

int vnis_read(const struct vnis *vnis, struct settings *settings,
	      struct idset **ret_pool)
{
	const struct fairlead_setting *setting =
		settings_find(settings, "vni_pool");
	_auto_(idset_destroyp) struct idset *pool = NULL;
	struct fairlead_error error = { 0 };
	const char *flaw;
	int result;

	result = idset_parse(setting ? setting->value : vnis->otherwise,
			     vnis->limit, &pool, &error);
	if (result == -ENOMEM)
		return result;
	assert(result == 0 || setting);
	flaw = result < 0 ? error.text : flaw_of(vnis, pool);
	if (flaw)
		settings_fail(settings, setting,
			      "'%s' %s%s; the pool must be within %s",
			      setting->value,
			      result < 0 ? "is no id set: " : "", flaw,
			      vnis->range);
	*ret_pool = flaw ? NULL : take_ptr(pool);
	return 0;
}

void vnis_plan(uint32_t count, bool is_off, struct fairlead_plan *plan)
{
	plan->counts[0] = count;
	plan->has_lane = count > 0;
	plan->reason[0] = '\0';
	if (is_off)
		strcpy(plan->reason, "disabled by user request");
	else if (count == 0)
		strcpy(plan->reason, "none requested");
}

int vnis_describe(const struct fairlead_lane *lane, const char *reason,
		  char **ret_context)
{
	struct json_text context = { 0 };
	char *text;

	json_text_begin(&context);
	json_text_object(&context, "reservation");
	json_text_numbers(&context, "vnis", lane->ids, lane->id_count);
	json_text_end(&context);
	json_text_numbers(&context, "vnis", lane->ids, lane->id_count);
	if (lane->id_count == 0)
		json_text_string(&context, "empty-reason", reason);
	json_text_end(&context);
	text = json_text_take(&context);
	if (!text)
		return -ENOMEM;
	*ret_context = text;
	return 0;
}
