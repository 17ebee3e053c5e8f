/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Indexes are given out lowest first, so that the table stays dense. Jobs of a
 * node stand in an array without order: one is found by a scan, which is
 * quick since a node has few jobs and their slots lie side by side.
 */
#include "lanes/manager/core/node.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/manager/core/core.h"

void nodes_init(struct nodes *nodes)
{
	*nodes = (struct nodes){ 0 };
	nodes->dirty_chunks = memory_array(CORE_NODES_MAX / NODE_CHUNK,
					   sizeof(*nodes->dirty_chunks));
}

static void destroy(struct node *node)
{
	free(node->name);
	free(node->reason);
	free(node->version);
	free(node->reports);
	free(node->places);
	free(node->jobs);
	free(node);
}

void nodes_fini(struct nodes *nodes)
{
	HASH_CLEAR(hh, nodes->by_name);
	for (uint32_t i = 0; i < nodes->limit; i++)
		if (nodes->by_index[i] != NULL)
			destroy(nodes->by_index[i]);
	free(nodes->by_index);
	free(nodes->dirty_chunks);
	*nodes = (struct nodes){ 0 };
}

struct node *nodes_find(const struct nodes *nodes, const char *name)
{
	struct node *node;

	HASH_FIND_STR(nodes->by_name, name, node);
	return node;
}

struct node *nodes_at(const struct nodes *nodes, uint32_t index)
{
	return index < nodes->limit ? nodes->by_index[index] : NULL;
}

struct node *nodes_next(const struct nodes *nodes, uint32_t from)
{
	while (from < nodes->limit && nodes->by_index[from] == NULL)
		from++;
	return nodes_at(nodes, from);
}

static uint32_t free_index(struct nodes *nodes)
{
	uint32_t index = nodes->free_hint;

	while (index < nodes->limit && nodes->by_index[index] != NULL)
		index++;
	nodes->free_hint = index;
	return index;
}

struct node *nodes_add(struct nodes *nodes, const char *name, uint32_t index)
{
	struct node *node;

	assert(nodes_find(nodes, name) == NULL);
	if (index == NODE_NONE) {
		index = free_index(nodes);
		if (index < CORE_NODES_MAX)
			nodes->dirty_chunks[index / NODE_CHUNK] = true;
	}
	if (index >= CORE_NODES_MAX || nodes_at(nodes, index) != NULL)
		return NULL;
	if (index >= nodes->capacity) {
		nodes->capacity = index + index / 2 + 16;
		nodes->by_index =
			memory_resize(nodes->by_index, nodes->capacity,
				      sizeof(*nodes->by_index));
	}
	while (nodes->limit <= index)
		nodes->by_index[nodes->limit++] = NULL;
	node = memory_array(1, sizeof(*node));
	node->name = memory_text(name);
	node->index = index;
	nodes->by_index[index] = node;
	nodes->count++;
	HASH_ADD_KEYPTR(hh, nodes->by_name, node->name, strlen(node->name),
			node);
	memory_added(hh, node);
	nodes_changed(nodes, node);
	return node;
}

static void count(struct nodes *nodes, struct node *node,
		  const bool is[NODE_COUNT_COUNT])
{
	for (size_t i = 0; i < NODE_COUNT_COUNT; i++) {
		nodes->counts[i] += is[i];
		nodes->counts[i] -= node->counted[i];
		node->counted[i] = is[i];
	}
}

void nodes_changed(struct nodes *nodes, struct node *node)
{
	const bool is[NODE_COUNT_COUNT] = {
		[NODE_COUNT_UP] = node->state == NODE_UP,
		[NODE_COUNT_DOWN] = node->state != NODE_UP,
		[NODE_COUNT_LEAVING] = !node->is_configured,
		[NODE_COUNT_DRAINED] = node->is_drained,
		[NODE_COUNT_UNNOTIFIED] = node->is_unnotified,
	};

	count(nodes, node, is);
}

void nodes_remove(struct nodes *nodes, struct node *node)
{
	static const bool nothing[NODE_COUNT_COUNT];

	assert(node->job_count == 0);
	count(nodes, node, nothing);
	HASH_DEL(nodes->by_name, node);
	nodes->by_index[node->index] = NULL;
	nodes->count--;
	nodes->dirty_chunks[node->index / NODE_CHUNK] = true;
	if (node->index < nodes->free_hint)
		nodes->free_hint = node->index;
	destroy(node);
}

uint32_t nodes_chunk_count(const struct nodes *nodes)
{
	return (nodes->limit + NODE_CHUNK - 1) / NODE_CHUNK;
}

bool node_is_needed(const struct node *node)
{
	return node->job_count > 0 || node->report_count > 0 ||
	       node->is_unnotified;
}

void node_job_add(struct node *node, uint32_t slot)
{
	if (node->job_count == node->job_capacity) {
		node->job_capacity = (uint32_t)memory_more(node->job_capacity);
		node->jobs = memory_resize(node->jobs, node->job_capacity,
					   sizeof(*node->jobs));
	}
	node->jobs[node->job_count++] = slot;
}

void node_job_remove(struct node *node, uint32_t slot)
{
	uint32_t i = node->job_count;

	while (i > 0 && node->jobs[i - 1] != slot)
		i--;
	assert(i > 0);
	node->jobs[i - 1] = node->jobs[--node->job_count];
}

void node_incarnate(struct node *node,
		    const uint8_t incarnation[NODE_INCARNATION])
{
	if (node->serial > 0) {
		memmove(node->past[1], node->past[0],
			sizeof(node->past) - sizeof(node->past[0]));
		memcpy(node->past[0], node->incarnation, NODE_INCARNATION);
		if (node->past_count < NODE_PAST_MAX)
			node->past_count++;
	}
	memcpy(node->incarnation, incarnation, NODE_INCARNATION);
	node->serial++;
}

bool node_was(const struct node *node,
	      const uint8_t incarnation[NODE_INCARNATION])
{
	for (uint32_t i = 0; i < node->past_count; i++)
		if (memcmp(node->past[i], incarnation, NODE_INCARNATION) == 0)
			return true;
	return false;
}

bool node_is(const struct node *node,
	     const uint8_t incarnation[NODE_INCARNATION])
{
	return node->serial > 0 &&
	       memcmp(node->incarnation, incarnation, NODE_INCARNATION) == 0;
}

void node_incarnation_format(const struct node *node,
			     char text[NODE_INCARNATION * 2 + 1])
{
	text[0] = 0;
	for (size_t i = 0; i < NODE_INCARNATION && node->serial > 0; i++)
		sprintf(text + 2 * i, "%02x", node->incarnation[i]);
}
