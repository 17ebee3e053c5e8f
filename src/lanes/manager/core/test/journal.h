/* SPDX-License-Identifier: BSD-3-Clause */
/* The fixture's journal: rows by their primary keys. */
#pragma once

#include "base/hash.h"
#include "base/seam.h"
#include "base/memory.h"
#include "lanes/manager/store/row.h"

struct journal_row {
	char primary[128]; /* table, id, sub, key, as the store has it */
	enum store_table table;
	uint64_t id, sub;
	char *key;
	uint8_t *body;
	size_t size;
	UT_hash_handle hh;
};

void journal_write(struct journal_row **journal, const struct store_row *row);
void journal_clear(struct journal_row **journal);
/* In the order in which core_load wants them, without events. */
void journal_each(struct journal_row **journal,
		  void (*fn)(struct journal_row *row, void *arg), void *arg);
