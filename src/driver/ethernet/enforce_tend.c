/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What others have taken away is found at a lease, by whoever looks at the node,
 * or when a lane is made. It is put back at once, and said at the next lease.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver/ethernet/enforce.h"
#include "driver/ethernet/nft.h"
#include "driver/ethernet/table.h"

static void news_add(const struct ethernet_node *node, const char *text)
{
	char *news = node->tended->news;
	size_t used = strlen(news);

	snprintf(news + used, sizeof(node->tended->news) - used, "%s%s",
		 used > 0 ? "; " : "", text);
}

/* 1: the table is as it was written; lanes come and go by its elements. */
static int is_as_written(const struct ethernet_node *node,
			 struct fairlead_error *ret_error)
{
	uint64_t digest = 0;
	int result = table_is_there(node->filter, ret_error);

	if (result == 1)
		result = nft_digest(node->nft, &digest, ret_error);
	else if (result == 0)
		return 0;
	return result < 0 ? result : digest == node->tended->digest;
}

int enforce_tend_table(const struct ethernet_node *node,
		       struct fairlead_error *ret_error)
{
	uint32_t generation;
	int result = table_generation(node->filter, &generation, ret_error);

	if (result < 0 || generation == node->tended->generation)
		return result;
	result = is_as_written(node, ret_error);
	if (result == 1)
		node->tended->generation = generation;
	if (result != 0)
		return result < 0 ? result : 0;
	result = enforce_all(node, ret_error);
	if (result == 0)
		news_add(node,
			 "somebody had deleted the table 'inet " RULES_TABLE
			 "' (nft flush ruleset?), so that lanes were open to "
			 "strangers for a while; it is back");
	return result;
}

/* NICs come and go: the ports of the rails that are there now are VXLAN's. */
static int tend_rails(const struct ethernet_node *node,
		      struct fairlead_error *ret_error)
{
	uint8_t written = node->tended->rail_count;
	struct underlays underlays;
	struct found found = { 0 };
	int result = node_underlays(node, &underlays, ret_error);

	if (result < 0 || underlays_rails(&underlays) == written)
		return result;
	result = found_read(node, &found, ret_error);
	if (result == 0 && found_rails(&found, &underlays) != written)
		result = enforce_found(node, &found,
				       found_rails(&found, &underlays),
				       ret_error);
	found_fini(&found);
	return result;
}

int enforce_tend_gate(const struct ethernet_node *node,
		      struct fairlead_error *ret_error)
{
	struct fairlead_error error;
	int result = node->gate ? gate_tend(node->gate, &error) : 0;

	if (result == 1)
		news_add(node, error.text);
	if (result < 0)
		*ret_error = error;
	return result < 0 ? result : 0;
}

const char *enforce_level(const struct ethernet_node *node)
{
	struct fairlead_error ignored;

	/* Without its pins it is in force all the same. */
	return node->gate && gate_check(node->gate, &ignored) != -ENOLINK
		       ? "nft+bpf"
		       : "nft";
}

/* The level says of a gate that it is not there; the reason is said once. */
static int tend_gate_once(const struct ethernet_node *node)
{
	struct tended *tended = node->tended;
	struct fairlead_error error = { .text = "" };
	int result = enforce_tend_gate(node, &error);

	if (result < 0 && strcmp(tended->gate_failure, error.text) != 0)
		news_add(node, error.text);
	strcpy(tended->gate_failure, error.text);
	return result;
}

int ethernet_tend(void *state, struct fairlead_error *ret_error)
{
	const struct ethernet_node *node = state;
	struct fairlead_error error;
	int result;
	int gate;

	if (node->is_looking)
		return 0;
	result = enforce_tend_table(node, &error);
	if (result == 0)
		result = enforce_tend_lanes(node, &error);
	if (result == 1) {
		news_add(node,
			 "somebody has changed a lane's device, or its peers; "
			 "the rules are for what is there now");
		result = 0;
	}
	if (result == 0)
		result = tend_rails(node, &error);
	if (result < 0)
		news_add(node, error.text);
	gate = tend_gate_once(node);
	if (result == 0)
		result = gate < 0 ? gate : node->tended->news[0] != '\0';
	error_set(ret_error, result < 0 ? result : 0, "%s", node->tended->news);
	node->tended->news[0] = '\0';
	return result;
}
