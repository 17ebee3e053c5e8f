/* SPDX-License-Identifier: BSD-3-Clause */
/* What an operator's word has freed, by what was in quarantine before it. */
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/out.h"

void core_freed_begin(const struct core *core,
		      struct idset *copies[][FAIRLEAD_POOLS_MAX])
{
	const struct interconnects *all = &core->interconnects;

	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++)
		for (size_t n = 0; n < all->list[i].pool_count; n++)
			memory_check(
				idset_clone(all->list[i].pools[n].quarantined,
					    &copies[i][n]));
}

static void ids_put(json_t *ids, const char *pool, const struct idset *set)
{
	_auto_(freep) char *text = memory_have(idset_format(set));

	if (text[0] != 0)
		json_object_set_new(ids, pool, memory_have(json_string(text)));
}

/* What has left quarantine: free now, or withheld; `before` is used up. */
static void freed_split(const struct interconnect *ic,
			struct idset *before[FAIRLEAD_POOLS_MAX], json_t *freed,
			json_t *withheld)
{
	_auto_(json_decrefp) json_t *free_ids = memory_have(json_object());
	_auto_(json_decrefp) json_t *kept_ids = memory_have(json_object());

	for (size_t n = 0; n < ic->pool_count; n++) {
		const struct pool *pool = &ic->pools[n];
		_auto_(idset_destroyp) struct idset *set = before[n];
		_auto_(idset_destroyp) struct idset *kept = NULL;

		idset_subtract(set, pool->quarantined);
		memory_check(idset_clone(set, &kept));
		idset_intersect(kept, pool->withheld);
		idset_subtract(set, kept);
		ids_put(free_ids, pool->name, set);
		ids_put(kept_ids, pool->name, kept);
	}
	if (json_object_size(free_ids) > 0)
		json_object_set(freed, ic->driver->name, free_ids);
	if (json_object_size(kept_ids) > 0)
		json_object_set(withheld, ic->driver->name, kept_ids);
}

/* {"freed":{interconnect: {pool: ids}}, "withheld": likewise} */
void core_freed_answer(struct core *core, uint64_t token,
		       struct idset *before[][FAIRLEAD_POOLS_MAX])
{
	json_t *freed = memory_have(json_object());
	json_t *withheld = memory_have(json_object());
	_auto_(freep) char *text = NULL;
	json_t *members;

	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++)
		freed_split(&core->interconnects.list[i], before[i], freed,
			    withheld);
	members = memory_have(json_pack("{s:o}", "freed", freed));
	if (json_object_size(withheld) > 0)
		json_object_set(members, "withheld", withheld);
	json_decref(withheld);
	text = core_json_text(members);
	core_reply_done(core, token, text);
}
