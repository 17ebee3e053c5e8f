/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/core/test/journal.h"

#include "lanes/manager/core/core.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

static void primary_format(const struct store_row *row, char *text, size_t size)
{
	bool has_sub = row->table == STORE_PART || row->table == STORE_EVENT;
	bool has_key = row->table == STORE_META || row->table == STORE_NODE;

	snprintf(text, size, "%d/%020" PRIu64 "/%020" PRIu64 "/%s", row->table,
		 has_key ? 0 : row->id, has_sub ? row->sub : 0,
		 has_key ? row->key : "");
}

static void row_remove(struct journal_row **journal, struct journal_row *row)
{
	HASH_DEL(*journal, row);
	free(row->key);
	free(row->body);
	free(row);
}

static void rows_delete(struct journal_row **journal,
			const struct store_row *row)
{
	bool is_all = (row->table == STORE_PART || row->table == STORE_EVENT) &&
		      row->sub == STORE_SUB_ALL;
	struct journal_row *old, *next;
	char primary[128];

	primary_format(row, primary, sizeof(primary));
	if (!is_all) {
		HASH_FIND_STR(*journal, primary, old);
		if (old != NULL)
			row_remove(journal, old);
		return;
	}
	HASH_ITER (hh, *journal, old, next)
		if (old->table == row->table && old->id == row->id)
			row_remove(journal, old);
}

void journal_write(struct journal_row **journal, const struct store_row *row)
{
	struct journal_row *made;

	rows_delete(journal, row);
	if (row->verb == STORE_DELETE)
		return;
	made = memory_array(1, sizeof(*made));
	primary_format(row, made->primary, sizeof(made->primary));
	made->table = row->table;
	made->id = row->id;
	made->sub = row->sub;
	made->key = memory_text(row->key);
	made->body = memory_array(1, row->size);
	if (row->size > 0)
		memcpy(made->body, row->body, row->size);
	made->size = row->size;
	HASH_ADD_STR(*journal, primary, made);
}

void journal_clear(struct journal_row **journal)
{
	struct journal_row *row, *next;

	HASH_ITER (hh, *journal, row, next)
		row_remove(journal, row);
}

static int order(const struct journal_row *left,
		 const struct journal_row *right)
{
	return strcmp(left->primary, right->primary);
}

void journal_each(struct journal_row **journal,
		  void (*fn)(struct journal_row *row, void *arg), void *arg)
{
	struct journal_row *row, *next;

	HASH_SORT(*journal, order);
	for (size_t i = 0; i < CORE_LOAD_COUNT; i++)
		HASH_ITER (hh, *journal, row, next)
			if (row->table == core_load_order[i])
				fn(row, arg);
}
