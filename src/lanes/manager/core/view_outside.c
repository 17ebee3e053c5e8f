/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * External reservations, and the fabric managers that give them: in numbers for
 * `status`, what there is to reserve for `pools`, one of a grant for `explain`.
 * Their secrets are not in a view.
 */
#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/view.h"

static uint64_t connection_ms(const struct core *core,
			      const struct outside_table *table)
{
	return core_now_ms(core) -
	       (table->is_known ? table->since_ms : core->started_ms);
}

static json_t *results_json(const struct outside_counts *counts)
{
	json_t *object = memory_have(json_object());

	view_number(object, "made", counts->made);
	view_number(object, "refused", counts->refused);
	view_number(object, "late", counts->late);
	view_number(object, "released", counts->released);
	view_number(object, "found", counts->found);
	view_number(object, "vanished", counts->vanished);
	view_number(object, "failed", counts->failed);
	return object;
}

static json_t *outside_json(const struct core *core,
			    const struct outside_table *table)
{
	static const char *const connections[] = {
		[OUTSIDE_UNKNOWN] = "unknown",
		[OUTSIDE_UP] = "up",
		[OUTSIDE_DOWN] = "down",
		[OUTSIDE_DENIED] = "denied",
	};
	const struct histogram *times = &table->counts.make_ms;
	const struct outside_item *oldest = table->debts;
	json_t *object = memory_have(json_object());

	view_text(object, "connection", connections[outside_connection(table)]);
	view_number(object, "connection_s", connection_ms(core, table) / 1000);
	view_text(object, "why", table->why);
	view_number(object, "wanted", table->state_counts[OUTSIDE_WANTED]);
	view_number(object, "held", table->state_counts[OUTSIDE_HELD]);
	view_number(object, "refused", table->state_counts[OUTSIDE_REFUSED]);
	view_number(object, "debts", table->debt_count);
	if (oldest != NULL) {
		view_number(object, "oldest_grant", oldest->grant_id);
		view_number(object, "oldest_s",
			    outside_age_ms(oldest, core_now_ms(core)) / 1000);
	}
	view_text(object, "failure", table->failure);
	if (times->count > 0)
		view_number(object, "make_ms", times->sum_ms / times->count);
	view_set(object, "results", results_json(&table->counts));
	return object;
}

json_t *view_outsides(const struct core *core)
{
	json_t *all = memory_have(json_object());

	interconnects_foreach(ic, &core->interconnects)
	{
		const struct outside_table *table = core_outside_table(
			core, (uint8_t)(ic - core->interconnects.list));

		if (table != NULL)
			view_set(all, ic->driver->name,
				 outside_json(core, table));
	}
	return all;
}

/*
 * The vendor's recommendation for each job: the addresses of the fabric, shared
 * among as many jobs of min_nodes as fit the system.
 */
static uint64_t fair_share(const struct fairlead_outside *terms, uint64_t nodes)
{
	uint64_t share = (uint64_t)terms->total * terms->min_nodes / nodes;

	return share < terms->total ? share : terms->total;
}

static json_t *share_json(const struct core *core,
			  const struct fairlead_outside *terms)
{
	const uint32_t *counts = core->nodes.counts;
	uint64_t nodes = (uint64_t)counts[NODE_COUNT_UP] +
			 counts[NODE_COUNT_DOWN] + counts[NODE_COUNT_LEAVING];
	json_t *object = memory_have(json_object());

	view_number(object, "per_job", terms->per_job);
	view_number(object, "min_nodes", terms->min_nodes);
	view_number(object, "total", terms->total);
	view_number(object, "jobs", terms->total / terms->per_job);
	view_number(object, "nodes", nodes);
	if (terms->min_nodes > 0 && nodes > 0)
		view_number(object, "recommended", fair_share(terms, nodes));
	return object;
}

json_t *view_shares(const struct core *core)
{
	json_t *all = memory_have(json_object());

	interconnects_foreach(ic, &core->interconnects)
	{
		struct fairlead_outside terms = core_outside_terms(
			core, (uint8_t)(ic - core->interconnects.list));

		if (terms.wait_ms > 0 && terms.total > 0 && terms.per_job > 0)
			view_set(all, ic->driver->name,
				 share_json(core, &terms));
	}
	return all;
}

void view_outside_add(const struct core *core, json_t *item, uint64_t grant_id)
{
	const struct outside_item *found = NULL;
	json_t *object;

	for (size_t i = 0; i < CORE_DRIVERS_MAX && found == NULL; i++)
		found = outside_find(&core->outsides[i].table, grant_id);
	if (found == NULL)
		return;
	object = memory_have(json_object());
	view_text(
		object, "state",
		found->is_lost && found->state == OUTSIDE_HELD
			? "lost"
			: outside_state_name((enum outside_state)found->state));
	view_number(object, "age_s",
		    outside_age_ms(found, core_now_ms(core)) / 1000);
	view_text(object, "request", found->request);
	view_text(object, "reason", found->reason);
	view_set(object, "debt", json_boolean(outside_is_debt(found)));
	view_set(item, "external", object);
}
