/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What others have taken away is found at a lease, by whoever looks at the
 * node, or when a lane is made. It is put back at once, and said at the next
 * lease.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/ethernet/enforce.h"
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
	if (!strstr(node->guard->news, text))
		text_add(node->guard->news, text);
}

/* *ret_digest 0: there is no table of ours. */
static int read_digest(const struct ethernet_node *node, uint64_t *ret_digest,
		       struct fairlead_error *ret_error)
{
	int result = table_read(node->filter, NULL, ret_error);

	*ret_digest = 0;
	if (result == TABLE_OURS)
		result = table_digest(node->filter, ret_digest, ret_error);
	return result < 0 ? result : 0;
}

int enforce_tend_table(const struct ethernet_node *node,
		       struct fairlead_error *ret_error)
{
	struct ethernet_guard *guard = node->guard;
	uint64_t before, after;
	uint32_t generation;
	int result = table_generation(node->filter, &generation, ret_error);

	if (result < 0 || generation == guard->generation)
		return result;
	/* Somebody has changed rules, maybe ours. */
	result = read_digest(node, &before, ret_error);
	if (result == 0 && before != 0 && before == guard->digest &&
	    guard->digest_generation == guard->generation) {
		guard->generation = guard->digest_generation = generation;
		return 0;
	}
	if (result == 0)
		result = enforce_all(node, ret_error);
	if (result == 0)
		result = read_digest(node, &after, ret_error);
	if (result < 0 || before == after)
		return result;
	news_add(node,
		 before == 0
			 ? "somebody had deleted the table 'inet " RULES_TABLE
			   "' (nft flush ruleset?), so that lanes were open to "
			   "other users for a while; it is back"
			 : "somebody had changed the table 'inet " RULES_TABLE
			   "', or what is in its sets; it is rewritten");
	return 0;
}

/*
 * Only we have changed rules so far: what the table is now shows later whether
 * others' changes are of it.
 */
static int remember_table(const struct ethernet_node *node,
			  struct fairlead_error *ret_error)
{
	struct ethernet_guard *guard = node->guard;
	uint64_t digest;
	uint32_t generation;
	int result = table_generation(node->filter, &generation, ret_error);

	if (result < 0 || generation != guard->generation ||
	    generation == guard->digest_generation)
		return result;
	result = read_digest(node, &digest, ret_error);
	if (result == 0)
		result = table_generation(node->filter, &generation, ret_error);
	if (result == 0 && generation == guard->generation) {
		guard->digest = digest;
		guard->digest_generation = generation;
	}
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

void enforce_tend_rules(const struct ethernet_node *node)
{
	struct fairlead_error ignored;

	if (enforce_tend_table(node, &ignored) == 0)
		(void)tend_lanes(node, &ignored);
}

/*
 * `sysctl --system` has the site's own only. Where they cannot be reserved, and
 * it matters, the node lacks that.
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
	int result;

	/* What a start could not open enforce_tend_lanes tries again. */
	if (!node->guard->gate)
		return 0;
	result = gate_tend(node->guard->gate, &error);
	if (result == 1)
		news_add(node, error.text);
	if (result < 0)
		*ret_error = error;
	return result < 0 ? result : 0;
}

const char *enforce_level(const struct ethernet_node *node)
{
	struct fairlead_error ignored;
	const struct ethernet_gate *gate = node->guard->gate;

	/* Without its pins it is in force all the same. */
	return table_read(node->filter, NULL, &ignored) == TABLE_OURS && gate &&
			       gate_check(gate, &ignored) != -ENOLINK
		       ? "nft+bpf"
		       : "none";
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
		enforce_tend_table, tend_lanes,     enforce_tend_gate,
		tend_ports,         remember_table,
	};
	struct ethernet_node *node = state;
	struct ethernet_guard *guard = node->guard;
	struct fairlead_error failure = { .text = "" };
	struct fairlead_error error;

	if (node->is_looking)
		return 0;
	/* What is in the way of one is not in that of the others. */
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i](node, &error) < 0)
			failure_add(&failure, &error);
	}
	if (failure.code < 0 && strcmp(guard->failure, failure.text) != 0)
		news_add(node, failure.text);
	strcpy(guard->failure, failure.text);
	error_set(ret_error, failure.code, "%s", guard->news);
	if (failure.code == 0)
		failure.code = guard->news[0] != '\0';
	guard->news[0] = '\0';
	return failure.code;
}
