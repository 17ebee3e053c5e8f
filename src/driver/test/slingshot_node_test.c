/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is slingshot's own on a node, over the software NIC: scarce resources,
 * refusals of the NIC, what an undo leaves, messages. What every driver does
 * is in test/contract.
 */
#include "driver/slingshot/slingshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "driver/slingshot/libcxi_abi.h"
#include "driver/slingshot/record.h"
#include "driver/test/softnic.h"

#define SERVICES_MAX 64

static const struct fairlead_node_ops *const ops = &slingshot_node_ops;

struct node {
	struct fairlead_warnings warnings; /* first: what drivers are given */
	struct softnic softnic;
	void *state;
	void *library; /* as another program on the node would have it */
	struct fairlead_error error;
	uint32_t warning_count;
	char all_warnings[8192]; /* one a line */
	uint32_t object_count;
	struct fairlead_object objects[SERVICES_MAX];
	uint32_t device_count;
	struct fairlead_device devices[8];
};

static void add_warning(struct fairlead_warnings *warnings, const char *text)
{
	struct node *node = (struct node *)warnings;
	size_t used = strlen(node->all_warnings);

	node->warning_count++;
	snprintf(node->all_warnings + used, sizeof(node->all_warnings) - used,
		 "%s\n", text);
}

static void forget(struct node *node)
{
	node->warning_count = 0;
	node->all_warnings[0] = '\0';
	node->error = (struct fairlead_error){ 0 };
}

static void open_with(struct node *node, const char *name, const char *value)
{
	struct fairlead_setting list[SOFTNIC_SETTINGS + 1];
	size_t count = SOFTNIC_SETTINGS;

	memcpy(list, node->softnic.settings, sizeof(node->softnic.settings));
	if (name)
		list[count++] = (struct fairlead_setting){ name, value, 9 };
	if (ops->open(list, count, &node->state, &node->error) < 0)
		fail_msg("open failed: %s", node->error.text);
}

/* A node with these options of the software NIC. */
#define START(state, ...)                                           \
	do {                                                        \
		struct node *node = calloc(1, sizeof(*node));       \
                                                                    \
		assert_non_null(node);                              \
		softnic_start(&node->softnic, __VA_ARGS__);         \
		node->warnings.add = add_warning;                   \
		node->library = dlopen(getenv("LIBCXI"), RTLD_NOW); \
		assert_non_null(node->library);                     \
		open_with(node, NULL, NULL);                        \
		*(state) = node;                                    \
		return 0;                                           \
	} while (0)

static int start_two(void **state)
{
	START(state, "--nics", "2");
}

static int start_one(void **state)
{
	START(state, "--nics", "1");
}

static int start_small(void **state)
{
	START(state, "--nics", "1", "--total", "TXQ=100", "--total", "TLE=540");
}

static int stop(void **state)
{
	struct node *node = *state;

	ops->close(node->state);
	dlclose(node->library);
	softnic_stop(&node->softnic);
	free(node);
	return 0;
}

static void collect(void *arg, const struct fairlead_object *object)
{
	struct node *node = arg;

	assert_true(node->object_count < SERVICES_MAX);
	node->objects[node->object_count++] = *object;
}

/* The services that are for jobs. */
static uint32_t count_services(struct node *node)
{
	uint32_t count = 0;

	node->object_count = 0;
	assert_int_equal(ops->list(node->state, collect, node, &node->error),
			 0);
	for (uint32_t i = 0; i < node->object_count; i++)
		count += !(node->objects[i].flags &
			   (FAIRLEAD_OBJECT_DEFAULT | FAIRLEAD_OBJECT_SYSTEM));
	return count;
}

static void collect_device(void *arg, const struct fairlead_device *device)
{
	struct node *node = arg;

	node->devices[node->device_count++] = *device;
}

static struct fairlead_lane lane_of(uint32_t vni, uint32_t cores)
{
	return (struct fairlead_lane){
		.grant_id = vni,
		.uid = softnic_owner(),
		.gid = softnic_owner(),
		.cores = cores,
		.tasks = cores,
		.id_count = 1,
		.ids = { vni },
		.options = "vnis=1,tcs=LOW_LATENCY:BEST_EFFORT",
	};
}

static int apply(struct node *node, const struct fairlead_lane *lane,
		 struct fairlead_record *record)
{
	forget(node);
	return ops->apply(node->state, lane, false, record, &node->warnings,
			  &node->error);
}

static int revoke(struct node *node, const struct fairlead_lane *lane)
{
	struct fairlead_record record = { 0 };

	forget(node);
	return ops->revoke(node->state, lane, &record, false, &node->warnings,
			   &node->error);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

static void apply_well(struct node *node, const struct fairlead_lane *lane)
{
	struct fairlead_record record;

	if (apply(node, lane, &record) < 0)
		fail_msg("apply failed: %s", node->error.text);
}

/* --- scarce resources --- */

static void the_fourth_job_goes_without_tles(void **state)
{
	struct node *node = *state;

	for (uint32_t i = 0; i < 3; i++) {
		struct fairlead_lane lane = lane_of(2000 + i, 8);

		apply_well(node, &lane);
		assert_int_equal(node->warning_count, 0);
	}
	for (uint32_t i = 3; i < 6; i++) {
		struct fairlead_lane lane = lane_of(2000 + i, 8);

		apply_well(node, &lane);
		assert_string_equal(node->all_warnings,
				    "cxi0: wanted 8 TLEs, reserved 0 (all 4 "
				    "pools are taken)\n");
	}
	assert_int_equal(count_services(node), 6);
	assert_has(node->objects[node->object_count - 1].detail, "TLEs=0/0");
}

static void jobs_beyond_the_le_pools_share_les(void **state)
{
	struct node *node = *state;
	uint32_t vni = 2000;

	/* The ethernet service has one of the 15 pools. */
	for (; vni < 2014; vni++) {
		struct fairlead_lane lane = lane_of(vni, 1);

		strcat(lane.options, ",per_core_tles=0");
		apply_well(node, &lane);
		assert_int_equal(node->warning_count, 0);
	}
	for (; vni < 2017; vni++) {
		struct fairlead_lane lane = lane_of(vni, 1);

		strcat(lane.options, ",per_core_tles=0");
		apply_well(node, &lane);
		assert_string_equal(node->all_warnings,
				    "cxi0: wanted 16 LEs, reserved 0 (all 15 "
				    "pools are taken)\n");
	}
	assert_int_equal(count_services(node), 17);
	assert_has(node->objects[node->object_count - 1].detail, "LEs=0/16384");
}

static void what_is_not_free_is_scaled_back(void **state)
{
	struct node *node = *state;
	struct fairlead_lane first = lane_of(2000, 20);
	struct fairlead_lane second = lane_of(2001, 40);

	apply_well(node, &first);
	assert_int_equal(node->warning_count, 0);
	apply_well(node, &second);
	/* One TXQ is the ethernet service's, 512 TLEs the default one's. */
	assert_int_equal(node->warning_count, 2);
	assert_has(node->all_warnings,
		   "cxi0: wanted 80 TXQs, reserved 59 (59 of 100 are free)\n");
	assert_has(node->all_warnings,
		   "cxi0: wanted 40 TLEs, reserved 8 (8 of 540 are free)\n");
	assert_int_equal(count_services(node), 2);
}

static void the_limits_of_the_lane_reach_the_nic(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 10);

	strcpy(lane.options, "vnis=1,tcs=DEDICATED_ACCESS,max_txqs=33,"
			     "per_core_ptes=1");
	apply_well(node, &lane);
	assert_int_equal(count_services(node), 1);
	assert_string_equal(node->objects[node->object_count - 1].detail,
			    "tcs=0x01 PTEs=10/2048 TXQs=20/33 TGQs=10/512 "
			    "EQs=20/2047 CTs=10/2047 LEs=160/16384 TLEs=10/10 "
			    "ACs=20/1022");
}

static void probe_counts_the_pools(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 10);
	const struct fairlead_device *device = &node->devices[0];

	apply_well(node, &lane);
	assert_int_equal(
		ops->probe(node->state, collect_device, node, &node->error), 0);
	assert_int_equal(node->device_count, 1);
	assert_string_equal(device->name, "cxi0");
	assert_has(device->detail, "emulated");
	assert_int_equal(device->resource_count, 11);
	assert_string_equal(device->resources[1].name, "TXQs");
	assert_int_equal(device->resources[1].total, 1024);
	assert_int_equal(device->resources[1].reserved, 21);
	assert_string_equal(device->resources[8].name, "TLE pools");
	assert_int_equal(device->resources[8].total, 4);
	assert_int_equal(device->resources[8].reserved, 2);
	assert_string_equal(device->resources[9].name, "LE pools");
	assert_int_equal(device->resources[9].reserved, 2);
	assert_string_equal(device->resources[10].name, "VNI entries");
	assert_int_equal(device->resources[10].total, 256);
}

/* --- refusals of the NIC --- */

static void a_lost_race_is_run_again(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);

	softnic_control(&node->softnic,
			"fault errno=ENOSPC op=alloc_svc nic=0 count=3");
	apply_well(node, &lane);
	assert_int_equal(count_services(node), 1);
}

static void races_are_not_run_for_ever(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);
	struct fairlead_record record;

	softnic_control(&node->softnic,
			"fault errno=ENOSPC op=alloc_svc nic=0 count=100");
	assert_int_equal(apply(node, &lane, &record), -ENOSPC);
	assert_has(
		node->error.text,
		"cxi0: no room for a service; free seem 2040 of 2048 PTEs, ");
	assert_has(node->error.text, "3 of 4 TLE pools, 14 of 15 LE pools");
	assert_int_equal(count_services(node), 0);
}

static void a_nic_that_does_not_answer_is_an_error(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);
	struct fairlead_record record;

	softnic_control(&node->softnic,
			"fault errno=EIO op=get_svc_list nic=1");
	assert_int_equal(apply(node, &lane, &record), -EIO);
	assert_has(node->error.text, "cxi1: cannot list its services");
	assert_int_equal(count_services(node), 0);
	softnic_control(&node->softnic, "fault errno=EIO op=open_device nic=1");
	assert_int_equal(apply(node, &lane, &record), -EIO);
	assert_has(node->error.text, "cxi1: cannot open it");
	assert_int_equal(count_services(node), 0);
	softnic_control(&node->softnic, "fault errno=EIO op=get_device_list");
	assert_int_equal(apply(node, &lane, &record), -EIO);
	assert_has(node->error.text, "cannot list Slingshot NICs");
}

/* A list that fails is not an empty list. */
static void revoke_does_not_believe_a_silent_nic(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);

	apply_well(node, &lane);
	softnic_control(&node->softnic,
			"fault errno=EIO op=get_svc_list nic=0");
	assert_int_equal(revoke(node, &lane), -EIO);
	assert_has(node->error.text, "cxi0: cannot list its services");
	assert_int_equal(count_services(node), 1);
	softnic_control(&node->softnic, "fault errno=EIO op=open_device nic=0");
	assert_int_equal(revoke(node, &lane), -EIO);
	softnic_control(&node->softnic, "fault errno=EIO op=get_device_list");
	assert_int_equal(revoke(node, &lane), -EIO);
	softnic_control(&node->softnic, "fault errno=EINVAL op=destroy_svc");
	assert_int_equal(revoke(node, &lane), -EINVAL);
	assert_has(node->error.text, "cxi0: cannot destroy service ");
	softnic_control(&node->softnic, "fault errno=EPERM op=destroy_svc");
	assert_int_equal(revoke(node, &lane), -EPERM);
	assert_int_equal(count_services(node), 1);
	assert_int_equal(revoke(node, &lane), 0);
	assert_int_equal(count_services(node), 0);
}

static void busy_comes_before_other_errors(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);

	apply_well(node, &lane);
	softnic_control(&node->softnic, "fault errno=EIO op=destroy_svc nic=0");
	softnic_control(&node->softnic,
			"fault errno=EBUSY op=destroy_svc nic=1");
	assert_int_equal(revoke(node, &lane), -EBUSY);
	assert_has(node->error.text, "cxi0: cannot destroy service ");
	assert_has(node->error.text, "; cxi1: service ");
	assert_int_equal(revoke(node, &lane), 0);
}

static void a_busy_service_without_a_process_is_explained(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);

	apply_well(node, &lane);
	assert_int_equal(count_services(node), 1);
	softnic_control(&node->softnic, "busy svc=%u nic=0 ms=forever",
			node->objects[node->object_count - 1].id);
	assert_int_equal(revoke(node, &lane), -EBUSY);
	assert_has(node->error.text, "(VNI 2000) is busy, though no process");
	softnic_control(&node->softnic, "busy svc=%u nic=0 ms=release",
			node->objects[node->object_count - 1].id);
	assert_int_equal(revoke(node, &lane), 0);
}

static void an_undo_that_fails_is_said_and_found_again(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);
	struct fairlead_record record = { .size = 77 };

	softnic_control(&node->softnic,
			"fault errno=ENOMEM op=alloc_svc nic=1");
	softnic_control(&node->softnic,
			"fault errno=EBUSY op=destroy_svc nic=0");
	assert_int_equal(apply(node, &lane, &record), -ENOMEM);
	assert_has(node->error.text, "cxi1: cannot make a service");
	assert_has(node->error.text, "cannot be taken back yet: cxi0: service");
	assert_int_equal(record.size, 77);
	assert_int_equal(count_services(node), 1);
	assert_int_equal(revoke(node, &lane), 0);
	assert_int_equal(count_services(node), 0);
}

/* --- what others have made --- */

static uint32_t make_foreign(struct node *node, uint32_t dev_id, uint32_t uid,
			     uint16_t vni)
{
	__typeof__(&cxil_open_device) open_device =
		dlsym(node->library, "cxil_open_device");
	__typeof__(&cxil_alloc_svc) alloc_svc =
		dlsym(node->library, "cxil_alloc_svc");
	__typeof__(&cxil_close_device) close_device =
		dlsym(node->library, "cxil_close_device");
	const struct cxi_svc_desc desc = {
		.restricted_members = 1,
		.restricted_vnis = 1,
		.resource_limits = 1,
		.num_vld_vnis = 1,
		.vnis = { vni },
		.members = { { .type = CXI_SVC_MEMBER_UID,
			       .svc_member.uid = uid } },
	};
	struct cxil_dev *dev;
	int id;

	assert_int_equal(open_device(dev_id, &dev), 0);
	id = alloc_svc(dev, &desc, NULL);
	assert_true(id > 0);
	close_device(dev);
	return (uint32_t)id;
}

static void every_service_of_the_lane_is_destroyed(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);

	apply_well(node, &lane);
	make_foreign(node, 0, lane.uid, 2000);
	make_foreign(node, 1, lane.uid, 2000);
	make_foreign(node, 1, lane.uid, 2000);
	assert_int_equal(count_services(node), 5);
	assert_int_equal(revoke(node, &lane), 0);
	assert_int_equal(count_services(node), 0);
}

static void a_vni_that_another_has_is_refused_and_left(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);
	struct fairlead_record record;
	char text[128];
	uint32_t id = make_foreign(node, 1, lane.uid + 1, 2000);

	assert_int_equal(apply(node, &lane, &record), -EEXIST);
	snprintf(text, sizeof(text),
		 "cxi1: VNI 2000 is in use by service %u, which is not ours",
		 id);
	assert_string_equal(node->error.text, text);
	assert_int_equal(count_services(node), 1);
	assert_int_equal(revoke(node, &lane), 0);
	snprintf(text, sizeof(text),
		 "cxi1: service %u has VNI 2000 too but is not this lane's, "
		 "left alone\n",
		 id);
	assert_string_equal(node->all_warnings, text);
	assert_int_equal(count_services(node), 1);
}

/* --- lanes that are not well formed --- */

static void malformed_lanes_are_refused(void **state)
{
	static const struct {
		uint32_t id_count;
		uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
		uint32_t cores;
		const char *options;
		const char *part;
	} cases[] = {
		{ 1, { 0 }, 1, "", "VNI 0" },
		{ 1, { 1 }, 1, "", "VNI 1," },
		{ 2, { 2000, 10 }, 1, "", "VNI 10" },
		{ 1, { 65536 }, 1, "", "VNI 65536" },
		{ 2, { 2000, 2000 }, 1, "", "VNI 2000 twice" },
		{ 5, { 2000, 2001, 2002, 2003, 2004 }, 1, "", "5 VNIs" },
		{ 1, { 2000 }, 0, "", "no cores" },
		{ 1, { 2000 }, 1, "tcs=ETH", "options of the lane: " },
	};
	struct node *node = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fairlead_lane lane = lane_of(2000, cases[i].cores);
		struct fairlead_record record;

		lane.id_count = cases[i].id_count;
		memcpy(lane.ids, cases[i].ids, sizeof(lane.ids));
		strcpy(lane.options, cases[i].options);
		assert_int_equal(apply(node, &lane, &record), -EINVAL);
		assert_has(node->error.text, cases[i].part);
	}
	assert_int_equal(count_services(node), 0);
}

static void a_lane_without_vnis_makes_nothing(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);
	struct fairlead_record record;

	lane.id_count = 0;
	assert_int_equal(apply(node, &lane, &record), 0);
	assert_int_equal(count_services(node), 0);
	assert_int_equal(revoke(node, &lane), 0);
}

static void a_node_without_a_nic_has_no_lane(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);
	struct fairlead_record record;

	softnic_control(&node->softnic, "remove nic=0");
	assert_int_equal(apply(node, &lane, &record), -ENODEV);
	assert_has(node->error.text, "no Slingshot NIC on this node");
	assert_int_equal(revoke(node, &lane), 0);
}

/* --- environment --- */

struct variables {
	const char *vnis;
	const char *devices;
	const char *ids;
	const char *tcs;
	char texts[4][256];
};

static void collect_variable(void *arg, const char *name, const char *value)
{
	struct variables *variables = arg;
	const char **members[] = { &variables->vnis, &variables->devices,
				   &variables->ids, &variables->tcs };
	static const char *const names[] = { "SLINGSHOT_VNIS",
					     "SLINGSHOT_DEVICES",
					     "SLINGSHOT_SVC_IDS",
					     "SLINGSHOT_TCS" };

	for (int i = 0; i < 4; i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		*members[i] = value ? variables->texts[i] : NULL;
		if (value)
			strcpy(variables->texts[i], value);
	}
}

static const char *get_variable(void *arg, const char *name)
{
	const struct variables *variables = arg;

	if (strcmp(name, "SLINGSHOT_VNIS") == 0)
		return variables->vnis;
	if (strcmp(name, "SLINGSHOT_DEVICES") == 0)
		return variables->devices;
	if (strcmp(name, "SLINGSHOT_SVC_IDS") == 0)
		return variables->ids;
	return variables->tcs;
}

static void without_nics_a_lane_can_be_empty(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);
	struct variables variables = { .vnis = "stale" };
	struct fairlead_record record;

	ops->close(node->state);
	open_with(node, "require_devices", "false");
	softnic_control(&node->softnic, "remove nic=0");
	assert_int_equal(apply(node, &lane, &record), 0);
	assert_string_equal(node->all_warnings,
			    "there is no Slingshot NIC on this node\n");
	assert_int_equal(ops->env(node->state, &lane, &record, collect_variable,
				  &variables, &node->error),
			 0);
	assert_null(variables.vnis);
	assert_null(variables.devices);
	assert_null(variables.ids);
	assert_null(variables.tcs);
}

static void the_environment_is_as_documented(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);
	struct fairlead_lane one_nic = lane_of(3000, 1);
	struct variables variables = { 0 };
	struct fairlead_record record;

	/* Ids differ between NICs. */
	make_foreign(node, 1, lane.uid, 3000);
	lane.id_count = 2;
	lane.ids[1] = 65535;
	assert_int_equal(apply(node, &lane, &record), 0);
	assert_int_equal(ops->env(node->state, &lane, &record, collect_variable,
				  &variables, &node->error),
			 0);
	assert_string_equal(variables.vnis, "2000,65535");
	assert_string_equal(variables.devices, "cxi0,cxi1");
	assert_string_equal(variables.ids, "3,4");
	assert_string_equal(variables.tcs, "0x0a");
	assert_int_equal(revoke(node, &one_nic), 0);
}

static void assert_stale(struct node *node, const struct variables *variables,
			 const char *part)
{
	forget(node);
	assert_int_equal(ops->inherit(node->state, softnic_owner(),
				      get_variable, (void *)variables,
				      &node->error),
			 -ENODEV);
	assert_has(node->error.text, part);
}

static void stale_environments_are_refused(void **state)
{
	struct node *node = *state;
	struct fairlead_lane lane = lane_of(2000, 4);
	struct variables good = { 0 };
	struct fairlead_record record;
	struct variables bad;

	assert_int_equal(apply(node, &lane, &record), 0);
	assert_int_equal(ops->env(node->state, &lane, &record, collect_variable,
				  &good, &node->error),
			 0);
#define WITH(member, value, part)               \
	do {                                    \
		bad = good;                     \
		bad.member = value;             \
		assert_stale(node, &bad, part); \
	} while (0)
	WITH(vnis, NULL, "only some of");
	WITH(ids, NULL, "only some of");
	WITH(devices, NULL, "only some of");
	WITH(vnis, "", "no list of one to four VNIs");
	WITH(vnis, "2000,2001,2002,2003,2004", "no list of one to four VNIs");
	WITH(vnis, "2000x", "no list of one to four VNIs");
	WITH(vnis, "2001", "is not for VNI 2001");
	WITH(vnis, "2000,2001", "is not for VNI 2001");
	WITH(ids, "-1,-1", "has no service for each device");
	WITH(ids, "3", "has no service for each device");
	WITH(ids, "3,3,3", "more services than");
	WITH(ids, "3,9", "cxi1: inherited service 9 is not there");
	WITH(ids, "3,1", "cxi1: inherited service 1 is disabled");
	WITH(ids, "3,2", "cxi1: inherited service 2 is not for ");
	WITH(devices, "cxi0,eth0", "no list of NICs");
	WITH(devices, "cxi0,cxi7", "NIC cxi7 is not there");
#undef WITH
	assert_int_equal(ops->inherit(node->state, softnic_owner(),
				      get_variable, &good, &node->error),
			 0);
}

/* --- settings --- */

static void settings_of_the_node_are_checked(void **state)
{
	const struct fairlead_setting list[] = {
		{ "emulation", "perhaps", 4 },
		{ "device_path", "dev", 5 },
		{ "require_devices", "", 6 },
		{ "vni_pool", "the manager's business", 7 },
	};
	struct fairlead_error error = { 0 };
	void *opened = NULL;

	assert_int_equal(ops->open(list, 4, &opened, &error), -EINVAL);
	assert_null(opened);
	assert_has(error.text, "line 4: 'emulation': ");
	assert_has(error.text,
		   "line 5: 'device_path': 'dev' is not an absolute");
	assert_has(error.text, "line 6: 'require_devices': ");
	assert_null(strstr(error.text, "line 7"));
}

static void the_software_nic_needs_leave(void **state)
{
	struct node *node = *state;
	struct fairlead_setting list[] = { node->softnic.settings[0] };
	struct fairlead_error error = { 0 };
	void *opened = NULL;

	assert_int_equal(ops->open(list, 1, &opened, &error), -EPERM);
	assert_null(opened);
	assert_has(error.text, "library: ");
}

#define CASE(name, start) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_fourth_job_goes_without_tles, start_one),
		CASE(jobs_beyond_the_le_pools_share_les, start_one),
		CASE(what_is_not_free_is_scaled_back, start_small),
		CASE(the_limits_of_the_lane_reach_the_nic, start_one),
		CASE(probe_counts_the_pools, start_one),
		CASE(a_lost_race_is_run_again, start_one),
		CASE(races_are_not_run_for_ever, start_one),
		CASE(a_nic_that_does_not_answer_is_an_error, start_two),
		CASE(revoke_does_not_believe_a_silent_nic, start_one),
		CASE(busy_comes_before_other_errors, start_two),
		CASE(a_busy_service_without_a_process_is_explained, start_one),
		CASE(an_undo_that_fails_is_said_and_found_again, start_two),
		CASE(every_service_of_the_lane_is_destroyed, start_two),
		CASE(a_vni_that_another_has_is_refused_and_left, start_two),
		CASE(malformed_lanes_are_refused, start_one),
		CASE(a_lane_without_vnis_makes_nothing, start_one),
		CASE(a_node_without_a_nic_has_no_lane, start_one),
		CASE(without_nics_a_lane_can_be_empty, start_one),
		CASE(the_environment_is_as_documented, start_two),
		CASE(stale_environments_are_refused, start_two),
		cmocka_unit_test(settings_of_the_node_are_checked),
		CASE(the_software_nic_needs_leave, start_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
