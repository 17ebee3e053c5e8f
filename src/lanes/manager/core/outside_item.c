/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Items: the list that each is in, how many there are in each state, and when
 * one is gone.
 */
#include "lanes/manager/core/outside_internal.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "base/seam.h"
#include "base/text.h"

#define RETRY_MAX_MS 300000

/* Where an item is: a queue, which is its verb's, or one of these. */
enum {
	LIST_WAITING = 4,
	LIST_NONE,
};

/* --- lists --- */

void outside_list_leave(struct outside_table *table, struct outside_item *item)
{
	if (item->list == LIST_WAITING)
		DL_DELETE(table->waiting, item);
	else if (item->list != LIST_NONE)
		DL_DELETE(table->queues[item->list], item);
	item->list = LIST_NONE;
}

void outside_queue_join(struct outside_table *table, struct outside_item *item,
			enum outside_verb verb)
{
	outside_list_leave(table, item);
	item->verb = (uint8_t)verb;
	item->list = (uint8_t)verb;
	DL_APPEND(table->queues[verb], item);
}

void outside_retry_later(struct outside_table *table, struct outside_item *item,
			 uint64_t now_ms, uint32_t first_ms)
{
	outside_list_leave(table, item);
	item->delay_ms = item->delay_ms == 0 ? first_ms : item->delay_ms * 2;
	if (item->delay_ms > RETRY_MAX_MS)
		item->delay_ms = RETRY_MAX_MS;
	item->due_ms = now_ms + item->delay_ms;
	/* Each tick walks all that wait: have one a second at most. */
	if (item->delay_ms >= 1000)
		item->due_ms += 1000 - item->due_ms % 1000;
	item->list = LIST_WAITING;
	DL_APPEND(table->waiting, item);
	if (item->due_ms < table->waiting_ms)
		table->waiting_ms = item->due_ms;
}

/* --- items --- */

bool outside_is_debt(const struct outside_item *item)
{
	return item->may_exist && item->state >= OUTSIDE_REFUSED;
}

/* It has entered its state, or is loaded. */
static void item_count(struct outside_table *table, struct outside_item *item)
{
	table->state_counts[item->state]++;
	if (!outside_is_debt(item))
		return;
	table->debt_count++;
	DL_APPEND2(table->debts, item, debt_prev, debt_next);
}

static void item_uncount(struct outside_table *table, struct outside_item *item)
{
	table->state_counts[item->state]--;
	if (!outside_is_debt(item))
		return;
	table->debt_count--;
	DL_DELETE2(table->debts, item, debt_prev, debt_next);
}

void outside_item_set(struct outside_table *table, struct outside_item *item,
		      enum outside_state state, bool may_exist, uint64_t now_ms)
{
	item_uncount(table, item);
	item->state = (uint8_t)state;
	item->may_exist = may_exist;
	item->since_ms = now_ms;
	item->age_ms = 0;
	item_count(table, item);
	/* If nothing is left, outside_item_settle deletes the row at once. */
	if (state != OUTSIDE_OVER || may_exist || item->sent_id != 0)
		table->ops->store(table->ctx, item);
}

struct outside_item *outside_item_add(struct outside_table *table,
				      uint64_t grant_id,
				      enum outside_state state, bool may_exist,
				      uint64_t now_ms)
{
	struct outside_item *item = memory_alloc(sizeof(*item));

	item->grant_id = grant_id;
	item->state = (uint8_t)state;
	item->may_exist = may_exist;
	item->since_ms = now_ms;
	item->deadline_ms = DEADLINE_NONE;
	item->list = LIST_NONE;
	item_count(table, item);
	table->item_count++;
	HASH_ADD(hh, table->items, grant_id, sizeof(item->grant_id), item);
	memory_added(hh, item);
	return item;
}

void outside_secret_free(struct outside_item *item)
{
	if (item->secret != NULL)
		explicit_bzero(item->secret, item->secret_size);
	free(item->secret);
	item->secret = NULL;
	item->secret_size = 0;
}

void outside_item_free(struct outside_item *item)
{
	outside_secret_free(item);
	free(item->prefix);
	free(item->request);
	free(item->reason);
	free(item);
}

static void item_remove(struct outside_table *table, struct outside_item *item)
{
	outside_list_leave(table, item);
	item_uncount(table, item);
	table->item_count--;
	HASH_DEL(table->items, item);
	table->ops->erase(table->ctx, item->grant_id);
	outside_item_free(item);
}

void outside_reason_set(struct outside_item *item, const char *why)
{
	char text[OUTSIDE_REASON_MAX + 1];

	text_fit(text, sizeof(text), why);
	free(item->reason);
	item->reason = memory_text(text);
}

void outside_item_settle(struct outside_table *table, struct outside_item *item)
{
	if (item->sent_id != 0)
		return;
	if (outside_is_debt(item))
		outside_queue_join(table, item, OUTSIDE_DROP);
	else if (item->state == OUTSIDE_OVER)
		item_remove(table, item);
}

const char *outside_state_name(enum outside_state state)
{
	static const char *const names[OUTSIDE_STATE_COUNT] = {
		[OUTSIDE_WANTED] = "wanted",
		[OUTSIDE_HELD] = "held",
		[OUTSIDE_REFUSED] = "refused",
		[OUTSIDE_OVER] = "over",
	};

	return names[state];
}

uint64_t outside_age_ms(const struct outside_item *item, uint64_t now_ms)
{
	return now_ms - item->since_ms + item->age_ms;
}
