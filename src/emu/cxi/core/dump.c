/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole model as JSON, for tests and for people. Names are those of the
 * vendor's tools where they have one.
 */
#include "emu/cxi/core/model.h"

#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"

static const char *const type_names[CXI_RSRC_TYPE_MAX] = {
	[CXI_RSRC_TYPE_PTE] = "PTE", [CXI_RSRC_TYPE_TXQ] = "TXQ",
	[CXI_RSRC_TYPE_TGQ] = "TGQ", [CXI_RSRC_TYPE_EQ] = "EQ",
	[CXI_RSRC_TYPE_CT] = "CT",   [CXI_RSRC_TYPE_LE] = "LE",
	[CXI_RSRC_TYPE_TLE] = "TLE", [CXI_RSRC_TYPE_AC] = "AC",
};

static const char *const tc_names[CXI_TC_MAX] = {
	[CXI_TC_DEDICATED_ACCESS] = "DEDICATED_ACCESS",
	[CXI_TC_LOW_LATENCY] = "LOW_LATENCY",
	[CXI_TC_BULK_DATA] = "BULK_DATA",
	[CXI_TC_BEST_EFFORT] = "BEST_EFFORT",
	[CXI_TC_ETH] = "ETH",
};

static const char *const member_names[CXI_SVC_MEMBER_MAX] = {
	[CXI_SVC_MEMBER_IGNORE] = "ignore",
	[CXI_SVC_MEMBER_UID] = "uid",
	[CXI_SVC_MEMBER_GID] = "gid",
	[CXI_SVC_MEMBER_NET_NS] = "netns",
};

const char *softnic_type_format(enum cxi_rsrc_type type)
{
	return type_names[type];
}

int softnic_type_parse(const char *text, enum cxi_rsrc_type *ret_type)
{
	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++) {
		if (strcmp(text, type_names[i]) == 0) {
			*ret_type = i;
			return 0;
		}
	}
	return -EINVAL;
}

static void put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) < 0)
		memory_end();
}

static void append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) < 0)
		memory_end();
}

static json_t *dump_vnis(const struct softnic_svc *service)
{
	json_t *vnis = json_array();

	for (unsigned int i = 0;
	     service->desc.restricted_vnis && i < service->desc.num_vld_vnis;
	     i++)
		append(vnis, json_integer(service->desc.vnis[i]));
	return vnis;
}

static json_t *dump_range(const struct softnic_svc *service)
{
	const struct profile *range = &service->profiles[0];

	if (service->desc.restricted_vnis || service->profile_count == 0)
		return json_null();
	return json_pack("[i, i]", range->match, range->match + range->ignore);
}

static json_t *dump_members(const struct softnic_svc *service)
{
	json_t *members = json_array();

	for (unsigned int i = 0;
	     service->desc.restricted_members && i < CXI_SVC_MAX_MEMBERS; i++) {
		const struct cxi_svc_member *member = &service->desc.members[i];

		if (member->type == CXI_SVC_MEMBER_IGNORE)
			continue;
		append(members, json_pack("{s:s, s:I}", "type",
					  member_names[member->type], "id",
					  (json_int_t)member->svc_member.uid));
	}
	return members;
}

/* The uid of the first member that is one; null where there is none. */
static json_t *dump_uid(const struct softnic_svc *service)
{
	for (unsigned int i = 0;
	     service->desc.restricted_members && i < CXI_SVC_MAX_MEMBERS; i++) {
		if (service->desc.members[i].type == CXI_SVC_MEMBER_UID)
			return json_integer(
				service->desc.members[i].svc_member.uid);
	}
	return json_null();
}

static json_t *dump_tcs(const struct softnic_svc *service)
{
	json_t *tcs = json_array();

	for (unsigned int i = 0; i < CXI_TC_MAX; i++) {
		if (service->desc.tcs[i])
			append(tcs, json_string(tc_names[i]));
	}
	return tcs;
}

static json_t *dump_limits(const struct softnic_svc *service)
{
	json_t *limits = json_object();

	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++)
		put(limits, type_names[i],
		    json_pack("{s:i, s:i, s:i}", "max",
			      service->desc.limits.type[i].max, "res",
			      service->desc.limits.type[i].res, "in_use",
			      service->in_use[i]));
	return limits;
}

static json_t *dump_pool(int pool)
{
	return pool == POOL_NONE ? json_null() : json_integer(pool);
}

static json_t *dump_busy(const struct nic *nic,
			 const struct softnic_svc *service)
{
	if (service->busy_until_ms == SOFTNIC_FOREVER)
		return json_string("forever");
	if (service->busy_until_ms <= nic->softnic->now_ms)
		return json_null();
	return json_integer(
		(json_int_t)(service->busy_until_ms - nic->softnic->now_ms));
}

static json_t *dump_service(const struct nic *nic,
			    const struct softnic_svc *service)
{
	const struct softnic_access *access = &service->access;
	json_t *object = json_pack(
		"{s:I, s:s, s:b, s:b, s:b, s:b, s:b, s:b, s:i, s:b, s:i}", "id",
		(json_int_t)service->desc.svc_id, "name", service->name,
		"enabled", service->desc.enable, "system",
		service->desc.is_system_svc, "restricted_members",
		service->desc.restricted_members, "restricted_vnis",
		service->desc.restricted_vnis, "restricted_tcs",
		service->desc.restricted_tcs, "resource_limits",
		service->desc.resource_limits, "lpr",
		(int)service->lnis_per_rgid, "exclusive_cp",
		service->exclusive_cp, "lni_count", (int)service->lni_count);

	put(object, "uid", dump_uid(service));
	put(object, "members", dump_members(service));
	put(object, "netns",
	    access->has_netns ? json_integer(access->netns) : json_null());
	put(object, "vnis", dump_vnis(service));
	put(object, "vni_range", dump_range(service));
	put(object, "tcs", dump_tcs(service));
	put(object, "limits", dump_limits(service));
	put(object, "tle_pool", dump_pool(service->tle_pool));
	put(object, "le_pool", dump_pool(service->le_pool));
	put(object, "busy_ms", dump_busy(nic, service));
	return object;
}

static json_t *dump_lni(const struct nic *nic, const struct lni *lni)
{
	json_t *object =
		json_pack("{s:I, s:I, s:I, s:i, s:I, s:I, s:b}", "id",
			  (json_int_t)lni->id, "rgid", (json_int_t)lni->rgid,
			  "service", (json_int_t)lni->svc_id, "pid",
			  lni->owner.pid, "uid", (json_int_t)lni->owner.uid,
			  "gid", (json_int_t)lni->owner.gid, "in_cleanup",
			  lni->client == NULL);

	if (lni->client == NULL)
		put(object, "cleanup_ms",
		    json_integer((json_int_t)(lni->cleanup_end_ms -
					      nic->softnic->now_ms)));
	return object;
}

static json_t *dump_pools(uint32_t pools, int count)
{
	json_t *array = json_array();

	for (int id = 0; id < count; id++) {
		if (pools & 1u << id)
			append(array, json_integer(id));
	}
	return array;
}

static json_t *dump_resources(const struct nic *nic)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++)
		put(object, type_names[i],
		    json_pack("{s:i, s:I, s:I}", "total",
			      nic->softnic->config.totals[i], "reserved",
			      (json_int_t)nic->reserved[i], "shared_use",
			      (json_int_t)limits_shared_use(nic, i)));
	return object;
}

static json_t *dump_nic(const struct nic *nic)
{
	struct cxil_devinfo info;
	json_t *services = json_array();
	json_t *lnis = json_array();
	const struct lni *lni;
	json_t *object;
	int rgid_count = 0;

	devinfo_fill(nic, &info);
	for (uint32_t id = 1; id <= SOFTNIC_SERVICE_MAX; id++) {
		if (nic->services[id] != NULL)
			append(services, dump_service(nic, nic->services[id]));
	}
	DL_FOREACH (nic->lnis, lni) {
		append(lnis, dump_lni(nic, lni));
	}
	for (uint32_t id = 1; id <= RGID_COUNT; id++)
		rgid_count += nic->rgids[id].lni_count > 0;
	object = json_pack("{s:s, s:I, s:I, s:b, s:i, s:i}", "name",
			   info.device_name, "nic", (json_int_t)nic->number,
			   "nid", (json_int_t)info.nid, "present",
			   nic->is_present, "rgids", rgid_count,
			   "receive_entries", (int)nic->receive_entry_count);
	put(object, "resources", dump_resources(nic));
	put(object, "tle_pools", dump_pools(nic->tle_pools, TLE_POOL_COUNT));
	put(object, "le_pools", dump_pools(nic->le_pools, LE_POOL_COUNT));
	put(object, "services", services);
	put(object, "lnis", lnis);
	return object;
}

static json_t *dump_operations(const struct softnic *softnic)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < SOFTNIC_OP_COUNT; i++)
		put(object, softnic_op_format(i),
		    json_pack("{s:I, s:I}", "calls",
			      (json_int_t)softnic->ops[i].calls, "faults",
			      (json_int_t)softnic->ops[i].faults));
	return object;
}

static const char *errno_name(int error)
{
	const char *name = strerrorname_np(error);

	return name != NULL ? name : "unknown";
}

static json_t *dump_faults(const struct softnic *softnic)
{
	json_t *array = json_array();

	for (size_t i = 0; i < softnic->fault_count; i++) {
		const struct softnic_fault *fault = &softnic->faults[i];

		append(array, json_pack("{s:s, s:o, s:s, s:I, s:I, s:I}", "op",
					softnic_op_format(fault->op), "nic",
					fault->nic == SOFTNIC_ANY_NIC
						? json_null()
						: json_integer(fault->nic),
					"errno", errno_name(fault->error),
					"nth", (json_int_t)fault->nth, "count",
					(json_int_t)fault->count, "called",
					(json_int_t)fault->called));
	}
	return array;
}

json_t *softnic_dump(const struct softnic *softnic)
{
	json_t *devices = json_array();
	json_t *object;

	for (uint32_t i = 0; i < softnic->config.nic_count; i++)
		append(devices, dump_nic(&softnic->nics[i]));
	object = json_pack("{s:i, s:I}", "generation",
			   (int)softnic->config.generation, "cleanup_ms",
			   (json_int_t)softnic->config.cleanup_ms);
	put(object, "operations", dump_operations(softnic));
	put(object, "faults", dump_faults(softnic));
	put(object, "devices", devices);
	return object;
}
