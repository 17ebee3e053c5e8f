/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * External reservations of jobs (doc/rfc/external-reservations.md): a table for
 * each interconnect, its rows and events, and the apply that waits for one.
 *
 * Request ids have the interconnect's index, so that an end finds its table.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/out.h"
#include "lanes/manager/core/record.h"

#define EPOCH_SHIFT  40
#define DRIVER_SHIFT 36 /* requests of one epoch and interconnect: enough */

static const char *driver_name(const struct core_outside *outside)
{
	const struct core *core = outside->core;

	return core->interconnects.list[outside->driver].driver->name;
}

struct fairlead_outside core_outside_terms(const struct core *core,
					   uint8_t driver)
{
	const struct interconnect *ic = &core->interconnects.list[driver];
	struct fairlead_outside terms = { 0 };

	if (ic->driver != NULL && ic->driver->manager->outside != NULL)
		ic->driver->manager->outside(ic->state, &terms);
	return terms;
}

/* --- what the table calls --- */

/* Since when it is in its state, which may be before the start. */
static uint64_t since_us(const struct core *core,
			 const struct outside_item *item)
{
	uint64_t age_us = outside_age_ms(item, core_now_ms(core)) * 1000;
	uint64_t now_us = clock_wall_us(core->clock);

	return age_us < now_us ? now_us - age_us : 0;
}

static void on_store(void *ctx, const struct outside_item *item)
{
	const struct core_outside *outside = ctx;
	struct core *core = outside->core;
	struct outside_item stored = *item;
	struct writer sealed = { 0 };
	struct writer writer = writer_borrow(&core->scratch);
	struct store_row row = {
		.table = STORE_OUTSIDE,
		.verb = STORE_PUT,
		.id = item->grant_id,
		.key = driver_name(outside),
	};

	if (item->secret_size > 0) {
		core->ops->encrypt(core->ops_ctx, item->grant_id, item->secret,
				   item->secret_size, &sealed);
		memory_check(sealed.result);
		stored.secret = sealed.data;
		stored.secret_size = (uint32_t)sealed.size;
	}
	record_encode_outside(&stored, since_us(core, item), &writer);
	row.body = writer.data;
	row.size = writer.size;
	core->ops->store(core->ops_ctx, &row);
	writer_return(&core->scratch, &writer);
	writer_fini(&sealed);
}

static void on_erase(void *ctx, uint64_t grant_id)
{
	const struct core_outside *outside = ctx;
	const struct store_row row = {
		.table = STORE_OUTSIDE,
		.verb = STORE_DELETE,
		.id = grant_id,
		.key = driver_name(outside),
	};

	outside->core->ops->store(outside->core->ops_ctx, &row);
}

static void on_send(void *ctx, const struct outside_request *request)
{
	const struct core_outside *outside = ctx;
	struct outside_request sent = *request;

	sent.driver = driver_name(outside);
	outside->core->ops->outside(outside->core->ops_ctx, &sent);
}

static const char *on_prefix(void *ctx)
{
	const struct core_outside *outside = ctx;
	const char *prefix =
		core_outside_terms(outside->core, outside->driver).prefix;

	return prefix != NULL ? prefix : outside->core->cluster;
}

static void on_settled(void *ctx, const struct outside_item *item)
{
	const struct core_outside *outside = ctx;
	struct core *core = outside->core;
	struct job *job = jobs_find(&core->jobs, item->grant_id);
	struct event event;

	if (job == NULL)
		return;
	event_begin(&event, core, "external");
	if (item->state == OUTSIDE_HELD) {
		event_text(&event, "held", item->request);
	} else {
		event_text(&event, "refused", item->request);
		event_text(&event, "reason", item->reason);
	}
	event_store(&event, core, job);
	core_apply_go_on(core, job);
}

static void on_vanished(void *ctx, const struct outside_item *item)
{
	const struct core_outside *outside = ctx;
	struct core *core = outside->core;
	struct job *job = jobs_find(&core->jobs, item->grant_id);

	if (job != NULL && job->state <= JOB_ACTIVE)
		event_exception(
			core, job,
			core_outside_terms(core, outside->driver).is_loss_fatal
				? EVENT_SEVERITY_FATAL
				: EVENT_SEVERITY_WARNING,
			"its external reservation has vanished");
}

static const struct outside_ops table_ops = {
	.store = on_store,
	.erase = on_erase,
	.send = on_send,
	.prefix = on_prefix,
	.settled = on_settled,
	.vanished = on_vanished,
};

/* --- jobs --- */

void core_outside_want(struct core *core, const struct job *job,
		       const struct fairlead_plan *plan)
{
	struct outside_table *table = &core->outsides[job->driver].table;

	if (plan->outside_refusal[0] != '\0')
		outside_refuse(table, job->grant_id, plan->outside,
			       plan->is_outside_fatal, plan->outside_refusal,
			       core_now_ms(core));
	else
		outside_want(table, job->grant_id, plan->outside,
			     plan->is_outside_fatal, core_now_ms(core),
			     core_outside_terms(core, job->driver).wait_ms);
}

void core_outside_release(struct core *core, const struct job *job)
{
	outside_release(&core->outsides[job->driver].table, job->grant_id,
			core_now_ms(core));
}

const struct outside_table *core_outside_table(const struct core *core,
					       uint8_t driver)
{
	const struct outside_table *table = &core->outsides[driver].table;

	return core_outside_terms(core, driver).wait_ms > 0 ||
			       table->item_count > 0
		       ? table
		       : NULL;
}

const struct outside_item *core_outside_find(const struct core *core,
					     const struct job *job)
{
	return outside_find(&core->outsides[job->driver].table, job->grant_id);
}

static int id_compare(const void *a, const void *b)
{
	const uint64_t first = *(const uint64_t *)a;
	const uint64_t second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

/* The grants that nodes report and should not hold, sorted. */
static uint64_t *reported_grants(const struct core *core, size_t *ret_count)
{
	struct writer ids = { 0 };

	nodes_foreach(node, &core->nodes) for (uint32_t i = 0;
					       i < node->report_count; i++)
		write_bytes(&ids, &node->reports[i].grant_id, sizeof(uint64_t));
	memory_check(ids.result);
	*ret_count = ids.size / sizeof(uint64_t);
	if (ids.size > 0)
		qsort(ids.data, *ret_count, sizeof(uint64_t), id_compare);
	return (uint64_t *)ids.data;
}

/*
 * The names on a list that the table may judge. What this journal never gave is
 * of a newer one, and perhaps live. In a recovery, and while a node has a lane
 * of that grant, the job may be live too, though its item is not known.
 */
static size_t known_names(const struct core *core,
			  const struct outside_table *table,
			  const struct outside_end *end, uint64_t *ids)
{
	size_t count = 0, reported_count;
	_auto_(freep) uint64_t *reported =
		reported_grants(core, &reported_count);

	for (size_t i = 0; i < end->count; i++) {
		uint64_t id = end->grant_ids[i];

		if (id >= core->next_grant_id)
			continue;
		if (outside_find(table, id) == NULL &&
		    (core->recovery != 0 ||
		     jobs_find(&core->jobs, id) != NULL ||
		     (reported_count > 0 &&
		      bsearch(&id, reported, reported_count, sizeof(id),
			      id_compare) != NULL)))
			continue;
		ids[count++] = id;
	}
	return count;
}

void core_outside_done(struct core *core, uint64_t id,
		       const struct outside_end *end)
{
	size_t driver = id >> DRIVER_SHIFT & (CORE_DRIVERS_MAX - 1);
	struct outside_table *table = &core->outsides[driver].table;
	_auto_(freep) uint64_t *ids = memory_array(end->count, sizeof(*ids));
	struct outside_end known = *end;

	known.grant_ids = ids;
	if (end->count > 0)
		known.count = known_names(core, table, end, ids);
	outside_done(table, id, &known, core_now_ms(core));
}

/* --- life --- */

void core_outside_init(struct core *core)
{
	_Static_assert((CORE_DRIVERS_MAX & (CORE_DRIVERS_MAX - 1)) == 0 &&
			       CORE_DRIVERS_MAX <=
				       1 << (EPOCH_SHIFT - DRIVER_SHIFT),
		       "an index fits below the epoch");
	for (uint8_t i = 0; i < CORE_DRIVERS_MAX; i++) {
		core->outsides[i].core = core;
		core->outsides[i].driver = i;
		outside_init(&core->outsides[i].table, &table_ops,
			     &core->outsides[i], 1);
	}
}

void core_outside_fini(struct core *core)
{
	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++)
		outside_fini(&core->outsides[i].table);
}

/*
 * Decrypt the secret of a row. If that fails, an ordinary start fails. A recovery
 * goes on without it: a job that is not applied yet requests the reservation
 * again, and so takes it over.
 */
static void secret_open(struct core *core, struct outside_item *item)
{
	const struct job *job = jobs_find(&core->jobs, item->grant_id);
	struct writer secret = { .limit = OUTSIDE_SECRET_MAX };
	struct fairlead_error error = { 0 };
	int result;

	if (item->secret_size == 0 || core->ops->decrypt == NULL)
		return;
	result = core->ops->decrypt(core->ops_ctx, item->grant_id, item->secret,
				    item->secret_size, &secret, &error);
	if (result < 0)
		error_set(&core->secret_error, result,
			  "the external reservation of grant %" PRIu64
			  ": %s; if there is none, restart with --recover",
			  item->grant_id, error.text);
	core->is_rekey_due |= result != 0;
	if (result < 0 && job != NULL && job->state == JOB_RESERVED)
		item->state = OUTSIDE_WANTED;
	free(item->secret);
	item->secret_size = (uint32_t)secret.size;
	item->secret = secret.size > 0 ? writer_take(&secret, NULL) : NULL;
	writer_fini(&secret);
}

int core_outside_load(struct core *core, const struct store_row *row,
		      struct fairlead_error *error)
{
	uint8_t driver = interconnect_find(&core->interconnects, row->key);
	uint64_t now_us = clock_wall_us(core->clock);
	uint64_t from_us;
	struct outside_item item;
	int result = record_decode_outside(row->id, row->body, row->size, &item,
					   &from_us, error);

	if (result < 0)
		return result;
	item.age_ms = from_us < now_us ? (now_us - from_us) / 1000 : 0;
	if (driver == DRIVER_NONE)
		result =
			error_set(error, -EINVAL,
				  "interconnect '%s' is not turned on, and has "
				  "external reservations: turn it on until "
				  "they are released",
				  row->key);
	else if (item.grant_id >= core->next_grant_id)
		result = error_set(error, -EBADMSG,
				   "the next grant id is %" PRIu64,
				   core->next_grant_id);
	else if (item.state != OUTSIDE_OVER &&
		 jobs_find(&core->jobs, item.grant_id) == NULL)
		result = error_set(error, -EBADMSG, "there is no such job");
	if (result == 0)
		secret_open(core, &item);
	if (result == 0 &&
	    outside_load(&core->outsides[driver].table, &item) < 0)
		result = error_set(error, -EBADMSG, "it is there twice");
	if (result < 0) {
		free(item.prefix);
		free(item.request);
		free(item.reason);
		free(item.secret);
	}
	return result;
}

void core_outside_start(struct core *core)
{
	for (uint8_t i = 0; i < CORE_DRIVERS_MAX; i++) {
		struct outside_table *table = &core->outsides[i].table;

		table->next_id = core->epoch << EPOCH_SHIFT |
				 (uint64_t)i << DRIVER_SHIFT | 1;
		if (core_outside_table(core, i) != NULL)
			outside_start(table, core_now_ms(core),
				      core_outside_terms(core, i).wait_ms);
	}
	if (core->is_rekey_due)
		core_rekey(core);
}

void core_outside_configured(struct core *core)
{
	for (uint8_t i = 0; i < CORE_DRIVERS_MAX; i++)
		if (core_outside_table(core, i) != NULL)
			outside_look(&core->outsides[i].table,
				     core_now_ms(core));
}

void core_rekey(struct core *core)
{
	const struct outside_item *item, *next;

	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++)
		HASH_ITER (hh, core->outsides[i].table.items, item, next)
			if (item->state <= OUTSIDE_HELD)
				on_store(&core->outsides[i], item);
	core->is_rekey_due = false;
}

uint64_t core_outside_deadline_ms(const struct core *core)
{
	uint64_t first_ms = DEADLINE_NONE;

	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++) {
		uint64_t at_ms = outside_deadline_ms(&core->outsides[i].table);

		if (at_ms < first_ms)
			first_ms = at_ms;
	}
	return first_ms;
}

void core_outside_tick(struct core *core, uint64_t now_ms)
{
	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++) {
		struct outside_table *table = &core->outsides[i].table;

		if (outside_deadline_ms(table) <= now_ms)
			outside_tick(table, now_ms);
	}
}
