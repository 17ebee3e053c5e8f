/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which requests are sent, and when. At most OUTSIDE_IN_FLIGHT are under way;
 * those that a job waits for go first. While the connection is down, one request
 * at a time is a probe, less and less often. Every second probe is the list: so
 * neither one reservation whose requests always hang keeps the connection down,
 * nor a list that is too long for its timeout.
 *
 * The list is read after a start, after each time that the connection was down,
 * and every few minutes.
 */
#include "lanes/manager/core/outside_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "base/seam.h"

#define LIST_EVERY_MS 300000

/* --- requests --- */

struct outside_item **outside_sent_slot(struct outside_table *table,
					uint64_t id)
{
	for (size_t i = 0; i < OUTSIDE_IN_FLIGHT; i++) {
		struct outside_item *item = table->sent[i];

		if ((item != NULL ? item->sent_id : 0) == id)
			return &table->sent[i];
	}
	return NULL;
}

static void send(struct outside_table *table, struct outside_item *item)
{
	const struct outside_request request = {
		.id = table->next_id++,
		.verb = item->verb,
		.grant_id = item->grant_id,
		.prefix = item->prefix,
		.text = item->verb == OUTSIDE_MAKE ? item->request : "",
	};

	outside_list_leave(table, item);
	*outside_sent_slot(table, 0) = item;
	item->sent_id = request.id;
	table->is_list_next = true;
	if (item->verb == OUTSIDE_MAKE)
		item->may_exist = true;
	table->in_flight++;
	table->ops->send(table->ctx, &request);
}

static void list_send(struct outside_table *table, uint64_t now_ms)
{
	const struct outside_request request = {
		.id = table->next_id++,
		.verb = OUTSIDE_LIST,
		.prefix = "",
		.text = "",
	};

	table->list_id = request.id;
	table->is_list_next = false;
	table->list_sent_ms = now_ms;
	table->list_ms = now_ms + LIST_EVERY_MS;
	table->in_flight++;
	table->ops->send(table->ctx, &request);
}

/* The next to be sent; NULL: none. */
static struct outside_item *next_item(const struct outside_table *table)
{
	if (table->queues[OUTSIDE_MAKE] != NULL)
		return table->queues[OUTSIDE_MAKE];
	if (table->queues[OUTSIDE_FIND] != NULL)
		return table->queues[OUTSIDE_FIND];
	return table->queues[OUTSIDE_DROP];
}

static bool may_send(const struct outside_table *table, uint64_t now_ms)
{
	if (table->is_down)
		return table->in_flight == 0 && now_ms >= table->probe_ms;
	return table->in_flight < OUTSIDE_IN_FLIGHT;
}

static bool is_list_due(const struct outside_table *table,
			const struct outside_item *item, uint64_t now_ms)
{
	if (table->list_id != 0)
		return false;
	if (item != NULL)
		return table->is_down && table->is_list_next;
	return table->is_down || now_ms >= table->list_ms;
}

void outside_pump(struct outside_table *table, uint64_t now_ms)
{
	while (may_send(table, now_ms)) {
		struct outside_item *item = next_item(table);

		if (is_list_due(table, item, now_ms))
			list_send(table, now_ms);
		else if (item != NULL)
			send(table, item);
		else
			return;
	}
}

void outside_item_refuse(struct outside_table *table, struct outside_item *item,
			 const char *why, bool may_exist, uint64_t now_ms)
{
	outside_reason_set(item, why);
	item->deadline_ms = DEADLINE_NONE;
	item->delay_ms = 0;
	outside_item_set(table, item, OUTSIDE_REFUSED, may_exist, now_ms);
	table->counts.refused++;
	outside_item_settle(table, item);
	/* Last: if this ends its job, the item may be freed. */
	table->ops->settled(table->ctx, item);
}

/* --- what jobs want --- */

static void deadline_set(struct outside_table *table, struct outside_item *item,
			 uint64_t deadline_ms)
{
	item->deadline_ms = deadline_ms;
	if (deadline_ms < table->wanted_ms)
		table->wanted_ms = deadline_ms;
}

static struct outside_item *item_want(struct outside_table *table,
				      uint64_t grant_id, const char *request,
				      bool is_fatal, uint64_t now_ms)
{
	struct outside_item *item = outside_item_add(
		table, grant_id, OUTSIDE_WANTED, false, now_ms);

	item->is_fatal = is_fatal;
	item->prefix = memory_text(table->ops->prefix(table->ctx));
	item->request = memory_text(request);
	item->reason = memory_text("");
	return item;
}

void outside_refuse(struct outside_table *table, uint64_t grant_id,
		    const char *request, bool is_fatal, const char *why,
		    uint64_t now_ms)
{
	outside_item_refuse(
		table, item_want(table, grant_id, request, is_fatal, now_ms),
		why, false, now_ms);
}

void outside_want(struct outside_table *table, uint64_t grant_id,
		  const char *request, bool is_fatal, uint64_t now_ms,
		  uint32_t wait_ms)
{
	struct outside_item *item =
		item_want(table, grant_id, request, is_fatal, now_ms);
	_auto_(freep) char *why = NULL;

	if (table->is_down && now_ms - table->since_ms >= wait_ms)
		why = memory_format("down for %" PRIu64 " s: %s",
				    (now_ms - table->since_ms) / 1000,
				    table->why);
	else if (table->debt_count >= OUTSIDE_DEBTS_MAX)
		why = memory_format("%" PRIu32 " reservations are not released "
				    "yet: %s",
				    table->debt_count, table->failure);
	if (why != NULL) {
		outside_item_refuse(table, item, why, false, now_ms);
		return;
	}
	deadline_set(table, item, now_ms + wait_ms);
	table->ops->store(table->ctx, item);
	outside_queue_join(table, item, OUTSIDE_MAKE);
	outside_pump(table, now_ms);
}

void outside_release(struct outside_table *table, uint64_t grant_id,
		     uint64_t now_ms)
{
	struct outside_item *item;

	HASH_FIND(hh, table->items, &grant_id, sizeof(grant_id), item);
	if (item == NULL || item->state == OUTSIDE_OVER)
		return;
	outside_list_leave(table, item);
	item->deadline_ms = DEADLINE_NONE;
	item->delay_ms = 0;
	outside_secret_free(item);
	outside_item_set(table, item, OUTSIDE_OVER, item->may_exist, now_ms);
	outside_item_settle(table, item);
	outside_pump(table, now_ms);
}

const struct outside_item *outside_find(const struct outside_table *table,
					uint64_t grant_id)
{
	struct outside_item *item;

	HASH_FIND(hh, table->items, &grant_id, sizeof(grant_id), item);
	return item;
}

/* --- time --- */

uint64_t outside_deadline_ms(const struct outside_table *table)
{
	uint64_t at_ms = table->waiting_ms;

	if (table->wanted_ms < at_ms)
		at_ms = table->wanted_ms;
	if (table->is_down && table->in_flight == 0 && table->probe_ms < at_ms)
		at_ms = table->probe_ms;
	if (table->list_id == 0 && !table->is_down &&
	    table->in_flight < OUTSIDE_IN_FLIGHT && table->list_ms < at_ms)
		at_ms = table->list_ms;
	return at_ms;
}

void outside_look(struct outside_table *table, uint64_t now_ms)
{
	struct outside_item *item;

	DL_FOREACH (table->waiting, item)
		item->due_ms = now_ms;
	table->waiting_ms = now_ms;
	table->list_ms = now_ms;
	table->probe_ms = now_ms;
	table->probe_delay_ms = 0;
}

static void waiting_tick(struct outside_table *table, uint64_t now_ms)
{
	struct outside_item *item, *next;

	if (now_ms < table->waiting_ms)
		return;
	table->waiting_ms = DEADLINE_NONE;
	DL_FOREACH_SAFE (table->waiting, item, next) {
		if (item->due_ms <= now_ms)
			outside_queue_join(table, item, item->verb);
		else if (item->due_ms < table->waiting_ms)
			table->waiting_ms = item->due_ms;
	}
}

static void item_expire(struct outside_table *table, struct outside_item *item,
			uint64_t now_ms)
{
	const char *last = table->is_down ? table->why : "";
	_auto_(freep) char *why = NULL;

	if (item->reason[0] != '\0')
		last = item->reason;
	why = memory_format("not given within %" PRIu64 " ms%s%s",
			    now_ms - item->since_ms,
			    last[0] != '\0' ? ": " : "", last);
	outside_list_leave(table, item);
	outside_item_refuse(table, item, why, item->may_exist, now_ms);
}

static void wanted_tick(struct outside_table *table, uint64_t now_ms)
{
	struct outside_item *item, *next;

	if (now_ms < table->wanted_ms)
		return;
	table->wanted_ms = DEADLINE_NONE;
	HASH_ITER (hh, table->items, item, next) {
		if (item->deadline_ms > now_ms) {
			if (item->deadline_ms < table->wanted_ms)
				table->wanted_ms = item->deadline_ms;
			continue;
		}
		item_expire(table, item, now_ms);
	}
}

void outside_tick(struct outside_table *table, uint64_t now_ms)
{
	waiting_tick(table, now_ms);
	wanted_tick(table, now_ms);
	outside_pump(table, now_ms);
}

/* --- life --- */

void outside_init(struct outside_table *table, const struct outside_ops *ops,
		  void *ctx, uint64_t first_id)
{
	*table = (struct outside_table){
		.ops = ops,
		.ctx = ctx,
		.next_id = first_id,
		.waiting_ms = DEADLINE_NONE,
		.wanted_ms = DEADLINE_NONE,
		.list_ms = DEADLINE_NONE,
	};
}

void outside_fini(struct outside_table *table)
{
	struct outside_item *item, *next;

	HASH_ITER (hh, table->items, item, next) {
		HASH_DEL(table->items, item);
		outside_item_free(item);
	}
}

int outside_load(struct outside_table *table, const struct outside_item *row)
{
	struct outside_item *item;

	if (outside_find(table, row->grant_id) != NULL)
		return -EEXIST;
	/* A creation may have been sent before the manager died. */
	item = outside_item_add(table, row->grant_id, row->state,
				row->may_exist || row->state == OUTSIDE_WANTED,
				0);
	item->age_ms = row->age_ms;
	item->is_lost = row->is_lost;
	item->is_fatal = row->is_fatal;
	item->prefix = row->prefix;
	item->request = row->request;
	item->reason = row->reason;
	item->secret = row->secret;
	item->secret_size = row->secret_size;
	return 0;
}

static int older_first(const struct outside_item *a,
		       const struct outside_item *b)
{
	return a->age_ms > b->age_ms ? -1 : a->age_ms < b->age_ms;
}

void outside_start(struct outside_table *table, uint64_t now_ms,
		   uint32_t wait_ms)
{
	struct outside_item *item, *next;

	table->list_ms = now_ms;
	DL_SORT2(table->debts, older_first, debt_prev, debt_next);
	HASH_ITER (hh, table->items, item, next) {
		item->since_ms = now_ms;
		if (item->state == OUTSIDE_WANTED) {
			deadline_set(table, item, now_ms + wait_ms);
			outside_queue_join(table, item, OUTSIDE_MAKE);
		} else if (item->state >= OUTSIDE_REFUSED) {
			outside_item_settle(table, item);
		}
	}
	outside_pump(table, now_ms);
}
