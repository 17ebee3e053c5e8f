/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How requests ended: what follows for the connection, for the item of the
 * request, and for the items that a list shows or lacks. A name of ours without
 * an item becomes a debt. A held reservation that is not on the list is looked
 * for by itself before it counts as vanished, since a list may be cut short.
 */
#include "lanes/manager/core/outside_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/seam.h"
#include "base/text.h"

#define PROBE_FIRST_MS  100
#define PROBE_MAX_MS    60000
#define RETRY_WANTED_MS 200 /* a job waits for it */
#define RETRY_FIRST_MS  1000

/* --- the connection --- */

enum outside_connection outside_connection(const struct outside_table *table)
{
	if (!table->is_known)
		return OUTSIDE_UNKNOWN;
	if (table->is_down)
		return OUTSIDE_DOWN;
	return table->is_denied ? OUTSIDE_DENIED : OUTSIDE_UP;
}

static void connection_up(struct outside_table *table, uint64_t id,
			  const struct outside_end *end, uint64_t now_ms)
{
	table->reached_ms = now_ms;
	if (id > table->answered_id)
		table->answered_id = id;
	table->is_denied = end->result == -EACCES;
	text_fit(table->why, sizeof(table->why),
		 table->is_denied ? end->text : "");
	if (table->is_known && !table->is_down)
		return;
	table->is_known = true;
	table->is_down = false;
	table->since_ms = now_ms;
	if (table->list_id == 0)
		table->list_ms = now_ms;
}

static void connection_down(struct outside_table *table, uint64_t id,
			    const char *why, uint64_t now_ms)
{
	/* A later request was answered: this one hangs, not the connection. */
	if (id < table->answered_id)
		return;
	if (!table->is_known || !table->is_down) {
		table->is_known = true;
		table->is_down = true;
		table->since_ms = now_ms;
		table->probe_delay_ms = PROBE_FIRST_MS;
		table->probe_id = table->next_id;
	} else if (id >= table->probe_id) {
		table->probe_delay_ms *= 2;
		if (table->probe_delay_ms < PROBE_FIRST_MS)
			table->probe_delay_ms = PROBE_FIRST_MS;
		if (table->probe_delay_ms > PROBE_MAX_MS)
			table->probe_delay_ms = PROBE_MAX_MS;
	}
	table->probe_ms = now_ms + table->probe_delay_ms;
	table->is_denied = false;
	text_fit(table->why, sizeof(table->why), why);
}

/* --- requests for one item --- */

static void hold(struct outside_table *table, struct outside_item *item,
		 const struct outside_end *end, uint64_t now_ms)
{
	uint64_t took_ms = now_ms - item->since_ms;

	item->secret = memory_copy(end->secret, end->secret_size);
	item->secret_size = (uint32_t)end->secret_size;
	item->deadline_ms = DEADLINE_NONE;
	item->delay_ms = 0;
	table->counts.made++;
	histogram_add(&table->counts.make_ms, took_ms);
	outside_item_set(table, item, OUTSIDE_HELD, true, now_ms);
	table->ops->settled(table->ctx, item);
}

/* True: whether a creation was done is not known. */
static bool is_unsure(int result)
{
	return result == -EAGAIN || result == -EPROTO || result == -EACCES;
}

static void make_done(struct outside_table *table, struct outside_item *item,
		      const struct outside_end *end, uint64_t now_ms)
{
	bool may_exist = end->result == 0 || is_unsure(end->result);

	if (item->state != OUTSIDE_WANTED) {
		/* Too late: its job went on without, or has ended. */
		table->counts.late++;
		if (may_exist != item->may_exist)
			outside_item_set(table, item, item->state, may_exist,
					 now_ms);
		outside_item_settle(table, item);
	} else if (end->result == 0 && end->secret_size <= OUTSIDE_SECRET_MAX) {
		hold(table, item, end, now_ms);
	} else if (end->result == -EAGAIN) {
		outside_reason_set(item, end->text);
		if (table->is_down) /* it may be the next probe */
			outside_queue_join(table, item, OUTSIDE_MAKE);
		else
			outside_retry_later(table, item, now_ms,
					    RETRY_WANTED_MS);
	} else {
		outside_item_refuse(table, item, end->text, may_exist, now_ms);
	}
}

/* True: it was lost as all others are, which says nothing of its item. */
static bool is_lost_probe(const struct outside_table *table, uint64_t id,
			  const struct outside_end *end)
{
	return !end->is_reached && table->is_down && id >= table->probe_id;
}

static void drop_done(struct outside_table *table, struct outside_item *item,
		      uint64_t id, const struct outside_end *end,
		      uint64_t now_ms)
{
	if (end->result < 0 && end->result != -ENOENT) {
		table->counts.failed++;
		text_fit(table->failure, sizeof(table->failure), end->text);
		if (is_lost_probe(table, id, end))
			outside_queue_join(table, item, OUTSIDE_DROP);
		else
			outside_retry_later(table, item, now_ms,
					    RETRY_FIRST_MS);
		return;
	}
	table->counts.released++;
	table->failure[0] = '\0';
	outside_item_set(table, item, item->state, false, now_ms);
	outside_item_settle(table, item);
}

static void find_done(struct outside_table *table, struct outside_item *item,
		      const struct outside_end *end, uint64_t now_ms)
{
	if (item->state != OUTSIDE_HELD) {
		outside_item_settle(table, item);
		return;
	}
	if (end->result != -ENOENT)
		return; /* it is there, or the next list looks again */
	item->is_lost = true;
	outside_item_set(table, item, OUTSIDE_HELD, false, now_ms);
	table->counts.vanished++;
	table->ops->vanished(table->ctx, item);
}

static int id_compare(const void *a, const void *b)
{
	const uint64_t first = *(const uint64_t *)a;
	const uint64_t second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

/* A list has a name of ours: is there an item that accounts for it? */
static void found(struct outside_table *table, uint64_t grant_id,
		  uint64_t now_ms)
{
	struct outside_item *item;

	HASH_FIND(hh, table->items, &grant_id, sizeof(grant_id), item);
	if (item == NULL) {
		if (table->debt_count >= OUTSIDE_DEBTS_MAX)
			return; /* it is on a later list too */
		item = outside_item_add(table, grant_id, OUTSIDE_OVER, true,
					now_ms);
		item->prefix = memory_text(table->ops->prefix(table->ctx));
		item->request = memory_text("");
		item->reason = memory_text("");
		table->ops->store(table->ctx, item);
	} else if (item->state != OUTSIDE_WANTED && !item->may_exist) {
		/* A creation that was late, of one that was refused or lost. */
		outside_item_set(table, item, item->state, true, now_ms);
	} else {
		return;
	}
	table->counts.found++;
	outside_item_settle(table, item);
}

static void list_done(struct outside_table *table,
		      const struct outside_end *end, uint64_t now_ms)
{
	_auto_(freep) uint64_t *ids = NULL;
	struct outside_item *item, *next;

	if (end->result < 0) {
		table->counts.failed++;
		return;
	}
	ids = memory_copy(end->grant_ids, end->count * sizeof(*ids));
	qsort(ids, end->count, sizeof(*ids), id_compare);
	HASH_ITER (hh, table->items, item, next) {
		/* One that is younger than the list may not be on it. */
		if (item->state != OUTSIDE_HELD || item->is_lost ||
		    item->sent_id != 0 ||
		    item->since_ms > table->list_sent_ms ||
		    bsearch(&item->grant_id, ids, end->count, sizeof(*ids),
			    id_compare) != NULL)
			continue;
		outside_queue_join(table, item, OUTSIDE_FIND);
	}
	for (size_t i = 0; i < end->count; i++)
		found(table, ids[i], now_ms);
}

void outside_done(struct outside_table *table, uint64_t id,
		  const struct outside_end *end, uint64_t now_ms)
{
	const bool is_list = id != 0 && id == table->list_id;
	struct outside_item **slot =
		is_list ? NULL : outside_sent_slot(table, id);
	struct outside_item *item = slot != NULL ? *slot : NULL;

	if (!is_list && item == NULL)
		return;
	table->in_flight--;
	if (end->is_reached)
		connection_up(table, id, end, now_ms);
	else
		connection_down(table, id, end->text, now_ms);
	if (is_list) {
		table->list_id = 0;
		list_done(table, end, now_ms);
	} else {
		*slot = NULL;
		item->sent_id = 0;
		if (item->verb == OUTSIDE_MAKE)
			make_done(table, item, end, now_ms);
		else if (item->verb == OUTSIDE_DROP)
			drop_done(table, item, id, end, now_ms);
		else
			find_done(table, item, end, now_ms);
	}
	outside_pump(table, now_ms);
}
