/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/common/vnis.h"

#include <errno.h>
#include <string.h>

#include "base/json_text.h"

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
