/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every device that is the lane's is taken, on every NIC and in its namespace:
 * an apply that was cut short may have left one that no record names. What the
 * record names and is not there has left rules behind, which are rewritten.
 *
 * Processes of the job are not waited for: the lane goes, and what they have
 * open has nowhere to send.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/driver/common/variables.h"
#include "lanes/driver/ethernet/enforce.h"
#include "lanes/driver/ethernet/ethernet.h"
#include "lanes/driver/ethernet/node.h"
#include "lanes/driver/ethernet/sweep.h"
#include "lanes/driver/ethernet/take_back.h"

/* Devices that a record names. */
struct recorded {
	uint32_t count;
	char names[ETHERNET_DEVICES_MAX][IFNAMSIZ];
};

/* The lane's devices among all, to the caller; with NULL only counted. */
static size_t lane_devices(const struct found *found,
			   const struct fairlead_lane *lane,
			   struct found_device *ret_devices)
{
	size_t count = 0;

	for (size_t i = 0; i < found->count; i++) {
		if (!found_is_of(&found->list[i], lane))
			continue;
		if (ret_devices)
			ret_devices[count] = found->list[i];
		count++;
	}
	return count;
}

/* Does the record name a device that is not there? */
static bool has_lost(const struct recorded *recorded,
		     const struct found_device *devices, size_t count)
{
	for (uint32_t i = 0; i < recorded->count; i++) {
		size_t k = 0;

		while (k < count &&
		       strcmp(devices[k].device.name, recorded->names[i]) != 0)
			k++;
		if (k == count)
			return true;
	}
	return false;
}

/* One warning for a NIC: its devices from that place of the list on. */
static void report_rail(const struct ethernet_node *node,
			const struct found_device *devices, size_t count,
			struct fairlead_warnings *warnings)
{
	struct found_device rail[ETHERNET_DEVICES_MAX];
	char names[WARNING_TEXT_MAX] = "";
	struct fairlead_error error;
	size_t taken = 0;

	for (size_t i = 0; i < count && taken < ETHERNET_DEVICES_MAX; i++) {
		size_t used = strlen(names);

		if (devices[i].device.underlay_index !=
		    devices[0].device.underlay_index)
			continue;
		snprintf(names + used, sizeof(names) - used, " %s",
			 devices[i].device.name);
		rail[taken++] = devices[i];
	}
	if (take_back_try(node, rail, taken, &error) == 0)
		warnings_add(warnings, "would delete%s", names);
}

static void report_dry_run(const struct ethernet_node *node,
			   const struct found_device *devices, size_t count,
			   struct fairlead_warnings *warnings)
{
	for (size_t i = 0; i < count; i++) {
		size_t k = 0;

		while (devices[k].device.underlay_index !=
		       devices[i].device.underlay_index)
			k++;
		if (k == i)
			report_rail(node, &devices[i], count - i, warnings);
	}
}

/* --- several lanes --- */

/* What a revocation goes by. */
struct revoking {
	struct fairlead_revocation *revocation;
	bool is_unknown; /* what its record says */
	struct recorded recorded;
	struct found_device *devices; /* owned */
	size_t count;
};

static void answer(struct fairlead_revocation *revocation, int result,
		   const struct fairlead_error *error)
{
	revocation->result = result;
	if (result < 0)
		revocation->error = *error;
}

/* False, with a warning: it cannot be read. */
static bool record_read(const struct fairlead_record *record,
			struct fairlead_warnings *warnings,
			struct recorded *ret_recorded)
{
	struct fairlead_error flaw;
	struct recorded recorded = { 0 };
	const char *list;

	if (variables_check(record, ethernet_variables, &flaw) == 0) {
		list = variables_get(record, "FAIRLEAD_INTERFACES");
		while (recorded.count < ETHERNET_DEVICES_MAX &&
		       variables_next(&list, recorded.names[recorded.count],
				      IFNAMSIZ))
			recorded.count++;
		*ret_recorded = recorded;
		return true;
	}
	warnings_add(warnings, "%s; going by what is on the node", flaw.text);
	return false;
}

static void revoking_init(struct revoking *revoking, const struct found *found,
			  struct fairlead_revocation *revocation)
{
	const struct fairlead_lane *lane = revocation->lane;

	revoking->revocation = revocation;
	revoking->is_unknown = !record_read(
		revocation->record, revocation->warnings, &revoking->recorded);
	revoking->count = lane_devices(found, lane, NULL);
	revoking->devices =
		memory_array(revoking->count, sizeof(*revoking->devices));
	lane_devices(found, lane, revoking->devices);
}

/* Rules and classes that no device names any more, for all lanes at once. */
static void rules_mend(const struct ethernet_node *node, struct revoking *list,
		       size_t count)
{
	struct fairlead_revocation *first = NULL;
	struct fairlead_error error;

	for (size_t i = 0; i < count && !first; i++) {
		if (list[i].revocation->result == 0 &&
		    (list[i].is_unknown ||
		     has_lost(&list[i].recorded, list[i].devices,
			      list[i].count)))
			first = list[i].revocation;
	}
	if (!first)
		return;
	if (sweep_now(node, &error) < 0)
		warnings_add(first->warnings,
			     "a class that no device has stays, with its rate: "
			     "%s",
			     error.text);
	enforce_mend(node);
}

/* Has a device that is seen, and was not taken, the VNI there? */
static bool is_seen(const struct found *found, const struct fairlead_lane *lane,
		    uint32_t vni, uint16_t port, uint8_t family)
{
	for (size_t i = 0; i < found->count; i++) {
		const struct lane_device *device = &found->list[i].device;
		bool is_ipv6 = device->underlay.family == 6;

		if (device->vni == vni && device->port == port &&
		    is_ipv6 == (family == 6) &&
		    !found_is_of(&found->list[i], lane))
			return true;
	}
	return false;
}

/* The kernel has one device for each family of underlays. */
static int vni_check(const struct ethernet_node *node,
		     const struct found *found,
		     const struct fairlead_lane *lane, uint32_t vni,
		     uint32_t rail, struct fairlead_error *ret_error)
{
	static const uint8_t families[] = { 4, 6 };
	uint16_t port = ethernet_port(node->networks.port, rail);
	int result = 0;

	for (size_t i = 0; i < 2 && result == 0; i++) {
		if (!is_seen(found, lane, vni, port, families[i]))
			result = device_vni_check(node->netlink, vni, port,
						  families[i], ret_error);
	}
	return result;
}

/*
 * What is not there may be in a namespace that we do not know: the job's, whose
 * file somebody has removed, or one that somebody has moved it to.
 */
static void hidden_check(const struct ethernet_node *node,
			 const struct found *found,
			 const struct revoking *revoking)
{
	struct fairlead_revocation *revocation = revoking->revocation;
	const struct recorded *made = &revoking->recorded;
	uint32_t vni, rail;

	if (revoking->is_unknown ||
	    !has_lost(made, revoking->devices, revoking->count))
		return;
	for (uint32_t i = 0; i < made->count && revocation->result == 0; i++) {
		const char *name = made->names[i];

		if (ethernet_device_parse(name, &vni, &rail) &&
		    found_lane_has(revocation->lane, vni))
			revocation->result =
				vni_check(node, found, revocation->lane, vni,
					  rail, &revocation->error);
	}
}

static bool is_recorded(const struct recorded *made, const char *name)
{
	for (uint32_t i = 0; i < made->count; i++) {
		if (strcmp(made->names[i], name) == 0)
			return true;
	}
	return false;
}

/*
 * The VNI is not free while a device that was made for the lane has it,
 * whatever its alias says by now. Without a record nothing was: another lane
 * has it.
 */
static void astray_check(const struct found *found,
			 const struct revoking *revoking)
{
	struct fairlead_revocation *revocation = revoking->revocation;

	for (size_t i = 0; i < found->count && !revoking->is_unknown; i++) {
		const struct lane_device *device = &found->list[i].device;

		if (!found_is_astray(&found->list[i], revocation->lane) ||
		    !is_recorded(&revoking->recorded, device->name))
			continue;
		revocation->result = error_set(
			&revocation->error, -EBUSY,
			"device %s has VNI %u of this lane, and its alias says "
			"that it is of grant %" PRIu64
			": if somebody has changed that, delete it by `ip link "
			"delete %s`",
			device->name, device->vni, device->alias.grant_id,
			device->name);
	}
}

static void revoke_list(const struct ethernet_node *node,
			const struct found *found, struct revoking *list,
			struct take_back *lanes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		lanes[i] = (struct take_back){ .devices = list[i].devices,
					       .count = list[i].count };
	take_back_all(node, lanes, count);
	for (size_t i = 0; i < count; i++)
		answer(list[i].revocation, lanes[i].error.code,
		       &lanes[i].error);
	rules_mend(node, list, count);
	for (size_t i = 0; i < count; i++) {
		struct fairlead_revocation *revocation = list[i].revocation;

		if (revocation->result == 0)
			revocation->result =
				take_back_namespace(node,
						    revocation->lane->grant_id,
						    &revocation->error);
		if (revocation->result == 0)
			take_back_other_namespaces(node,
						   revocation->lane->grant_id,
						   list[i].devices,
						   list[i].count);
		if (revocation->result == 0)
			astray_check(found, &list[i]);
		if (revocation->result == 0)
			hidden_check(node, found, &list[i]);
	}
}

void ethernet_revoke_all(void *state, struct fairlead_revocation *revocations,
			 size_t count)
{
	const struct ethernet_node *node = state;
	_auto_(freep) struct revoking *list =
		memory_array(count, sizeof(*list));
	_auto_(freep) struct take_back *lanes =
		memory_array(count, sizeof(*lanes));
	struct fairlead_error error;
	struct found found = { 0 };
	int result = found_read(node, &found, &error);

	for (size_t i = 0; i < count && result == 0; i++)
		revoking_init(&list[i], &found, &revocations[i]);
	if (result == 0)
		revoke_list(node, &found, list, lanes, count);
	for (size_t i = 0; i < count; i++) {
		if (result < 0)
			answer(&revocations[i], result, &error);
		free(list[i].devices);
	}
	found_fini(&found);
}

/* --- one lane --- */

static int revoke_try(const struct ethernet_node *node,
		      struct fairlead_revocation *revocation,
		      struct fairlead_error *ret_error)
{
	struct revoking revoking = { 0 };
	struct found found = { 0 };
	int result = found_read(node, &found, ret_error);

	if (result == 0) {
		revoking_init(&revoking, &found, revocation);
		report_dry_run(node, revoking.devices, revoking.count,
			       revocation->warnings);
		result = take_back_try(node, revoking.devices, revoking.count,
				       ret_error);
	}
	free(revoking.devices);
	found_fini(&found);
	return result;
}

int ethernet_revoke(void *state, const struct fairlead_lane *lane,
		    const struct fairlead_record *record, bool is_dry_run,
		    struct fairlead_warnings *warnings,
		    struct fairlead_error *ret_error)
{
	struct fairlead_revocation revocation = {
		.lane = lane,
		.record = record,
		.warnings = warnings,
	};

	if (is_dry_run)
		return revoke_try(state, &revocation, ret_error);
	ethernet_revoke_all(state, &revocation, 1);
	if (revocation.result < 0)
		*ret_error = revocation.error;
	return revocation.result;
}
