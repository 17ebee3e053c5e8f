/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The outcomes of a command on many nodes: equal ones are one entry with its
 * nodes. Each node of the tree adds its own and those of its children, and takes
 * out what it sends to its parent; the root does the same towards the client.
 * A node is its index in the caller's list.
 *
 * A part, as it travels: u8 version, u16 entries; of each: u8 kind, u32 code,
 * u8 flags, blob output, u32 ranges, and these, rising: u32 first, u32 count.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/idset.h"
#include "limits.h"

enum outcome_kind {
	OUTCOME_EXITED = 1, /* code: the exit code */
	OUTCOME_KILLED,     /* code: the signal */
	OUTCOME_TIMEOUT,    /* killed after its timeout */
	OUTCOME_STOPPED,    /* killed: the caller stopped it, or is gone */
	OUTCOME_REFUSED, /* not started: code is an errno, output the reason */
	OUTCOME_KIND_END,
};

enum outcome_flag {
	OUTCOME_TRUNCATED = 1, /* there was more output */
	OUTCOME_OMITTED = 2,   /* too much output in all: none of it is here */
	OUTCOME_FLAGS = 3,
};

struct outcome {
	uint8_t kind;
	uint8_t flags;
	uint32_t code;
	const uint8_t *output; /* borrowed */
	size_t size;           /* at most EXEC_OUTPUT_MAX */
};

struct results;

/* NULL: node_count is 0 or above EXEC_NODES_MAX. */
struct results *results_create(uint32_t node_count);
void results_destroy(struct results *results);
DEFINE_AUTO(struct results, results_destroy)

/*
 * -EALREADY: the node has an outcome, which stays; -EINVAL: no such node, or a
 * bad outcome.
 */
int results_add(struct results *results, uint32_t node,
		const struct outcome *outcome);
/*
 * Add a part, except for nodes that have an outcome. Returns how many nodes
 * were new; -EBADMSG: it is damaged, nothing was added.
 */
int results_merge(struct results *results, const void *part, size_t size);
/*
 * Take out what fits in so many bytes, as a part. Returns how many entries it
 * has; 0: nothing is left, nothing was written.
 */
int results_take(struct results *results, size_t capacity,
		 struct writer *writer);
/*
 * Bytes for a part of at most EXEC_PART_BYTES in which each entry of `nodes`
 * nodes fits; and the largest number of such parts for all their outcomes.
 */
size_t results_part_bytes(uint32_t nodes);
int results_part_count(uint32_t nodes);
/*
 * Take out one entry: its outcome and its nodes, valid until the next call.
 * False: nothing is left.
 */
bool results_next(struct results *results, struct outcome *ret_outcome,
		  const struct idset **ret_nodes);
/* Order what is there by the first node of each entry. */
void results_sort(struct results *results);

/* Nodes that have, or had, an outcome. */
const struct idset *results_known(const struct results *results);
bool results_is_empty(const struct results *results);
