/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of rows, and outputs that wait for them. */
#pragma once

#include "lanes/manager/outputs.h"

struct manager_group {
	struct engine *engine;
	struct store_batch *batch; /* NULL: no rows yet, or submitted */
	size_t row_count;
	size_t byte_count;     /* once it is submitted */
	uint64_t submitted_ms; /* likewise */
	bool is_submitted;
	struct output *outputs;
	struct manager_group *prev, *next;
};

void commit_store(struct engine *engine, const struct store_row *row);
void commit_output(struct engine *engine, struct output *output_owned);
/* At the end of every event: submit, or run outputs that wait for no row. */
void commit_flush(struct engine *engine);
/* A remedy for a journal that failed with this errno. */
const char *commit_failure_hint(int result);
void commit_fini(struct engine *engine);
