/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What others have taken away is found at a lease, by whoever looks at the node,
 * or when a lane is made. It is put back at once, and said at the next lease.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/ethernet/enforce.h"
#include "lanes/driver/ethernet/nft.h"
#include "lanes/driver/ethernet/rail_ports.h"
#include "lanes/driver/ethernet/table.h"

static void text_add(char text[FAIRLEAD_ERROR_TEXT_MAX], const char *more)
{
	size_t used = strlen(text);
	int left = (int)(FAIRLEAD_ERROR_TEXT_MAX - used);

	snprintf(text + used, (size_t)left, "%s%.*s", used > 0 ? "; " : "",
		 left, more);
}

static void news_add(const struct ethernet_node *node, const char *text)
{
	if (!strstr(node->tended->news, text))
		text_add(node->tended->news, text);
}

/* *ret_digest 0: there is no table of ours. */
static int table_digest(const struct ethernet_node *node, uint64_t *ret_digest,
			struct fairlead_error *ret_error)
{
	int result = table_is_there(node->filter, ret_error);

	*ret_digest = 0;
	if (result == 1)
		result = nft_digest(node->nft, ret_digest, ret_error);
	return result == -ENOENT ? 0 : result;
}

int enforce_tend_table(const struct ethernet_node *node,
		       struct fairlead_error *ret_error)
{
	struct tended *tended = node->tended;
	uint64_t before, after;
	uint32_t generation;
	int result = table_generation(node->filter, &generation, ret_error);

	if (result < 0 || generation == tended->generation)
		return result;
	/* Somebody has changed rules, maybe ours. */
	result = table_digest(node, &before, ret_error);
	if (result == 0 && before != 0 && before == tended->digest &&
	    tended->digest_generation == tended->generation) {
		tended->generation = tended->digest_generation = generation;
		return 0;
	}
	if (result == 0)
		result = enforce_all(node, ret_error);
	if (result == 0)
		result = table_digest(node, &after, ret_error);
	if (result < 0 || before == after)
		return result;
	news_add(node,
		 before == 0
			 ? "somebody had deleted the table 'inet " RULES_TABLE
			   "' (nft flush ruleset?), so that lanes were open to "
			   "strangers for a while; it is back"
			 : "somebody had changed the table 'inet " RULES_TABLE
			   "', or what is in its sets; it is written anew");
	return 0;
}

/*
 * Only we have changed rules so far: what the table is now tells later whether
 * others' changes are of it.
 */
static int remember_table(const struct ethernet_node *node,
			  struct fairlead_error *ret_error)
{
	struct tended *tended = node->tended;
	uint64_t digest;
	uint32_t generation;
	int result = table_generation(node->filter, &generation, ret_error);

	if (result < 0 || generation != tended->generation ||
	    generation == tended->digest_generation)
		return result;
	result = table_digest(node, &digest, ret_error);
	if (result == 0)
		result = table_generation(node->filter, &generation, ret_error);
	if (result == 0 && generation == tended->generation) {
		tended->digest = digest;
		tended->digest_generation = generation;
	}
	return result;
}

/* NICs come: the ports of their rails are VXLAN's, and stay so when they go. */
static int tend_rails(const struct ethernet_node *node,
		      struct fairlead_error *ret_error)
{
	uint8_t written = node->tended->rail_count;
	struct underlays underlays;
	struct found found = { 0 };
	int result = node_underlays(node, &underlays, ret_error);

	if (result < 0 || underlays.count <= written)
		return result;
	result = found_read(node, &found, ret_error);
	if (result == 0 && found_rails(&found, &underlays) > written)
		result = enforce_found(node, &found,
				       found_rails(&found, &underlays),
				       ret_error);
	found_fini(&found);
	return result;
}

static int tend_lanes(const struct ethernet_node *node,
		      struct fairlead_error *ret_error)
{
	int result = enforce_tend_lanes(node, ret_error);

	if (result == LANES_CHANGED)
		news_add(node, "somebody has changed a lane's device, or its "
			       "peers; the rules are for what is there now");
	if (result == LANES_GATE_CHANGED)
		news_add(node, "somebody has changed the gate's map of lanes; "
			       "it is as it was");
	return result;
}

/*
 * `sysctl --system` has the site's own only. Where they cannot be reserved, and it
 * matters, the node lacks that.
 */
static int tend_ports(const struct ethernet_node *node,
		      struct fairlead_error *ret_error)
{
	struct fairlead_error ignored;

	if (rail_ports_reserve(node->networks.port, &ignored) == 1)
		news_add(node,
			 "VXLAN's ports were not reserved any more "
			 "(net.ipv4.ip_local_reserved_ports), so that any "
			 "program could be given one; they are again");
	return 0;
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
	bool has_gate =
		node->gate && gate_check(node->gate, &ignored) != -ENOLINK;

	if (table_is_there(node->filter, &ignored) == 1)
		return has_gate ? "nft+bpf" : "nft";
	return has_gate ? "bpf" : "none";
}

/* Before the others, which then have it. */
static int retry_gate(struct ethernet_node *node,
		      struct fairlead_error *ret_error)
{
	int result = enforce_retry_gate(node, ret_error);

	if (result == 1)
		news_add(node, "the gate could not be opened at the start, and "
			       "is open now");
	return result;
}

/* Steps may fail for one reason, which is named once. */
static void failure_add(struct fairlead_error *failure,
			const struct fairlead_error *error)
{
	if (failure->code == 0)
		failure->code = error->code;
	if (!strstr(failure->text, error->text))
		text_add(failure->text, error->text);
}

int ethernet_tend(void *state, struct fairlead_error *ret_error)
{
	static int (*const steps[])(const struct ethernet_node *node,
				    struct fairlead_error *ret_error) = {
		enforce_tend_table, tend_lanes, tend_rails,
		enforce_tend_gate,  tend_ports, remember_table
	};
	struct ethernet_node *node = state;
	struct tended *tended = node->tended;
	struct fairlead_error failure = { .text = "" };
	struct fairlead_error error;

	if (node->is_looking)
		return 0;
	if (retry_gate(node, &error) < 0)
		failure_add(&failure, &error);
	/* What is in the way of one is not in that of the others. */
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i](node, &error) < 0)
			failure_add(&failure, &error);
	}
	if (failure.code < 0 && strcmp(tended->failure, failure.text) != 0)
		news_add(node, failure.text);
	strcpy(tended->failure, failure.text);
	error_set(ret_error, failure.code, "%s", tended->news);
	if (failure.code == 0)
		failure.code = tended->news[0] != '\0';
	tended->news[0] = '\0';
	return failure.code;
}
