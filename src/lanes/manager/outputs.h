/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs, which become visible once their rows are on disk. */
#pragma once

#include "lanes/manager/internal.h"

enum output_kind {
	OUTPUT_REPLY,
	OUTPUT_FANOUT,
	OUTPUT_HELLO,
	OUTPUT_ACK,
	OUTPUT_DRAIN,
	OUTPUT_NOTIFY,
	OUTPUT_EVENTS, /* read a job's events and answer with them */
};

struct output {
	enum output_kind kind;
	struct output *prev, *next;
	uint64_t token; /* REPLY, EVENTS */
	int result;     /* REPLY */
	char *text;     /* REPLY: error; DRAIN, NOTIFY: reason */
	char *hint;     /* REPLY */
	char *members;  /* REPLY */
	struct fanout_command *command; /* FANOUT */
	char *node;                     /* HELLO, ACK, DRAIN, NOTIFY */
	uint64_t peer;                  /* HELLO */
	uint8_t nonce[NONCE_SIZE];      /* HELLO */
	uint64_t sequence;              /* ACK; NOTIFY: its id */
	bool is_drained;                /* DRAIN, NOTIFY */
	uint64_t *grants;               /* EVENTS */
	size_t grant_count;             /* EVENTS */
	json_t *view;                   /* EVENTS, or NULL: see events_read() */
};

void output_destroy(struct output *output);
DEFINE_AUTO(struct output, output_destroy)
/* Do it; frees the output. */
void output_run(struct engine *engine, struct output *output_owned);
extern const struct core_ops outputs_core_ops;
