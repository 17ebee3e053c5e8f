/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of external reservations share: the table and its queues. */
#pragma once

#include "lanes/manager/core/outside.h"

void outside_list_leave(struct outside_table *table, struct outside_item *item);
void outside_queue_join(struct outside_table *table, struct outside_item *item,
			enum outside_verb verb);
/* first_ms: the delay at first; it doubles. */
void outside_retry_later(struct outside_table *table, struct outside_item *item,
			 uint64_t now_ms, uint32_t first_ms);

/* Wipes it. */
void outside_secret_free(struct outside_item *item);
void outside_item_free(struct outside_item *item);
void outside_reason_set(struct outside_item *item, const char *why);

struct outside_item *outside_item_add(struct outside_table *table,
				      uint64_t grant_id,
				      enum outside_state state, bool may_exist,
				      uint64_t now_ms);
/* Its state has changed: count it, store it. */
void outside_item_set(struct outside_table *table, struct outside_item *item,
		      enum outside_state state, bool may_exist,
		      uint64_t now_ms);
/* What is left of an item that is refused or over; it may be gone then. */
void outside_item_settle(struct outside_table *table,
			 struct outside_item *item);
void outside_item_refuse(struct outside_table *table, struct outside_item *item,
			 const char *why, bool may_exist, uint64_t now_ms);

/* The slot of a request under way; 0: a free one. NULL: there is none. */
struct outside_item **outside_sent_slot(struct outside_table *table,
					uint64_t id);
/* Send what is due and may be sent. */
void outside_pump(struct outside_table *table, uint64_t now_ms);
