/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver on this node in a line: the level, what was refused by it, and
 * what is missing for more. What makes it useless is an error of open instead.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/ethernet/enforce.h"
#include "lanes/driver/ethernet/namespace.h"
#include "lanes/driver/ethernet/rail_ports.h"
#include "lanes/driver/ethernet/shaper.h"
#include "lanes/driver/ethernet/table.h"

struct line {
	char *text; /* of FAIRLEAD_SUMMARY_MAX bytes */
	bool is_lacking;
	struct fairlead_error no_rules; /* why; code 0: there are */
};

static void __attribute__((format(printf, 2, 3)))
add(struct line *line, const char *format, ...)
{
	size_t used = strlen(line->text);
	va_list args;

	va_start(args, format);
	vsnprintf(line->text + used, FAIRLEAD_SUMMARY_MAX + 1 - used, format,
		  args);
	va_end(args);
}

static void lack(struct line *line, const char *what, const char *why)
{
	add(line, "%s%s (%.150s)",
	    line->is_lacking ? ", " : FAIRLEAD_SUMMARY_LACKS, what, why);
	line->is_lacking = true;
}

/* --- what was refused --- */

static void add_counter(struct line *line, const char **separator,
			const char *name, uint64_t count)
{
	if (count == 0)
		return;
	add(line, "%s%s %" PRIu64, *separator, name, count);
	*separator = ", ";
}

static void add_counters(struct line *line, const struct ethernet_node *node)
{
	const char *separator = ", refused: ";
	const struct ethernet_gate *gate = node->guard->gate;
	struct rules_counters packets;
	struct gate_counters gated = { 0 };
	int result = table_read(node->filter, &packets, &line->no_rules);

	if (result == TABLE_NONE || result == TABLE_FOREIGN)
		result = error_set(
			&line->no_rules, -ENOENT,
			result == TABLE_NONE
				? "there is no table inet " RULES_TABLE
				: "table inet " RULES_TABLE
				  " is not of this version");
	if (result < 0 || (gate && gate_counters(gate, &gated) < 0)) {
		add(line, ", refused: not known");
		return;
	}
	add_counter(line, &separator, "bind", gated.refused_bind);
	add_counter(line, &separator, "send",
		    packets.refused_send + gated.refused_send);
	add_counter(line, &separator, "receive", gated.refused_receive);
	add_counter(line, &separator, "made by hand",
		    packets.refused_raw + gated.refused_raw);
	add_counter(line, &separator, "from no member", packets.refused_host);
	add_counter(line, &separator, "astray", packets.refused_way);
	if (*separator == ',' && separator[2] == 'r')
		add(line, ", refused nothing");
}

/* --- what is missing --- */

static void lack_rails(struct line *line, const struct underlays *list)
{
	char what[sizeof("rails for ") + sizeof(list->left_out)];

	if (!list->left_out[0])
		return;
	snprintf(what, sizeof(what), "rails for %s", list->left_out);
	lack(line, what, "a node has at most 4; name those NICs in devices");
}

static void lack_nic(struct line *line, const struct ethernet_node *node,
		     const struct underlays *list)
{
	struct fairlead_error error = { .text = "see the devices" };

	lack_rails(line, list);
	for (size_t i = 0; i < list->count; i++) {
		if (list->list[i].is_usable)
			return;
	}
	if (!node->requires_devices)
		return;
	if (strcmp(node->devices, "auto") == 0)
		underlay_flaws(node->netlink, &error);
	lack(line, "a NIC", error.text);
}

static void lack_gate(struct line *line, const struct ethernet_node *node)
{
	struct fairlead_error error;
	const struct ethernet_guard *guard = node->guard;
	int result = guard->gate ? gate_check(guard->gate, &error) : 0;

	if (!guard->gate)
		lack(line, "bpf", guard->gate_flaw.text);
	else if (result == -ENOLINK)
		lack(line, "bpf", error.text);
	else if (result < 0)
		lack(line, "pins of bpf", error.text);
}

static void lack_ports(struct line *line, const struct ethernet_node *node)
{
	struct fairlead_error error;

	if (rail_ports_check(node->networks.port, &error) < 0)
		lack(line, "reserved ports", error.text);
}

static void class_take(void *arg, const struct shaper_class *shaped)
{
	bool *is_there = arg;

	is_there[shaped->minor & SHAPER_LAST_MINOR] = true;
}

/* Lanes whose classes on the NIC somebody has deleted. */
static uint32_t classes_missing(const struct ethernet_node *node,
				const struct found *found,
				const struct underlay *nic)
{
	bool is_there[SHAPER_LAST_MINOR + 1] = { [0] = true };
	struct fairlead_error ignored;
	uint32_t count = 0;

	if (shaper_list(node->netlink, nic, class_take, is_there, &ignored) < 0)
		return 0;
	for (size_t i = 0; i < found->count; i++) {
		const struct lane_device *device = &found->list[i].device;

		count += device->is_ours &&
			 device->underlay_index == nic->index &&
			 !is_there[device->alias.htb_class &
				   SHAPER_LAST_MINOR] &&
			 found_is_first(found, i);
	}
	return count;
}

static void lack_classes(struct line *line, const struct ethernet_node *node,
			 const struct underlays *list)
{
	struct fairlead_error error;
	struct found found = { 0 };

	if (found_read(node, &found, &error) < 0)
		return;
	for (size_t i = 0; i < list->count; i++) {
		uint32_t count = classes_missing(node, &found, &list->list[i]);

		if (count == 0)
			continue;
		error_set(&error, -ENOENT,
			  "somebody has deleted those of %u lanes on %s, whose "
			  "rates are not kept any more",
			  count, list->list[i].name);
		lack(line, "classes", error.text);
	}
	found_fini(&found);
}

static void lack_shaping(struct line *line, const struct ethernet_node *node,
			 const struct underlays *list)
{
	char text[256];

	if (!node->is_shaping)
		return;
	if (shaper_probe(node->netlink, text) == 0 && text[0])
		lack(line, "shaping", text);
	lack_classes(line, node, list);
}

static void lack_networks(struct line *line, const struct ethernet_node *node,
			  const struct underlays *list)
{
	struct fairlead_error error;

	if (underlay_apart_check(node->netlink, list, &error) == -EADDRINUSE)
		lack(line, "a network for each rail", error.text);
}

static void lack_namespaces(struct line *line, const struct ethernet_node *node)
{
	struct fairlead_error error;

	if (node->wants_namespaces &&
	    namespace_check(node->namespaces, &error) < 0)
		lack(line, "isolation=netns", error.text);
}

/* What an apply has found, if it is still so. */
static void lack_way(struct line *line, const struct ethernet_node *node,
		     const struct underlays *list)
{
	struct ip_address *far = node->guard->far_peers;
	struct fairlead_error error;
	size_t which;

	for (size_t i = 0; i < list->count; i++) {
		const struct underlay *nic = &list->list[i];
		int result;

		if (!nic->is_usable || far[i].family == 0)
			continue;
		result = underlay_ways_check(node->netlink, nic, node->ttl,
					     &far[i], 1, 1, &which, &error);
		if (result == 0)
			far[i].family = 0;
		if (result != -EHOSTUNREACH && result != -ENETUNREACH)
			continue;
		error_prefix(&error, "%s", nic->name);
		lack(line,
		     result == -EHOSTUNREACH ? "a ttl above 1"
					     : "a network that is the rail's",
		     error.text);
	}
}

void ethernet_summarize(void *state, char text[FAIRLEAD_SUMMARY_MAX + 1])
{
	const struct ethernet_node *node = state;
	struct line line = { .text = text };
	struct underlays nics = { 0 };
	struct fairlead_error error;

	text[0] = '\0';
	if (node->is_looking) {
		lack(&line, "permission", "only root can make lanes");
		return;
	}
	add(&line, FAIRLEAD_SUMMARY_LEVEL "%s, shaping %s", enforce_level(node),
	    node->is_shaping ? "on" : "off");
	add_counters(&line, node);
	if (line.no_rules.code < 0)
		lack(&line, "nft", line.no_rules.text);
	if (node_underlays(node, &nics, &error) < 0)
		lack(&line, "a NIC", error.text);
	else
		lack_nic(&line, node, &nics);
	lack_gate(&line, node);
	lack_ports(&line, node);
	lack_way(&line, node, &nics);
	lack_networks(&line, node, &nics);
	lack_shaping(&line, node, &nics);
	lack_namespaces(&line, node);
}
