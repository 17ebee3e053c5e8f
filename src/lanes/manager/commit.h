/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of rows, and outputs that wait for them. */
#pragma once

#include "lanes/manager/internal.h"

/* It becomes visible once the rows before it are on disk. */
enum output_kind {
	OUTPUT_REPLY,
	OUTPUT_FANOUT,
	OUTPUT_HELLO,
	OUTPUT_ACK,
	OUTPUT_DRAIN,
	OUTPUT_NOTIFY,
	OUTPUT_OUTSIDE,
	OUTPUT_EVENTS, /* read a job's events and answer with them */
};

struct output {
	enum output_kind kind;
	struct output *prev, *next;
	uint64_t token; /* REPLY, EVENTS; OUTSIDE: the grant id */
	int result;     /* REPLY; OUTSIDE: the verb */
	char *text;     /* REPLY: error; DRAIN, NOTIFY: reason; OUTSIDE */
	char *hint;     /* REPLY; OUTSIDE: the prefix */
	char *members;  /* REPLY */
	struct fanout_command *command; /* FANOUT */
	char *node;    /* HELLO, ACK, DRAIN, NOTIFY; OUTSIDE: the driver */
	uint64_t peer; /* HELLO */
	uint8_t nonce[NONCE_SIZE]; /* HELLO */
	uint64_t sequence;         /* ACK; NOTIFY, OUTSIDE: its id */
	bool is_drained;           /* DRAIN, NOTIFY */
	uint64_t *grants;          /* EVENTS */
	size_t grant_count;        /* EVENTS */
	json_t *view;              /* EVENTS, or NULL: see events_read() */
};

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

/* What the core gives out goes into the last group. */
extern const struct core_ops commit_core_ops;

void commit_store(struct engine *engine, const struct store_row *row);
void commit_output(struct engine *engine, struct output *output_owned);
/* At the end of every event: submit, or run outputs that wait for no row. */
void commit_flush(struct engine *engine);
/* A remedy for a journal that failed with this errno. */
const char *commit_failure_hint(int result);
void commit_fini(struct engine *engine);
