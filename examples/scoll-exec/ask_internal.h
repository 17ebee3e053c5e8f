/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of ask.h share; nobody else includes it. */
#pragma once

#include "ask.h"
#include "base/bytes.h"
#include "base/hostlist.h"
#include "serve.h"

#define SECOND_NS   UINT64_C(1000000000)
#define DELAYED_MAX 32 /* nodes of a group that is told with its request */
#define REASON_DEAD SCOLL_ERROR_COUNT
#define REASON_NONE (SCOLL_ERROR_COUNT + 1)

struct exec_ask {
	struct exec_waiter own; /* first: the outcome of this node */
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
	int *nodes;       /* of a place: index in the configuration */
	uint32_t *places; /* of such an index: the place, or UINT32_MAX */
	uint8_t *reasons; /* of a place: why there is no answer */
	struct results *results;
	uint64_t deadline_ns;
	int round;
	uint64_t again_ns; /* when the next one begins; 0: one is under way */
	int run_count;     /* collectives under way */
	int stop_count;
	struct collective *collectives;
	bool is_own_asked, is_own_done;
	uint64_t stop_since_ns; /* 0: nobody has said so */
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
	uint32_t places[];
};

/* Give the client all results that are there. */
void ask_pass_on(struct exec_ask *ask);
/* Ask these places; when it is over it is gone, and notes why who failed. */
void ask_collective_start(struct exec_ask *ask, enum serve_op op,
			  scoll_tree_type_t tree, const uint32_t *places,
			  uint32_t count);
void ask_collective_end(struct collective *collective);
