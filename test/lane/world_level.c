/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules and gates of all nodes, as the driver would have them. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "lanes/driver/ethernet/gate.h"
#include "lanes/driver/ethernet/table.h"
#include "world.h"

#define PINS_MAX 64

static const uint8_t dscp[ETHERNET_CLASS_COUNT] = { DSCP_DEDICATED_ACCESS,
						    DSCP_LOW_LATENCY, 8, 0 };

bool world_level_parse(const char *text, enum world_level *ret_level)
{
	static const char *const names[] = { "none", "nft", "nft+bpf",
					     "netns" };

	for (enum world_level level = 0; level < LEVEL_NEVER; level++) {
		if (strcmp(text, names[level]) == 0) {
			*ret_level = level;
			return true;
		}
	}
	return false;
}

void world_change(const struct world *world, enum world_host host,
		  struct writer *batch)
{
	struct fairlead_error error = { 0 };
	struct netlink *filter = NULL;
	int result;

	world_enter(world->netns[host]);
	result = table_open(&filter, &error);
	world_enter(world->home);
	if (result == 0)
		result = table_change(filter, batch, &error);
	netlink_close(filter);
	if (result < 0)
		fail_msg("%s", error.text);
}

void world_write_rules(const struct world *world, enum world_host host,
		       enum world_lane without)
{
	struct ip_address peers[LANE_COUNT * RAIL_COUNT][HOST_COUNT];
	struct rules_lane rules[LANE_COUNT * RAIL_COUNT];
	struct world on = *world;
	struct writer writer = { 0 };
	size_t count = 0;

	for (enum world_lane lane = 0; lane < LANE_COUNT; lane++) {
		for (on.rail = 0; on.rail < RAIL_COUNT; on.rail++) {
			if (!world_is_member(lane, host) || lane == without)
				continue;
			rules[count] =
				world_rules(&on, lane, host, peers[count]);
			count++;
		}
	}
	rules_write_table(&ethernet_networks_default, dscp,
			  &(struct rules_counters){ 0 }, rules, count, &writer);
	world_change(world, host, &writer);
}

static void node_enforce(const struct world *world, enum world_host host,
			 enum world_level level)
{
	struct writer writer = { 0 };

	if (level == LEVEL_NONE) {
		rules_write_removal(&writer);
		world_change(world, host, &writer);
		return;
	}
	world_write_rules(world, host, LANE_COUNT);
}

static void pins_name(enum world_host host, char pins[PINS_MAX])
{
	snprintf(pins, PINS_MAX, "/sys/fs/bpf/fairlead/node%d", host + 1);
}

static int gate_start(enum world_host host, struct ethernet_gate **ret_gate,
		      struct fairlead_error *ret_error)
{
	char pins[PINS_MAX];
	struct ethernet_gate_options options = {
		.pins = pins,
		.port = ETHERNET_PORT,
	};

	pins_name(host, pins);
	return gate_open(&options, ret_gate, ret_error);
}

static size_t add_lane(const struct world *world, enum world_lane lane,
		       enum world_host host, struct gate_entry entries[2])
{
	struct ethernet_names names;

	world_names(world, lane, host, &names);
	entries[0] = (struct gate_entry){
		.uid = world_owner(lane),
		.address = names.ipv4,
		.prefix_size = names.ipv4_prefix_size,
	};
	entries[1] = (struct gate_entry){
		.uid = world_owner(lane),
		.address = names.ipv6,
		.prefix_size = ETHERNET_IPV6_PREFIX_SIZE,
	};
	return 2;
}

static void gate_enforce(const struct world *world, enum world_host host,
			 enum world_level level)
{
	_auto_(gate_closep) struct ethernet_gate *gate = NULL;
	struct fairlead_error error = { 0 };
	const struct ip_network *const networks[] = {
		&ethernet_networks_default.ipv4,
		&ethernet_networks_default.ipv6,
	};
	struct gate_entry entries[2 * LANE_COUNT * RAIL_COUNT + 2];
	struct world on = *world;
	char pins[PINS_MAX];
	size_t count = 0;
	int result;

	pins_name(host, pins);
	world_enter(world->netns[host]);
	result = level != LEVEL_GATE ? gate_leave(pins, &error)
				     : gate_start(host, &gate, &error);
	world_enter(world->home);
	if (result < 0)
		fail_msg("%s", error.text);
	if (gate == NULL)
		return;
	for (size_t i = 0; i < 2; i++)
		entries[count++] = (struct gate_entry){
			.address = networks[i]->address,
			.prefix_size = networks[i]->prefix_size,
			.is_network = true,
		};
	for (enum world_lane lane = 0; lane < LANE_COUNT; lane++) {
		for (on.rail = 0; on.rail < RAIL_COUNT; on.rail++) {
			if (world_is_member(lane, host))
				count += add_lane(&on, lane, host,
						  &entries[count]);
		}
	}
	assert_true(gate_replace(gate, entries, count, NULL) >= 0);
}

bool world_has_level(const struct world *world, enum world_level level)
{
	_auto_(gate_closep) struct ethernet_gate *gate = NULL;
	struct fairlead_error error = { 0 };
	int result;

	if (level != LEVEL_GATE)
		return true;
	world_enter(world->netns[NODE1]);
	result = gate_start(NODE1, &gate, &error);
	world_enter(world->home);
	if (result == -EOPNOTSUPP)
		print_message("skipped: %s\n", error.text);
	else if (result < 0)
		fail_msg("%s", error.text);
	return result == 0;
}

void world_enforce(struct world *world, enum world_level level)
{
	world_isolate(world, level == LEVEL_NETNS);
	for (enum world_host host = 0; host < OUTSIDE; host++) {
		node_enforce(world, host, level);
		gate_enforce(world, host, level);
	}
	world->level = level;
}

struct rules_counters world_counters(const struct world *world,
				     enum world_host host)
{
	struct rules_counters counters = { 0 };
	struct fairlead_error error = { 0 };
	struct netlink *filter = NULL;
	int result;

	world_enter(world->netns[host]);
	result = table_open(&filter, &error);
	world_enter(world->home);
	if (result == 0)
		result = table_read(filter, &counters, &error);
	netlink_close(filter);
	if (result != TABLE_OURS)
		fail_msg("%d: %s", result, error.text);
	return counters;
}
