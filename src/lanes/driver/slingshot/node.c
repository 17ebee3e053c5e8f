/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node half: what is on the NICs, and the table of operations. The
 * manager's settings come with each lane, so that all nodes of a job do the
 * same.
 */
#include "lanes/driver/slingshot/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/driver/slingshot/service.h"
#include "lanes/driver/slingshot/policy.h"
#include "lanes/driver/slingshot/slingshot.h"

static void close_node(void *state)
{
	struct slingshot_node *node = state;

	if (!node)
		return;
	cxi_library_close(node->library);
	free(node);
}

static int open_node(const struct fairlead_setting *list, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	struct slingshot_settings settings;
	struct cxi_library *library = NULL;
	struct slingshot_node *node;
	int result = slingshot_settings_read(list, count, &settings, ret_error);

	if (result == 0)
		result = cxi_library_open(settings.library,
					  settings.is_emulation, &library,
					  ret_error);
	if (result < 0)
		return result;
	node = memory_alloc(sizeof(*node));
	node->library = library;
	node->device_path = settings.device_path;
	node->job_netns = *settings.job_netns ? settings.job_netns : NULL;
	node->requires_devices = settings.requires_devices;
	*ret_state = node;
	return 0;
}

static void add_resource(struct fairlead_device *device, const char *name,
			 uint32_t total, uint32_t reserved)
{
	uint32_t i = device->resource_count++;

	snprintf(device->resources[i].name, sizeof(device->resources[i].name),
		 "%s", name);
	device->resources[i].total = total;
	device->resources[i].reserved = reserved;
}

static void describe_device(const struct slingshot_node *node,
			    const struct cxil_devinfo *info,
			    struct fairlead_device *device)
{
	_auto_(nic_fini) struct cxi_nic nic;
	struct slingshot_usage usage;
	struct fairlead_error error;

	nic_name_format(info->dev_id, device->name);
	if (nic_init(&nic, node, info, &error) < 0) {
		snprintf(device->detail, sizeof(device->detail), "%.*s",
			 (int)sizeof(device->detail) - 1, error.text);
		return;
	}
	device->is_usable = true;
	snprintf(device->detail, sizeof(device->detail), "nid 0x%05x%s%s",
		 info->nid, info->pct_eq ? "" : ", no retry handler is running",
		 node->library->is_emulated ? ", emulated" : "");
	slingshot_usage_count(info, nic.services->descs, nic.services->count,
			      &usage);
	for (int type = 0; type < CXI_RSRC_TYPE_MAX; type++)
		add_resource(device, slingshot_resource_name(type),
			     usage.total[type], usage.reserved[type]);
	add_resource(device, "TLE pools", CXI_TLE_POOLS, usage.tle_pools);
	add_resource(device, "LE pools", CXI_LE_POOLS, usage.le_pools);
	add_resource(device, "VNI entries", CXI_RECEIVE_ENTRIES,
		     usage.receive_entries);
}

static int probe(void *state,
		 void (*emit)(void *arg, const struct fairlead_device *device),
		 void *arg, struct fairlead_error *ret_error)
{
	const struct slingshot_node *node = state;
	struct nic_list list;
	int result = nic_list_read(node, &list, ret_error);

	for (uint32_t i = 0; result == 0 && i < list.count; i++) {
		struct fairlead_device device = { 0 };

		describe_device(node, &list.infos[i], &device);
		emit(arg, &device);
	}
	return result;
}

#define RANGE_TEXT_MAX 48 /* with the zero */

/* "vni_range=64-127 exclusive_cp ", as far as the library tells. */
static void format_range(const struct cxi_nic *nic, uint32_t svc_id,
			 char text[RANGE_TEXT_MAX])
{
	const struct cxi_library *library = nic->library;
	bool is_exclusive = false;
	uint16_t min;
	uint16_t max;

	if (!library->svc_get_vni_range ||
	    library->svc_get_vni_range(nic->dev, svc_id, &min, &max) < 0)
		return;
	if (library->svc_get_exclusive_cp &&
	    library->svc_get_exclusive_cp(nic->dev, svc_id, &is_exclusive) < 0)
		is_exclusive = false;
	snprintf(text, RANGE_TEXT_MAX, "vni_range=%u-%u %s", min, max,
		 is_exclusive ? "exclusive_cp " : "");
}

static void describe_service(const struct cxi_nic *nic,
			     const struct cxi_svc_desc *desc,
			     struct fairlead_object *object)
{
	char limits[SLINGSHOT_LIMITS_TEXT_MAX];
	char range[RANGE_TEXT_MAX] = "";

	snprintf(object->device, sizeof(object->device), "%s", nic->name);
	object->id = desc->svc_id;
	object->uid = slingshot_service_uid(desc);
	if (desc->enable)
		object->flags |= FAIRLEAD_OBJECT_ENABLED;
	if (desc->is_system_svc)
		object->flags |= FAIRLEAD_OBJECT_SYSTEM;
	if (desc->svc_id == CXI_DEFAULT_SVC_ID)
		object->flags |= FAIRLEAD_OBJECT_DEFAULT;
	if (!desc->restricted_members)
		object->flags |= FAIRLEAD_OBJECT_OPEN;
	if (slingshot_service_is_in_netns(desc))
		object->flags |= FAIRLEAD_OBJECT_NETNS;
	if (nic_is_used(nic, desc->svc_id))
		object->flags |= FAIRLEAD_OBJECT_BUSY;
	object->id_count = slingshot_service_vni_count(desc);
	if (!desc->restricted_vnis)
		format_range(nic, desc->svc_id, range);
	for (uint32_t i = 0; i < object->id_count; i++)
		object->ids[i] = desc->vnis[i];
	slingshot_limits_format(&desc->limits, limits);
	snprintf(object->detail, sizeof(object->detail), "%stcs=0x%02x %s",
		 range, slingshot_service_tcs(desc), limits);
}

static int list(void *state,
		void (*emit)(void *arg, const struct fairlead_object *object),
		void *arg, struct fairlead_error *ret_error)
{
	const struct slingshot_node *node = state;
	struct nic_list nics;
	int result = nic_list_read(node, &nics, ret_error);

	for (uint32_t i = 0; result == 0 && i < nics.count; i++) {
		_auto_(nic_fini) struct cxi_nic nic;

		result = nic_init(&nic, node, &nics.infos[i], ret_error);
		if (nic_is_gone(node, nics.infos[i].dev_id, result)) {
			result = 0;
			continue;
		}
		for (uint32_t k = 0; result == 0 && k < nic.services->count;
		     k++) {
			struct fairlead_object object = { 0 };

			describe_service(&nic, &nic.services->descs[k],
					 &object);
			emit(arg, &object);
		}
	}
	return result;
}

/* Ids are reused: is it still what was listed? */
static bool is_same(const struct cxi_svc_desc *desc,
		    const struct fairlead_object *object)
{
	uint32_t count = slingshot_service_vni_count(desc);

	if (slingshot_service_uid(desc) != object->uid ||
	    count != object->id_count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (desc->vnis[i] != object->ids[i])
			return false;
	}
	return true;
}

static int destroy(void *state, const struct fairlead_object *object,
		   bool is_dry_run, struct fairlead_error *ret_error)
{
	const struct slingshot_node *node = state;
	const struct cxil_devinfo *info = NULL;
	const struct cxi_svc_desc *desc;
	_auto_(nic_fini) struct cxi_nic nic = { 0 };
	struct nic_list nics;
	uint32_t dev_id;
	int result = nic_list_read(node, &nics, ret_error);

	if (result < 0)
		return result;
	if (nic_name_parse(object->device, &dev_id) == 0)
		info = nic_list_find(&nics, dev_id);
	if (!info)
		return error_set(ret_error, -ENOENT, "there is no NIC '%s'",
				 object->device);
	result = nic_init(&nic, node, info, ret_error);
	if (result < 0)
		return result;
	desc = nic_service(&nic, object->id);
	if (!desc || !is_same(desc, object))
		return error_set(ret_error, -ENOENT,
				 "%s: service %u is not there any more",
				 nic.name, object->id);
	if (desc->is_system_svc || desc->svc_id == CXI_DEFAULT_SVC_ID)
		return error_set(ret_error, -EPERM,
				 "%s: service %u is the system's own", nic.name,
				 object->id);
	if (is_dry_run)
		return node_try_destroy(node, &nic, desc, ret_error);
	return node_destroy_service(node, &nic, desc, ret_error);
}

const struct fairlead_node_ops slingshot_node_ops = {
	.open = open_node,
	.close = close_node,
	.probe = probe,
	.apply = slingshot_apply,
	.revoke = slingshot_revoke,
	.env = slingshot_env,
	.inherit = slingshot_inherit,
	.list = list,
	.destroy = destroy,
};
