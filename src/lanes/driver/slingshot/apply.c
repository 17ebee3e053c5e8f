/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One service on each NIC of the node, or none. What is free is computed from
 * the services that are there; when the NIC's driver says that there is no
 * capacity all the same, somebody else was quicker, and it is computed again.
 *
 * The driver's fail info is not trusted with numbers. Its two flags are taken
 * as a hint after a refusal, since all they can do is to make the service ask
 * for less.
 *
 * A VNI that any other service on the NIC has is refused. NIC drivers from
 * 14.0 on would share it, and two services with one VNI are one lane; and a
 * service of this very lane that is left from an earlier try has to be
 * revoked first, or it would be nobody's.
 *
 * What cannot be taken back after a failure is said in the error. It has the
 * lane's owner and VNIs, so revoke without a record finds it.
 */
#include "lanes/driver/slingshot/node.h"

#include <stdio.h>
#include <string.h>

#include "lanes/driver/slingshot/service.h"

#define TRIES_MAX 5 /* races lost in a row, per NIC */

static void warn_shortfalls(const struct cxi_nic *nic,
			    const struct slingshot_limits *limits,
			    struct fairlead_warnings *warnings)
{
	char text[WARNING_TEXT_MAX];

	for (uint32_t i = 0; i < limits->shortfall_count; i++) {
		slingshot_shortfall_format(&limits->shortfalls[i], nic->name,
					   text, sizeof(text));
		warnings->add(warnings, text);
	}
}

static int check_minimum(const struct cxi_nic *nic,
			 const struct slingshot_lane *lane,
			 const struct slingshot_limits *limits,
			 struct fairlead_error *ret_error)
{
	const struct slingshot_shortfall *shortfall =
		slingshot_limits_refused(&lane->policy, limits);
	char text[WARNING_TEXT_MAX];

	if (!shortfall)
		return 0;
	slingshot_shortfall_format(shortfall, nic->name, text, sizeof(text));
	return error_set(ret_error, -ENOSPC,
			 "%s: too little to start; 'minimum' and "
			 "'below_minimum' say so",
			 text);
}

static int check_vnis(const struct cxi_nic *nic,
		      const struct slingshot_lane *lane,
		      struct fairlead_error *ret_error)
{
	for (uint32_t i = 0; i < nic->services->count; i++) {
		const struct cxi_svc_desc *desc = &nic->services->descs[i];
		uint16_t vni = slingshot_service_shares(desc, lane);

		if (vni == 0)
			continue;
		if (slingshot_service_is_of(desc, lane))
			return error_set(ret_error, -EEXIST,
					 "%s: service %u is this lane's "
					 "already (VNI %u, uid %u)",
					 nic->name, desc->svc_id, vni,
					 lane->uid);
		return error_set(ret_error, -EEXIST,
				 "%s: VNI %u is in use by service %u, which is "
				 "not ours",
				 nic->name, vni, desc->svc_id);
	}
	return 0;
}

static int say_no_capacity(const struct cxi_nic *nic,
			   const struct slingshot_usage *usage,
			   struct fairlead_error *ret_error)
{
	char text[WARNING_TEXT_MAX];
	size_t used = 0;

	for (int type = 0; type < CXI_RSRC_TYPE_MAX; type++) {
		uint32_t total = usage->total[type];
		uint32_t reserved = usage->reserved[type];

		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%u of %u %s, ",
			reserved < total ? total - reserved : 0, total,
			slingshot_resource_name(type));
	}
	return error_set(
		ret_error, -ENOSPC,
		"%s: no capacity for a service; free seem %s%d of %d TLE "
		"pools, %d of %d LE pools, %d of %d VNI entries",
		nic->name, text, CXI_TLE_POOLS - (int)usage->tle_pools,
		CXI_TLE_POOLS, CXI_LE_POOLS - (int)usage->le_pools,
		CXI_LE_POOLS, CXI_RECEIVE_ENTRIES - (int)usage->receive_entries,
		CXI_RECEIVE_ENTRIES);
}

static void report_dry_run(const struct cxi_nic *nic,
			   const struct slingshot_lane *lane,
			   const struct slingshot_limits *limits,
			   struct fairlead_warnings *warnings)
{
	char text[SLINGSHOT_LIMITS_TEXT_MAX];
	char vnis[SLINGSHOT_VNIS_TEXT_MAX];
	char lpr[32] = "";
	const char *cp = lane->has_exclusive_cp ? " exclusive_cp" : "";

	slingshot_limits_format(&limits->limits, text);
	slingshot_vnis_format(lane->vnis, lane->vni_count, vnis);
	if (lane->lnis_per_rgid > 1)
		snprintf(lpr, sizeof(lpr), " lpr=%u", lane->lnis_per_rgid);
	warnings_add(warnings,
		     "%s: would make a service uid=%u vnis=%s "
		     "tcs=0x%02x %s%s%s",
		     nic->name, lane->uid, vnis, lane->policy.tcs, text, lpr,
		     cp);
}

/* Returns the service's id, or 0 in a dry run. */
static int make_service(struct cxi_nic *nic, const struct slingshot_lane *lane,
			bool is_dry_run, struct fairlead_warnings *warnings,
			struct fairlead_error *ret_error)
{
	struct cxi_svc_fail_info fail_info = { 0 };
	struct slingshot_limits limits;
	struct slingshot_usage usage;
	struct cxi_svc_desc desc;
	int result = check_vnis(nic, lane, ret_error);

	if (result < 0)
		return result;
	for (int i = 0; i < TRIES_MAX; i++) {
		slingshot_usage_count(&nic->info, nic->services->descs,
				      nic->services->count, &usage);
		if (fail_info.no_tle_pools)
			usage.tle_pools = CXI_TLE_POOLS;
		if (fail_info.no_le_pools)
			usage.le_pools = CXI_LE_POOLS;
		slingshot_limits_plan(&lane->policy, lane->cores, &usage,
				      &limits);
		result = check_minimum(nic, lane, &limits, ret_error);
		if (result < 0)
			return result;
		if (is_dry_run) {
			warn_shortfalls(nic, &limits, warnings);
			report_dry_run(nic, lane, &limits, warnings);
			return 0;
		}
		slingshot_service_fill(lane, &limits.limits, &desc);
		result = nic->library->alloc_svc(nic->dev, &desc, &fail_info);
		if (result > 0)
			warn_shortfalls(nic, &limits, warnings);
		if (result != -ENOSPC)
			break;
		result = nic_refresh(nic, ret_error);
		if (result < 0)
			return result;
		result = -ENOSPC;
	}
	if (result == -ENOSPC)
		return say_no_capacity(nic, &usage, ret_error);
	if (result == 0)
		result = -EPROTO; /* 0 is the id of no service */
	if (result < 0)
		return error_set(ret_error, result,
				 "%s: cannot make a service: %s", nic->name,
				 strerror(-result));
	return result;
}

static int check_exclusive_cp(const struct cxi_library *library,
			      struct fairlead_error *ret_error)
{
	if (library->svc_set_vni_range && library->svc_set_exclusive_cp &&
	    library->svc_enable)
		return 0;
	return error_set(ret_error, -EOPNOTSUPP,
			 "option 'exclusive_cp': the library has no "
			 "cxil_svc_set_exclusive_cp, as releases before 13.1");
}

/* The service has no VNI yet, and is disabled. It is destroyed on failure. */
static int set_exclusive_cp(const struct cxi_nic *nic, uint32_t svc_id,
			    uint16_t vni, struct fairlead_error *ret_error)
{
	const struct cxi_library *library = nic->library;
	int result = library->svc_set_vni_range(nic->dev, svc_id, vni, vni);

	if (result == 0)
		result = library->svc_set_exclusive_cp(nic->dev, svc_id, true);
	if (result == 0)
		result = library->svc_enable(nic->dev, svc_id, true);
	if (result == 0)
		return 0;
	/* What stays is disabled; a revoke without a record finds it. */
	(void)library->destroy_svc(nic->dev, svc_id);
	return error_set(ret_error, result,
			 "%s: cannot give service %u VNI %u with communication "
			 "profiles of its own: %s; NIC drivers have that from "
			 "13.1 on",
			 nic->name, svc_id, vni, strerror(-result));
}

/*
 * A process needs an LNI and that an RGID. The site may have set more LNIs an
 * RGID than we need; where it has switched sharing off, setting it is no error.
 */
static void share_rgids(const struct cxi_nic *nic, uint32_t svc_id,
			const struct slingshot_lane *lane,
			struct fairlead_warnings *warnings)
{
	const struct cxi_library *library = nic->library;
	const char *why = "the library cannot let them share RGIDs";
	uint32_t wanted = lane->lnis_per_rgid;
	int result = -ENOSYS;

	if (wanted <= 1 ||
	    (library->get_svc_lpr &&
	     library->get_svc_lpr(nic->dev, svc_id) >= (int)wanted))
		return;
	if (library->set_svc_lpr) {
		result = library->set_svc_lpr(nic->dev, svc_id, wanted);
		why = strerror(-result);
	}
	if (result == 0 && library->get_svc_lpr &&
	    library->get_svc_lpr(nic->dev, svc_id) < (int)wanted) {
		result = -EPERM;
		why = "sharing RGIDs is switched off";
	}
	if (result < 0)
		warnings_add(
			warnings,
			"%s: service %u is for %d processes, fewer than the "
			"%u tasks here may need: %s",
			nic->name, svc_id, CXI_RGIDS, lane->tasks, why);
}

/* Needs the count of NICs: tasks are spread over them. */
static void plan_rgids(struct slingshot_lane *lane, uint32_t nics,
		       struct fairlead_warnings *warnings)
{
	lane->lnis_per_rgid = slingshot_lnis_per_rgid(lane->tasks, nics);
	if (lane->lnis_per_rgid <= CXI_LPR_MAX)
		return;
	lane->lnis_per_rgid = CXI_LPR_MAX;
	warnings_add(warnings,
		     "%u tasks are more than the %u NICs here have RGIDs for: "
		     "%u processes can use them",
		     lane->tasks, nics, nics * CXI_RGIDS * CXI_LPR_MAX);
}

static int make_on(const struct slingshot_node *node,
		   const struct cxil_devinfo *info,
		   const struct slingshot_lane *lane, bool is_dry_run,
		   struct slingshot_services *made,
		   struct fairlead_warnings *warnings,
		   struct fairlead_error *ret_error)
{
	_auto_(nic_fini) struct cxi_nic nic;
	uint32_t svc_id;
	int result = nic_init(&nic, node, info, ret_error);

	if (result == 0)
		result = make_service(&nic, lane, is_dry_run, warnings,
				      ret_error);
	if (result <= 0)
		return result;
	svc_id = (uint32_t)result;
	result = 0;
	if (lane->has_exclusive_cp)
		result = set_exclusive_cp(&nic, svc_id, lane->vnis[0],
					  ret_error);
	/* The namespace is let into the profiles that are there. */
	if (result == 0 && lane->is_in_netns)
		result = slingshot_netns_bind(&nic, svc_id, lane->netns,
					      ret_error);
	if (result < 0)
		return result;
	share_rgids(&nic, svc_id, lane, warnings);
	if (info->pct_eq == 0)
		warnings_add(warnings, "%s: no retry handler is running for it",
			     nic.name);
	made->list[made->count++] = (struct slingshot_service){
		.device = info->dev_id,
		.id = svc_id,
		.tcs = lane->policy.tcs,
	};
	return 0;
}

/* Take one of ours back; adds to the error when that fails. */
static void undo_one(const struct slingshot_node *node,
		     const struct nic_list *list,
		     const struct slingshot_service *service,
		     const struct slingshot_lane *lane,
		     struct fairlead_error *error)
{
	_auto_(nic_fini) struct cxi_nic nic;
	struct fairlead_error before = *error;
	struct fairlead_error why;
	const struct cxi_svc_desc *desc;
	int result = nic_init(&nic, node, nic_list_find(list, service->device),
			      &why);

	if (result == 0) {
		desc = nic_service(&nic, service->id);
		if (desc && slingshot_service_is_of(desc, lane))
			result = node_destroy_service(node, &nic, desc, &why);
	} else if (nic_is_gone(node, service->device, result)) {
		result = 0;
	}
	if (result < 0)
		error_set(error, before.code,
			  "%s; what was made before cannot be taken back yet: "
			  "%s",
			  before.text, why.text);
}

int slingshot_apply(void *state, const struct fairlead_lane *lane,
		    bool is_dry_run, struct fairlead_record *ret_record,
		    struct fairlead_warnings *warnings,
		    struct fairlead_error *ret_error)
{
	const struct slingshot_node *node = state;
	struct slingshot_services made = { 0 };
	struct slingshot_lane wanted;
	struct nic_list list;
	int result;

	result = slingshot_lane_read(lane, true, &wanted, ret_error);
	if (result < 0)
		return result;
	result = nic_list_read(node, &list, ret_error);
	if (result < 0)
		return result;
	if (wanted.vni_count == 0)
		list.count = 0;
	else if (list.count == 0 && node->requires_devices)
		return error_set(ret_error, -ENODEV,
				 "there is no Slingshot NIC on this node");
	else if (list.count == 0)
		warnings_add(warnings,
			     "there is no Slingshot NIC on this node");
	if (list.count > 0 && result == 0 && wanted.is_in_netns)
		result = slingshot_netns_find(node, lane, &wanted.netns,
					      ret_error);
	if (list.count > 0 && result == 0 && wanted.has_exclusive_cp)
		result = check_exclusive_cp(node->library, ret_error);
	if (result == 0 && list.count > 0)
		plan_rgids(&wanted, list.count, warnings);
	for (uint32_t i = 0; result == 0 && i < list.count; i++)
		result = make_on(node, &list.infos[i], &wanted, is_dry_run,
				 &made, warnings, ret_error);
	if (result == 0 && !is_dry_run) {
		slingshot_record(&wanted, &made, ret_record);
		result = hwcoll_record(lane, ret_record, warnings, ret_error);
	}
	for (uint32_t i = 0; result < 0 && i < made.count; i++)
		undo_one(node, &list, &made.list[i], &wanted, ret_error);
	return result;
}
