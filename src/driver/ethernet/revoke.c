/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every device that is the lane's is taken, on every NIC and in its namespace:
 * an apply that was cut short may have left one that no record names. What the
 * record names and is not there has left rules behind, which are written anew.
 *
 * Processes of the job are not waited for: the lane goes, and what they have
 * open has nowhere to send.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver/ethernet/enforce.h"
#include "driver/ethernet/namespace.h"
#include "driver/ethernet/node.h"
#include "driver/ethernet/record.h"
#include "driver/ethernet/take_back.h"

/* The lane's devices among all, to the front. */
static size_t pick(struct found *found, const struct fairlead_lane *lane)
{
	size_t count = 0;

	for (size_t i = 0; i < found->count; i++) {
		if (found_is_of(&found->list[i], lane))
			found->list[count++] = found->list[i];
	}
	return count;
}

/* Does the record name a device that is not there? */
static bool has_lost(const struct ethernet_made *recorded,
		     const struct found_device *devices, size_t count)
{
	for (uint32_t i = 0; i < recorded->count; i++) {
		size_t k = 0;

		while (k < count && strcmp(devices[k].device.name,
					   recorded->devices[i].name) != 0)
			k++;
		if (k == count)
			return true;
	}
	return false;
}

/* One warning for a NIC: its devices from that place of the list on. */
static void tell_rail(const struct ethernet_node *node,
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

static void tell_dry_run(const struct ethernet_node *node,
			 const struct found_device *devices, size_t count,
			 struct fairlead_warnings *warnings)
{
	for (size_t i = 0; i < count; i++) {
		size_t k = 0;

		while (devices[k].device.underlay_index !=
		       devices[i].device.underlay_index)
			k++;
		if (k == i)
			tell_rail(node, &devices[i], count - i, warnings);
	}
}

static int revoke_try(const struct ethernet_node *node,
		      const struct found_device *devices, size_t count,
		      struct fairlead_warnings *warnings,
		      struct fairlead_error *ret_error)
{
	tell_dry_run(node, devices, count, warnings);
	return take_back_try(node, devices, count, ret_error);
}

int ethernet_revoke(void *state, const struct fairlead_lane *lane,
		    const struct fairlead_record *record, bool is_dry_run,
		    struct fairlead_warnings *warnings,
		    struct fairlead_error *ret_error)
{
	const struct ethernet_node *node = state;
	struct ethernet_made recorded = { 0 };
	struct fairlead_error flaw;
	struct found found = { 0 };
	bool is_unknown;
	size_t count;
	int result = found_read(node, &found, ret_error);

	if (result < 0)
		return result;
	is_unknown = ethernet_record_decode(record, &recorded, &flaw) < 0;
	if (is_unknown)
		warnings_add(warnings, "%s; going by what is on the node",
			     flaw.text);
	count = pick(&found, lane);
	if (is_dry_run)
		result = revoke_try(node, found.list, count, warnings,
				    ret_error);
	else if (count > 0)
		result = take_back(node, found.list, count, ret_error);
	if (result == 0 && !is_dry_run &&
	    (is_unknown || has_lost(&recorded, found.list, count)))
		result = enforce_all(node, ret_error);
	if (result == 0 && !is_dry_run)
		result = namespace_delete(node->namespaces, lane->grant_id,
					  ret_error);
	found_fini(&found);
	return result;
}
