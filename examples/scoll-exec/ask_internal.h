/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of ask.h share; nobody else includes it. */
#pragma once

#include "ask.h"
#include "base/bytes.h"
#include "base/hostlist.h"
#include "serve.h"

#define SECOND_NS   UINT64_C(1000000000)
#define DELAYED_MAX 32 /* nodes of a group that is made by its request */
#define REASON_DEAD SCOLL_ERROR_COUNT
#define REASON_NONE (SCOLL_ERROR_COUNT + 1)

struct exec_ask {
	struct exec_waiter own; /* first; for the outcome of this node */
	struct exec_ask *prev, *next;
	struct front *front;
	struct ask_client client; /* send is NULL: it is gone */
	uint64_t tag;
	uid_t uid;
	char *credential;
	size_t size;
	uint8_t secret[EXEC_ID_BYTES];
	bool is_begun;

	struct hostlist *names;
	int *nodes; /* of each name: index in the configuration */
	uint32_t
		*indexes; /* of each configured node: in names, or UINT32_MAX */
	uint8_t *reasons; /* of each name: why there is no answer */
	uint32_t *targets; /* for missing() */
	struct results *results;
	uint64_t deadline_ns;
	int round;
	uint64_t again_ns; /* when the next one begins; 0: one is under way */
	int run_count;     /* collectives under way */
	int stop_count;
	struct collective *collectives;
	bool is_own_started, is_own_done;
	uint64_t stop_since_ns; /* 0: not stopped */
	uint64_t stop_next_ns;
	bool is_aborted;
};

struct collective {
	struct collective *prev, *next;
	struct exec_ask *ask;
	enum serve_op op;
	scoll_tree_type_t tree;
	scoll_group_t *group;
	scoll_request_t *request;
	struct writer payload;
	struct iovec bulk;
	bool is_populated;
	uint32_t count;
	uint32_t targets[]; /* indexes in the ask's names */
};

/* Send the client all results that are there. */
void ask_results_send(struct exec_ask *ask);
/* It notes the reasons of nodes that fail, and destroys itself at its end. */
void ask_collective_start(struct exec_ask *ask, enum serve_op op,
			  scoll_tree_type_t tree, const uint32_t *targets,
			  uint32_t count);
