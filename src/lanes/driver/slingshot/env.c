/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment by which libfabric and MPI find the lane, in three modes:
 *
 *	reservation  the job has a lane: its VNIs, and the services of this
 *	             node in the order of the devices
 *	inherited    it has none, but was given one by an outer job: whatever
 *	             the variables name is checked (slingshot_inherit) and
 *	             passed on as it is
 *	neither      the variables are unset, so that programs do not present a
 *	             service of a job that is gone; so it is when VNIs are not
 *	             among those inherited: flux-coral2 sets the others also for
 *	             a job without VNIs
 *
 * A lane on a node without a NIC is the third mode: VNIs without a device
 * are of no use, and libfabric would search for a service by itself.
 */
#include "lanes/driver/slingshot/node.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lanes/driver/common/options.h"
#include "lanes/driver/common/variables.h"
#include "lanes/driver/common/warnings.h"
#include "lanes/driver/slingshot/hwcoll.h"
#include "lanes/driver/slingshot/slingshot.h"

/* Of programs whose launcher sets none: without one libfabric writes "(null)". */
#define STEP_DEFAULT "0"

/* Numbers of ten digits, or names of 13 bytes, and a comma each. */
#define LIST_TEXT_MAX (SLINGSHOT_DEVICES_MAX * NIC_NAME_MAX)

void slingshot_record(const struct slingshot_lane *lane,
		      const struct slingshot_services *made,
		      struct fairlead_record *ret_record)
{
	char vnis[SLINGSHOT_VNIS_TEXT_MAX];
	char devices[LIST_TEXT_MAX] = "";
	char ids[LIST_TEXT_MAX] = "";
	uint32_t tcs = SLINGSHOT_TCS_ALL;
	char tcs_text[16];

	ret_record->size = 0;
	if (made->count == 0)
		return;
	slingshot_vnis_format(lane->vnis, lane->vni_count, vnis);
	for (uint32_t i = 0; i < made->count; i++) {
		variables_append(devices, sizeof(devices), "cxi%u",
				 made->list[i].device);
		variables_append(ids, sizeof(ids), "%u", made->list[i].id);
		tcs &= made->list[i].tcs;
	}
	snprintf(tcs_text, sizeof(tcs_text), "0x%02x", tcs);
	variables_add(ret_record, "SLINGSHOT_VNIS", vnis);
	variables_add(ret_record, "SLINGSHOT_DEVICES", devices);
	variables_add(ret_record, "SLINGSHOT_SVC_IDS", ids);
	variables_add(ret_record, "SLINGSHOT_TCS", tcs_text);
}

/* The value of the variable that comes next; NULL: it is another one. */
static const char *next_value(const char **at, const char *end,
			      const char *name)
{
	size_t size = strlen(name);
	const char *text = *at;

	if (text == end || strncmp(text, name, size) != 0 || text[size] != '=')
		return NULL;
	*at = text + strlen(text) + 1;
	return text + size + 1;
}

/* With another path libfabric would wait for ever when it makes a tree. */
static bool is_authority(const char *path)
{
	struct stat status;

	return access(path, R_OK) == 0 && stat(path, &status) == 0 &&
	       (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

int hwcoll_record(const struct fairlead_lane *lane,
		  struct fairlead_record *record,
		  struct fairlead_warnings *warnings,
		  struct fairlead_error *ret_error)
{
	static const char *const names[] = { HWCOLL_VARIABLES };
	const char *at = (const char *)lane->secrets;
	const char *end;
	const char *value;

	if (lane->secrets_size == 0 || record->size == 0)
		return 0;
	end = at + lane->secrets_size;
	if (end[-1] != '\0' ||
	    lane->secrets_size > sizeof(record->bytes) - record->size)
		return error_set(ret_error, -EINVAL,
				 "the variables of hardware collectives are "
				 "cut, or too long");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		value = next_value(&at, end, names[i]);
		if (value == NULL)
			return error_set(ret_error, -EINVAL,
					 "hardware collectives lack %s",
					 names[i]);
		variables_add(record, names[i], value);
	}
	variables_add(record, HWCOLL_STEP, STEP_DEFAULT);
	value = next_value(&at, end, HWCOLL_CACERT);
	if (value != NULL && is_authority(value))
		variables_add(record, HWCOLL_CACERT, value);
	else if (value != NULL)
		warnings_add(warnings,
			     "hwcoll_node_ca is not readable on this node, so "
			     "programs do not verify the fabric manager");
	return 0;
}

/* Names of the variables in a record: by what is in it. */
static const char *const *names_of(const struct fairlead_record *record)
{
	static const char *const plain[] = { SLINGSHOT_VARIABLES, NULL };
	static const char *const trees[] = { SLINGSHOT_VARIABLES,
					     HWCOLL_VARIABLES, HWCOLL_STEP,
					     NULL };
	static const char *const all[] = { SLINGSHOT_VARIABLES,
					   HWCOLL_VARIABLES, HWCOLL_STEP,
					   HWCOLL_CACERT, NULL };

	if (record->size > sizeof(record->bytes) || record->size == 0 ||
	    record->bytes[record->size - 1] != '\0' ||
	    variables_get(record, HWCOLL_JOB) == NULL)
		return plain;
	return variables_get(record, HWCOLL_CACERT) == NULL ? trees : all;
}

int slingshot_record_check(const struct fairlead_record *record,
			   struct fairlead_error *ret_error)
{
	return variables_check(record, names_of(record), ret_error);
}

int slingshot_env(void *state, const struct fairlead_lane *lane,
		  const struct fairlead_record *record,
		  void (*emit)(void *arg, const char *name, const char *value),
		  void *arg, struct fairlead_error *ret_error)
{
	bool has_lane = lane != NULL && lane->id_count > 0;
	int result = has_lane ? slingshot_record_check(record, ret_error) : 0;

	for (const char *const *name = slingshot_variables;
	     result == 0 && *name != NULL; name++)
		emit(arg, *name,
		     has_lane ? variables_get(record, *name) : NULL);
	return result;
}

/* What the variables name. */
struct inherited {
	uint32_t vni_count;
	uint32_t vnis[CXI_SVC_MAX_VNIS];
	uint32_t tcs;
	struct slingshot_services services;
};

static int stale(struct fairlead_error *ret_error, const char *name,
		 const char *value, const char *why)
{
	return error_set(ret_error, -ENODEV, "inherited %s='%.100s' %s", name,
			 value, why);
}

static int read_vnis(const char *text, struct inherited *inherited,
		     struct fairlead_error *ret_error)
{
	char item[NIC_NAME_MAX];
	const char *rest = text;

	while (variables_next(&rest, item, sizeof(item))) {
		if (inherited->vni_count == CXI_SVC_MAX_VNIS ||
		    !number_parse(item, 1, UINT16_MAX,
				  &inherited->vnis[inherited->vni_count]))
			return stale(ret_error, "SLINGSHOT_VNIS", text,
				     "is no list of one to four VNIs");
		inherited->vni_count++;
	}
	if (inherited->vni_count == 0)
		return stale(ret_error, "SLINGSHOT_VNIS", text,
			     "is no list of one to four VNIs");
	return 0;
}

int slingshot_services_read(const char *devices, const char *ids,
			    struct slingshot_services *services,
			    struct fairlead_error *ret_error)
{
	const char *devices_rest = devices;
	const char *ids_rest = ids;
	char device[NIC_NAME_MAX];
	char id[NIC_NAME_MAX];

	while (devices_rest) {
		struct slingshot_service *service =
			&services->list[services->count];

		if (services->count == SLINGSHOT_DEVICES_MAX ||
		    !variables_next(&devices_rest, device, sizeof(device)) ||
		    nic_name_parse(device, &service->device) < 0)
			return stale(ret_error, "SLINGSHOT_DEVICES", devices,
				     "is no list of NICs");
		if (!variables_next(&ids_rest, id, sizeof(id)) ||
		    !number_parse(id, 1, UINT32_MAX, &service->id))
			return stale(ret_error, "SLINGSHOT_SVC_IDS", ids,
				     "has no service for each device");
		services->count++;
	}
	if (ids_rest)
		return stale(ret_error, "SLINGSHOT_SVC_IDS", ids,
			     "has more services than there are devices");
	return 0;
}

/* Bits as a decimal number, or after 0x as a hexadecimal one. */
static int read_tcs(const char *text, struct inherited *inherited,
		    struct fairlead_error *ret_error)
{
	bool is_hex = strncmp(text, "0x", 2) == 0;
	const char *digits = is_hex ? text + 2 : text;
	char *end;
	unsigned long tcs = strtoul(digits, &end, is_hex ? 16 : 10);

	/* strtoul would take a sign, a blank or a second prefix. */
	if (!isxdigit((unsigned char)*digits) || digits[1] == 'x' ||
	    digits[1] == 'X' || *end != '\0' || tcs == 0 ||
	    (tcs & ~(unsigned long)SLINGSHOT_TCS_ALL))
		return stale(ret_error, "SLINGSHOT_TCS", text,
			     "is no set of traffic classes");
	inherited->tcs = (uint32_t)tcs;
	return 0;
}

static bool allows(const struct cxi_nic *nic, const struct cxi_svc_desc *desc,
		   uint32_t vni)
{
	uint16_t min;
	uint16_t max;

	if (desc->restricted_vnis) {
		for (int i = 0; i < desc->num_vld_vnis && i < CXI_SVC_MAX_VNIS;
		     i++) {
			if (desc->vnis[i] == vni)
				return true;
		}
		return false;
	}
	return nic->library->svc_get_vni_range &&
	       nic->library->svc_get_vni_range(nic->dev, desc->svc_id, &min,
					       &max) == 0 &&
	       vni >= min && vni <= max;
}

static int check_service(const struct cxi_nic *nic,
			 const struct slingshot_service *service,
			 const struct inherited *inherited, uint32_t uid,
			 struct fairlead_error *ret_error)
{
	const struct cxi_svc_desc *desc = nic_service(nic, service->id);

	if (!desc)
		return error_set(ret_error, -ENODEV,
				 "%s: inherited service %u is not there any "
				 "more",
				 nic->name, service->id);
	if (!slingshot_service_admits(desc, uid))
		return error_set(ret_error, -ENODEV,
				 "%s: inherited service %u is not for uid %u",
				 nic->name, service->id, uid);
	if (!desc->enable)
		return error_set(ret_error, -ENODEV,
				 "%s: inherited service %u is disabled",
				 nic->name, service->id);
	for (uint32_t i = 0; i < inherited->vni_count; i++) {
		if (!allows(nic, desc, inherited->vnis[i]))
			return error_set(ret_error, -ENODEV,
					 "%s: inherited service %u is not for "
					 "VNI %u",
					 nic->name, service->id,
					 inherited->vnis[i]);
	}
	if (inherited->tcs & ~slingshot_service_tcs(desc))
		return error_set(ret_error, -ENODEV,
				 "%s: inherited service %u is not for traffic "
				 "classes 0x%02x",
				 nic->name, service->id,
				 inherited->tcs & ~slingshot_service_tcs(desc));
	return 0;
}

static int check_inherited(const struct slingshot_node *node,
			   const struct inherited *inherited, uint32_t uid,
			   struct fairlead_error *ret_error)
{
	struct nic_list list;
	int result = nic_list_read(node, &list, ret_error);

	for (uint32_t i = 0; result == 0 && i < inherited->services.count;
	     i++) {
		const struct slingshot_service *service =
			&inherited->services.list[i];
		const struct cxil_devinfo *info =
			nic_list_find(&list, service->device);
		_auto_(nic_fini) struct cxi_nic nic = { 0 };

		if (!info)
			return error_set(ret_error, -ENODEV,
					 "inherited NIC cxi%u is not there any "
					 "more",
					 service->device);
		result = nic_init(&nic, node, info, ret_error);
		if (result == 0)
			result = check_service(&nic, service, inherited, uid,
					       ret_error);
	}
	return result;
}

int slingshot_inherit(void *state, uid_t uid,
		      const char *(*get)(void *arg, const char *name),
		      void *arg, struct fairlead_error *ret_error)
{
	const char *vnis = get(arg, "SLINGSHOT_VNIS");
	const char *devices = get(arg, "SLINGSHOT_DEVICES");
	const char *ids = get(arg, "SLINGSHOT_SVC_IDS");
	const char *tcs = get(arg, "SLINGSHOT_TCS");
	struct inherited inherited = { 0 };
	int result;

	if (!vnis)
		return 0;
	if (!devices || !ids || !tcs)
		return error_set(ret_error, -ENODEV,
				 "only some of SLINGSHOT_VNIS, "
				 "SLINGSHOT_DEVICES, SLINGSHOT_SVC_IDS and "
				 "SLINGSHOT_TCS are inherited");
	result = read_vnis(vnis, &inherited, ret_error);
	if (result == 0)
		result = slingshot_services_read(
			devices, ids, &inherited.services, ret_error);
	if (result == 0)
		result = read_tcs(tcs, &inherited, ret_error);
	if (result == 0)
		result = check_inherited(state, &inherited, uid, ret_error);
	return result;
}
