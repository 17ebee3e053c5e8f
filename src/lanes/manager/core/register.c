/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node registers. Three things follow, in this order, for each job that has
 * a part there:
 *
 *  1. What the node reports and should not hold is withheld, before anything
 *     can become free.
 *  2. Another incarnation than the last one fences every part that was
 *     applied in an earlier one, unless the node reports that grant all the
 *     same, or its APPLY is still under way and may yet reach the new boot:
 *     the new incarnation then has to confirm the part.
 *  3. Unconfirmed parts are revoked again. That its inventory lacks a
 *     grant proves nothing here: the REVOKE makes it a tombstone.
 *
 * A registration can be late: the boot that sent it may have ended, and a
 * newer one have registered. Who answers a challenge was alive when it was
 * made, so challenges stand in the order of the boots that answer them.
 */
#include <assert.h>
#include <stdio.h>

#include "lanes/manager/core/out.h"
#include "base/text.h"
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"

/* --- the inventory --- */

/* Grants that a node reports, sorted by id. */
struct core_inventory {
	struct reported {
		uint64_t id;
		bool is_lost; /* it has a record of it, and no object */
	} * list;
	size_t count;
	bool has_pending; /* revoked grants are not among them */
};

static int reported_compare(const void *left, const void *right)
{
	const struct reported *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

static struct core_inventory inventory_of(const struct core_registration *from)
{
	struct core_inventory inventory = { .count = from->grant_count,
					    .has_pending = from->has_pending };

	inventory.list = memory_array(inventory.count, sizeof(*inventory.list));
	for (size_t i = 0; i < inventory.count; i++)
		inventory.list[i] = (struct reported){
			.id = from->grants[i].grant_id,
			.is_lost = from->grants[i].state == CORE_GRANT_LOST,
		};
	qsort(inventory.list, inventory.count, sizeof(*inventory.list),
	      reported_compare);
	return inventory;
}

/* NULL: the node does not have it. */
static const struct reported *inventory_find(
	const struct core_inventory *inventory, uint64_t grant_id)
{
	const struct reported key = { .id = grant_id };

	return bsearch(&key, inventory->list, inventory->count,
		       sizeof(*inventory->list), reported_compare);
}

/* --- objects and grants that should not be there --- */

static const enum edge report_edges[REPORT_KIND_COUNT] = {
	[REPORT_OBJECT] = EDGE_REPORT_OBJECT,
	[REPORT_UNKNOWN] = EDGE_REPORT_UNKNOWN,
	[REPORT_RELEASED] = EDGE_REPORT_RELEASED,
	[REPORT_UNAPPLIED] = EDGE_REPORT_UNAPPLIED,
	[REPORT_CONFIRMED] = EDGE_REPORT_CONFIRMED,
	[REPORT_DIFFERENT] = EDGE_REPORT_DIFFERENT,
};

static bool is_same_lane(const struct core *core, const struct job *job,
			 const struct core_inventory_grant *grant)
{
	const struct interconnect *ic = &core->interconnects.list[job->driver];

	return strcmp(ic->driver->name, grant->driver) == 0 &&
	       grant->id_count == job->id_count &&
	       memcmp(grant->ids, job->ids,
		      job->id_count * sizeof(*job->ids)) == 0;
}

/* False: the grant is where it should be. */
static bool is_wrong(const struct core *core, const struct node *node,
		     const struct core_inventory_grant *grant,
		     enum report_kind *ret_kind)
{
	const struct job *job = jobs_find(&core->jobs, grant->grant_id);
	const struct part *part =
		job == NULL ? NULL : job_part(job, node->index);

	if (job == NULL)
		*ret_kind = tombstones_find_id(&core->tombstones,
					       grant->grant_id) == NULL
				    ? REPORT_UNKNOWN
				    : REPORT_RELEASED;
	else if (part == NULL || part->state == PART_PENDING)
		*ret_kind = REPORT_UNAPPLIED;
	else if (part_is_gone(part))
		*ret_kind = REPORT_CONFIRMED;
	else if (!is_same_lane(core, job, grant))
		*ret_kind = REPORT_DIFFERENT;
	else if (job->waived != 0)
		*ret_kind = REPORT_RELEASED;
	else
		return false;
	return true;
}

static void ids_copy(struct report *report, uint32_t count, const uint32_t *ids)
{
	if (count > NODE_REPORT_IDS_MAX)
		count = NODE_REPORT_IDS_MAX;
	report->id_count = count;
	for (uint32_t i = 0; i < count; i++)
		report->ids[i] = ids[i];
}

static bool is_unlisted(const struct core_registration *from,
			const char *driver)
{
	for (size_t i = 0; i < from->unlisted_count; i++)
		if (strcmp(from->unlisted[i], driver) == 0)
			return true;
	return false;
}

static bool is_same_object(const struct report *a, const struct report *b)
{
	return a->kind == REPORT_OBJECT && b->kind == REPORT_OBJECT &&
	       a->object_id == b->object_id && a->uid == b->uid &&
	       strcmp(a->driver, b->driver) == 0 &&
	       strcmp(a->device, b->device) == 0 &&
	       a->id_count == b->id_count &&
	       memcmp(a->ids, b->ids, a->id_count * sizeof(*a->ids)) == 0;
}

/* A driver that cannot list objects does not report that they are gone. */
static uint32_t reports_keep(const struct node *node,
			     const struct core_registration *from,
			     struct report *reports, uint32_t count)
{
	uint32_t listed_count = count;

	for (uint32_t i = 0; i < node->report_count; i++) {
		const struct report *old = &node->reports[i];
		uint32_t n = 0;

		if (old->kind != REPORT_OBJECT ||
		    !is_unlisted(from, old->driver))
			continue;
		while (n < listed_count && !is_same_object(&reports[n], old))
			n++;
		if (n == listed_count && count < CORE_REPORTS_MAX)
			reports[count++] = *old;
	}
	return count;
}

static uint32_t reports_of(const struct core *core, const struct node *node,
			   const struct core_registration *from,
			   struct report *reports)
{
	uint32_t count = 0;

	for (size_t i = 0; i < from->grant_count; i++) {
		const struct core_inventory_grant *grant = &from->grants[i];
		struct report *report = &reports[count];
		enum report_kind kind;

		if (!is_wrong(core, node, grant, &kind))
			continue;
		report->kind = kind;
		report->grant_id = grant->grant_id;
		text_fit(report->driver, sizeof(report->driver), grant->driver);
		ids_copy(report, grant->id_count, grant->ids);
		core_hit(core, report_edges[kind]);
		count++;
	}
	for (size_t i = 0; i < from->object_count; i++) {
		const struct core_inventory_object *object = &from->objects[i];
		struct report *report = &reports[count++];

		report->kind = REPORT_OBJECT;
		report->object_id = object->object_id;
		report->uid = object->uid;
		text_fit(report->driver, sizeof(report->driver),
			 object->driver);
		text_fit(report->device, sizeof(report->device),
			 object->device);
		ids_copy(report, object->id_count, object->ids);
		report->grant_id = core_report_owner(core, node, report);
		core_hit(core, EDGE_REPORT_OBJECT);
	}
	return count;
}

/* --- a job's part in the registration --- */

/* The APPLY may reach the new boot: the part is its to confirm. */
static void part_move(struct core *core, struct job *job, struct part *part,
		      const struct node *node)
{
	part->serial = node->serial & JOB_SERIAL_MAX;
	if (job->state == JOB_APPLYING) {
		core_hit(core, EDGE_PART_RESET_APPLYING);
		core_apply_reset(core, job, part);
	}
	core_store_part(core, job, part);
}

/* Does the node still have the applied lane? */
static void part_compare(struct core *core, struct job *job, struct part *part,
			 const struct reported *reported)
{
	bool is_there = reported != NULL && !reported->is_lost;

	if (part->state == PART_APPLIED && !is_there) {
		core_hit(core, EDGE_REPORT_MISSING);
		part_set_state(job, part, PART_MISSING, &core->probe);
		core_part_lost(core, job, part,
			       reported == NULL
				       ? "it has no record of it"
				       : "nothing of it is on its devices");
	} else if (part->state == PART_MISSING && is_there) {
		part_set_state(job, part, PART_APPLIED, &core->probe);
	} else {
		return;
	}
	core_store_part(core, job, part);
}

static void part_check(struct core *core, struct job *job, struct node *node,
		       const struct core_inventory *inventory)
{
	struct part *part = job_part(job, node->index);
	const struct reported *reported =
		inventory_find(inventory, job->grant_id);

	if (!part_is_unconfirmed(part))
		return;
	if (part->serial < node->serial) {
		if (job->state == JOB_APPLYING || reported != NULL)
			part_move(core, job, part, node);
		else
			core_parts_confirmed(core, job, &part, 1,
					     CONFIRM_FENCED, NULL);
	} else if (reported != NULL || !inventory->has_pending) {
		part_compare(core, job, part, reported);
	}
	if (job->state >= JOB_RELEASED && core_settle(core, job))
		return;
	if (part->state == PART_REVOKING && !job->is_in_grace) {
		core_fanout_revoke_one(core, job, node);
		if (job->state >= JOB_RELEASED &&
		    job->retry_at_ms == DEADLINE_NONE)
			core_retry_schedule(core, job);
	}
}

static void jobs_check(struct core *core, struct node *node,
		       const struct core_inventory *inventory)
{
	/* The node's jobs change while they are looked at. */
	uint32_t count = node->job_count;
	_auto_(freep) uint32_t *slots = memory_array(count, sizeof(*slots));

	if (count > 0)
		memcpy(slots, node->jobs, count * sizeof(*slots));
	for (uint32_t i = 0; i < count; i++)
		part_check(core, jobs_at(&core->jobs, slots[i]), node,
			   inventory);
}

/* --- the registration --- */

static int check(struct core *core,
		 const struct core_registration *registration,
		 struct node **ret_node, struct fairlead_error *ret_error)
{
	struct node *node = nodes_find(&core->nodes, registration->node);

	if (node == NULL) {
		core_hit(core, EDGE_ERROR_REGISTER_ENOENT);
		return error_set(ret_error, -ENOENT,
				 "node '%s' is not in the manager's "
				 "configuration",
				 registration->node);
	}
	if (registration->challenge < node->challenge) {
		core_hit(core, EDGE_ERROR_REGISTER_ESTALE);
		return error_set(ret_error, -ESTALE,
				 "the registration is late: node '%s' has "
				 "registered with a later challenge",
				 node->name);
	}
	if (!node_is(node, registration->incarnation) &&
	    node_was(node, registration->incarnation)) {
		core_hit(core, EDGE_ERROR_REGISTER_EEXIST);
		return error_set(ret_error, -EEXIST,
				 "node '%s' comes back with a boot that it "
				 "has left: two machines go by one name, or "
				 "one was restored from a snapshot; find out "
				 "which is right, then `fairlead node fence "
				 "%s`",
				 node->name, node->name);
	}
	if (registration->grant_count + registration->object_count >
	    CORE_REPORTS_MAX) {
		core_hit(core, EDGE_LIMIT_REGISTER);
		return error_set(ret_error, -E2BIG,
				 "node '%s' reports more than %d grants and "
				 "objects",
				 node->name, CORE_REPORTS_MAX);
	}
	*ret_node = node;
	return 0;
}

static void come_up(struct core *core, struct node *node,
		    const struct core_registration *registration)
{
	static const enum edge edges[NODE_STATE_COUNT] = {
		[NODE_UNKNOWN] = EDGE_NODE_FIRST,
		[NODE_UP] = EDGE_NODE_AGAIN,
		[NODE_DOWN] = EDGE_NODE_BACK,
	};
	char version[NODE_VERSION_MAX + 1];

	core_hit(core, edges[node->state]);
	node->state = NODE_UP;
	nodes_changed(&core->nodes, node);
	node->registered_ms = core_now_ms(core);
	node->challenge = registration->challenge;
	if (!node_is(node, registration->incarnation)) {
		if (node->serial > 0)
			core_hit(core, EDGE_NODE_REBOOT);
		core->metrics.reboots += node->serial > 0;
		node_incarnate(node, registration->incarnation);
	}
	text_fit(version, sizeof(version),
		 registration->version == NULL ? "" : registration->version);
	free(node->version);
	node->version = version[0] == 0 ? NULL : memory_text(version);
	node->address_size = (uint32_t)registration->address_size;
	if (registration->address_size > 0)
		memcpy(node->address, registration->address,
		       registration->address_size);
	core_places_take(node, registration);
	core->metrics.registrations++;
}

int core_register(struct core *core,
		  const struct core_registration *registration,
		  struct fairlead_error *ret_error)
{
	struct core_inventory inventory;
	struct report *reports;
	struct node *node = NULL;
	bool is_same_boot;
	uint32_t count;
	int result = check(core, registration, &node, ret_error);

	if (result < 0)
		return result;
	node->is_pinned = true;
	is_same_boot = node_is(node, registration->incarnation);
	come_up(core, node, registration);
	reports = memory_array(registration->grant_count +
				       registration->object_count +
				       node->report_count,
			       sizeof(*reports));
	count = reports_of(core, node, registration, reports);
	if (is_same_boot)
		count = reports_keep(node, registration, reports, count);
	core_reports_set(core, node, reports, count);
	core_account(core, node);
	core_store_node(core, node);
	inventory = inventory_of(registration);
	jobs_check(core, node, &inventory);
	free(inventory.list);
	core_reports_revoke(core, node);
	core_drain_settle(core, node);
	core_node_unpin(core, node);
	return 0;
}

/* --- where endpoints are --- */

static_assert(NODE_ADDRESS_MAX == CORE_ADDRESS_MAX, "the address fits");

static struct core_node_endpoint endpoint_of(const struct node *node)
{
	return (struct core_node_endpoint){
		.name = node->name,
		.incarnation = node->incarnation,
		.address = node->address,
		.address_size = node->address_size,
	};
}

int core_node_endpoint_next(const struct core *core, uint32_t *cursor,
			    struct core_node_endpoint *ret_endpoint)
{
	while (*cursor < core->nodes.limit) {
		const struct node *node = nodes_at(&core->nodes, (*cursor)++);

		if (node == NULL || !node->is_configured || node->serial == 0)
			continue;
		*ret_endpoint = endpoint_of(node);
		return 1;
	}
	return 0;
}

bool core_node_endpoint(const struct core *core, const char *name,
			struct core_node_endpoint *ret_endpoint)
{
	const struct node *node = nodes_find(&core->nodes, name);

	if (node == NULL || !node->is_configured || node->serial == 0)
		return false;
	*ret_endpoint = endpoint_of(node);
	return true;
}

/* --- between registrations --- */

/* The same, in the same order; another order costs a row, and no more. */
static bool is_same_reports(const struct node *node,
			    const struct report *reports, uint32_t count)
{
	if (node->report_count != count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct report *old = &node->reports[i];

		if (old->kind != reports[i].kind ||
		    old->grant_id != reports[i].grant_id ||
		    (old->kind == REPORT_OBJECT &&
		     !is_same_object(old, &reports[i])))
			return false;
	}
	return true;
}

/* A missing one proves nothing: it may have been made since. */
static void grants_compare(struct core *core, const struct node *node,
			   const struct core_registration *seen)
{
	const struct core_inventory inventory = inventory_of(seen);

	for (size_t i = 0; i < inventory.count; i++) {
		const struct reported *reported = &inventory.list[i];
		struct job *job = jobs_find(&core->jobs, reported->id);
		struct part *part =
			job == NULL ? NULL : job_part(job, node->index);

		if (part != NULL && part->serial == node->serial)
			part_compare(core, job, part, reported);
	}
	free(inventory.list);
}

int core_observe(struct core *core, const struct core_registration *seen,
		 struct fairlead_error *ret_error)
{
	struct node *node = nodes_find(&core->nodes, seen->node);
	struct report *reports;
	uint32_t count;
	bool is_moved;

	if (node == NULL || node->state != NODE_UP ||
	    !node_is(node, seen->incarnation))
		return error_set(ret_error, -ESTALE,
				 "node '%s' is not up in that incarnation",
				 seen->node);
	if (seen->grant_count + seen->object_count > CORE_REPORTS_MAX)
		return error_set(ret_error, -E2BIG,
				 "node '%s' reports more than %d grants and "
				 "objects",
				 seen->node, CORE_REPORTS_MAX);
	grants_compare(core, node, seen);
	reports = memory_array(seen->grant_count + seen->object_count +
				       node->report_count,
			       sizeof(*reports));
	count = reports_of(core, node, seen, reports);
	count = reports_keep(node, seen, reports, count);
	is_moved = core_places_take(node, seen);
	if (is_same_reports(node, reports, count)) {
		free(reports);
		if (is_moved)
			core_store_node(core, node);
		return 0;
	}
	node->is_pinned = true;
	core_reports_set(core, node, reports, count);
	core_store_node(core, node);
	core_reports_revoke(core, node);
	core_drain_settle(core, node);
	core_node_unpin(core, node);
	return 0;
}

bool core_node_withholds(const struct core *core, const char *name)
{
	const struct node *node = nodes_find(&core->nodes, name);

	for (uint32_t i = 0; node != NULL && i < node->report_count; i++)
		if (node->reports[i].kind == REPORT_OBJECT)
			return true;
	return false;
}

bool core_node_has_of(const struct core *core, const char *name,
		      uint64_t grant_id)
{
	const struct node *node = nodes_find(&core->nodes, name);

	for (uint32_t i = 0; node != NULL && i < node->report_count; i++)
		if (node->reports[i].kind == REPORT_OBJECT &&
		    node->reports[i].grant_id == grant_id)
			return true;
	return false;
}

bool core_node_is_up(const struct core *core, const char *name)
{
	const struct node *node = nodes_find(&core->nodes, name);

	return node != NULL && node->state == NODE_UP;
}

void core_node_lost(struct core *core, const char *name)
{
	struct node *node = nodes_find(&core->nodes, name);

	if (node == NULL || node->state != NODE_UP)
		return;
	node->state = NODE_DOWN;
	nodes_changed(&core->nodes, node);
	core_hit(core, EDGE_NODE_LOST);
	core_grace_node_lost(core, node);
}
