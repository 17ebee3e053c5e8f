/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every service that is the lane's is destroyed, on every NIC, however many
 * there are: an apply that was cut short may have left one that no record
 * names. The record only says what was expected; ids are reused at once, so
 * what has a recorded id now may be another job's.
 *
 * A NIC that has left the list of devices has no services: its driver is
 * gone, and they were its driver's. That is a warning, not an error. A NIC
 * that is listed and does not answer may still have them: -EIO, try again.
 *
 * One NIC that is busy or does not answer does not keep the others waiting.
 */
#include "lanes/driver/slingshot/node.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/common/variables.h"
#include "lanes/driver/slingshot/holders.h"
#include "lanes/driver/slingshot/slingshot.h"

#define HOLDERS_TEXT_MAX 256

/* Processes that can be using it: how many. */
static size_t find_holders(const struct slingshot_node *node,
			   const struct cxi_nic *nic,
			   const struct cxi_svc_desc *desc,
			   char text[HOLDERS_TEXT_MAX])
{
	char device[PATH_MAX];

	snprintf(device, sizeof(device), "%s/%s", node->device_path, nic->name);
	return holders_format(device, slingshot_service_uid(desc), text,
			      HOLDERS_TEXT_MAX);
}

static void format_vnis(const struct cxi_svc_desc *desc,
			char text[SLINGSHOT_VNIS_TEXT_MAX])
{
	slingshot_vnis_format(desc->vnis, slingshot_service_vni_count(desc),
			      text);
}

static int say_busy(const struct slingshot_node *node,
		    const struct cxi_nic *nic, const struct cxi_svc_desc *desc,
		    struct fairlead_error *ret_error)
{
	char vnis[SLINGSHOT_VNIS_TEXT_MAX];
	char holders[HOLDERS_TEXT_MAX];

	format_vnis(desc, vnis);
	if (find_holders(node, nic, desc, holders) > 0)
		return error_set(ret_error, -EBUSY,
				 "%s: service %u (VNI %s) is busy, the NIC is "
				 "open in %s",
				 nic->name, desc->svc_id, vnis, holders);
	return error_set(ret_error, -EBUSY,
			 "%s: service %u (VNI %s) is busy, though no process "
			 "of its owner has the NIC open: it is still "
			 "completing operations",
			 nic->name, desc->svc_id, vnis);
}

/* -EINVAL means that there is no such service: true when that is so. */
static bool is_there(const struct cxi_nic *nic, uint32_t svc_id)
{
	struct cxil_svc_list *list = NULL;
	bool is_found = false;

	if (nic->library->get_svc_list(nic->dev, &list) < 0)
		return true;
	for (uint32_t i = 0; i < list->count; i++)
		is_found |= list->descs[i].svc_id == svc_id;
	nic->library->free_svc_list(list);
	return is_found;
}

int node_destroy_service(const struct slingshot_node *node,
			 const struct cxi_nic *nic,
			 const struct cxi_svc_desc *desc,
			 struct fairlead_error *ret_error)
{
	int result = nic->library->destroy_svc(nic->dev, desc->svc_id);

	if (result == -EBUSY)
		return say_busy(node, nic, desc, ret_error);
	if (result >= 0 ||
	    (result == -EINVAL && !is_there(nic, desc->svc_id)) ||
	    nic_is_gone(node, nic->info.dev_id, result))
		return 0;
	return error_set(ret_error, result, "%s: cannot destroy service %u: %s",
			 nic->name, desc->svc_id, strerror(-result));
}

int node_try_destroy(const struct slingshot_node *node,
		     const struct cxi_nic *nic, const struct cxi_svc_desc *desc,
		     struct fairlead_error *ret_error)
{
	char vnis[SLINGSHOT_VNIS_TEXT_MAX];
	char holders[HOLDERS_TEXT_MAX];

	if (nic_is_used(nic, desc->svc_id))
		return say_busy(node, nic, desc, ret_error);
	if (find_holders(node, nic, desc, holders) == 0)
		return 0;
	format_vnis(desc, vnis);
	return error_set(ret_error, -EBUSY,
			 "%s: service %u (VNI %s) may be busy, the NIC is open "
			 "in %s",
			 nic->name, desc->svc_id, vnis, holders);
}

static void revoke_service(const struct slingshot_node *node,
			   const struct cxi_nic *nic,
			   const struct cxi_svc_desc *desc,
			   const struct slingshot_lane *lane, bool is_dry_run,
			   struct fairlead_warnings *warnings,
			   struct fairlead_error *all)
{
	uint16_t shared = slingshot_service_shares(desc, lane);
	struct fairlead_error error;

	if (!slingshot_service_is_of(desc, lane)) {
		if (shared != 0)
			warnings_add(warnings,
				     "%s: service %u has VNI %u too but is not "
				     "this lane's, left alone",
				     nic->name, desc->svc_id, shared);
		return;
	}
	if ((is_dry_run ? node_try_destroy
			: node_destroy_service)(node, nic, desc, &error) < 0)
		errors_join(all, &error);
	else if (is_dry_run)
		warnings_add(warnings, "%s: would destroy service %u",
			     nic->name, desc->svc_id);
}

static void revoke_on(const struct slingshot_node *node,
		      const struct cxil_devinfo *info,
		      const struct slingshot_lane *lane, bool is_dry_run,
		      struct fairlead_warnings *warnings,
		      struct fairlead_error *all)
{
	_auto_(nic_fini) struct cxi_nic nic;
	struct fairlead_error error;
	int result = nic_init(&nic, node, info, &error);

	if (result < 0) {
		if (!nic_is_gone(node, info->dev_id, result))
			errors_join(all, &error);
		return;
	}
	for (uint32_t i = 0; i < nic.services->count; i++)
		revoke_service(node, &nic, &nic.services->descs[i], lane,
			       is_dry_run, warnings, all);
}

static void warn_of_absent(const struct slingshot_services *recorded,
			   const struct nic_list *list,
			   struct fairlead_warnings *warnings)
{
	for (uint32_t i = 0; i < recorded->count; i++) {
		const struct slingshot_service *service = &recorded->list[i];

		if (!nic_list_find(list, service->device))
			warnings_add(warnings,
				     "cxi%u is gone, and service %u with it",
				     service->device, service->id);
	}
}

int slingshot_revoke(void *state, const struct fairlead_lane *lane,
		     const struct fairlead_record *record, bool is_dry_run,
		     struct fairlead_warnings *warnings,
		     struct fairlead_error *ret_error)
{
	const struct slingshot_node *node = state;
	struct slingshot_services recorded = { 0 };
	struct fairlead_error all = { 0 };
	struct slingshot_lane wanted;
	struct nic_list list;
	int result;

	result = slingshot_lane_read(lane, false, &wanted, ret_error);
	if (result < 0)
		return result;
	result = nic_list_read(node, &list, ret_error);
	if (result < 0)
		return result;
	if (slingshot_record_check(record, &all) < 0)
		warnings_add(warnings, "%s; going by what is on the NICs",
			     all.text);
	else if (record->size > 0)
		(void)slingshot_services_read(
			variables_get(record, "SLINGSHOT_DEVICES"),
			variables_get(record, "SLINGSHOT_SVC_IDS"), &recorded,
			&all);
	all.code = 0;
	warn_of_absent(&recorded, &list, warnings);
	for (uint32_t i = 0; i < list.count; i++)
		revoke_on(node, &list.infos[i], &wanted, is_dry_run, warnings,
			  &all);
	if (all.code < 0)
		*ret_error = all;
	return all.code;
}
