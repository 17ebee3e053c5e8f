/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a NIC can do in the middle of an operation, which the software NIC
 * does not: be out of pools that no service shows, give a service's id to
 * another before it is undone, disappear. The library is a few functions over
 * arrays.
 */
#include "lanes/driver/common/variables.h"
#include "lanes/driver/slingshot/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/driver/slingshot/slingshot.h"

#define NICS         2
#define SERVICES_MAX 8

static struct {
	struct cxil_dev devs[NICS];
	uint32_t counts[NICS];
	struct cxi_svc_desc services[NICS][SERVICES_MAX];
	bool lacks_tle_pools; /* though no service has one */
	bool lacks_le_pools;
	bool swaps;    /* the second NIC fails, the first one's id is reused */
	bool vanishes; /* the second NIC, when it is opened */
	bool has_vanished;
	unsigned int destroyed;
} nics;

static int get_device_list(struct cxil_device_list **ret_list)
{
	struct cxil_device_list *list =
		calloc(1, sizeof(*list) + NICS * sizeof(list->info[0]));

	list->count = nics.has_vanished ? 1 : NICS;
	/* Out of order, as a directory is read. */
	for (uint32_t i = 0; i < list->count; i++)
		list->info[i] = nics.devs[list->count - 1 - i].info;
	*ret_list = list;
	return 0;
}

static void free_device_list(struct cxil_device_list *list)
{
	free(list);
}

static int open_device(uint32_t dev_id, struct cxil_dev **ret_dev)
{
	if (dev_id == 1 && nics.vanishes) {
		nics.has_vanished = true;
		return -EIO;
	}
	*ret_dev = &nics.devs[dev_id];
	return 0;
}

static void close_device(struct cxil_dev *dev)
{
}

static int get_svc_list(struct cxil_dev *dev, struct cxil_svc_list **ret_list)
{
	uint32_t count = nics.counts[dev->info.dev_id];
	struct cxil_svc_list *list =
		calloc(1, sizeof(*list) + count * sizeof(list->descs[0]));

	list->count = count;
	memcpy(list->descs, nics.services[dev->info.dev_id],
	       count * sizeof(list->descs[0]));
	*ret_list = list;
	return 0;
}

static void free_svc_list(struct cxil_svc_list *list)
{
	free(list);
}

static int alloc_svc(struct cxil_dev *dev, const struct cxi_svc_desc *desc,
		     struct cxi_svc_fail_info *ret_fail_info)
{
	uint32_t nic = dev->info.dev_id;
	uint32_t i = nics.counts[nic];

	ret_fail_info->no_tle_pools =
		nics.lacks_tle_pools && desc->limits.tles.max > 0;
	ret_fail_info->no_le_pools =
		nics.lacks_le_pools && desc->limits.les.res > 0;
	if (ret_fail_info->no_tle_pools || ret_fail_info->no_le_pools)
		return -ENOSPC;
	if (nics.swaps && nic == 1) {
		nics.services[0][0].members[0].svc_member.uid++;
		return -ENOMEM;
	}
	nics.services[nic][i] = *desc;
	nics.services[nic][i].svc_id = i + 2;
	nics.counts[nic]++;
	return (int)i + 2;
}

static int destroy_svc(struct cxil_dev *dev, unsigned int svc_id)
{
	nics.destroyed++;
	nics.counts[dev->info.dev_id] = 0;
	return 0;
}

static struct cxi_library library = {
	.get_device_list = get_device_list,
	.free_device_list = free_device_list,
	.open_device = open_device,
	.close_device = close_device,
	.get_svc_list = get_svc_list,
	.free_svc_list = free_svc_list,
	.alloc_svc = alloc_svc,
	.destroy_svc = destroy_svc,
};

static struct slingshot_node node = { .library = &library };

static char warnings_text[2048];

static void add_warning(struct fairlead_warnings *warnings, const char *text)
{
	size_t used = strlen(warnings_text);

	snprintf(warnings_text + used, sizeof(warnings_text) - used, "%s\n",
		 text);
}

static const struct fairlead_lane lane = {
	.uid = 1000,
	.cores = 8,
	.id_count = 1,
	.ids = { 2000 },
};

static int apply(struct fairlead_record *record, struct fairlead_error *error)
{
	struct fairlead_warnings warnings = { .add = add_warning };

	return slingshot_apply(&node, &lane, false, record, &warnings, error);
}

static int setup(void **state)
{
	memset(&nics, 0, sizeof(nics));
	warnings_text[0] = '\0';
	for (uint32_t i = 0; i < NICS; i++)
		nics.devs[i].info = (struct cxil_devinfo){
			.dev_id = i,
			.num_ptes = 2048,
			.num_txqs = 1024,
			.num_tgqs = 512,
			.num_eqs = 2047,
			.num_cts = 2047,
			.num_les = 16384,
			.num_tles = 2048,
			.num_acs = 1022,
			.pct_eq = 1,
		};
	return 0;
}

static void pools_that_only_the_driver_knows_of_are_done_without(void **state)
{
	struct fairlead_record record;
	struct fairlead_error error = { 0 };

	nics.lacks_tle_pools = true;
	nics.lacks_le_pools = true;
	assert_int_equal(apply(&record, &error), 0);
	for (int i = 0; i < NICS; i++) {
		const struct cxi_rsrc_limits *limits =
			&nics.services[i][0].limits;

		assert_int_equal(nics.counts[i], 1);
		assert_int_equal(limits->tles.max, 0);
		assert_int_equal(limits->les.res, 0);
		assert_int_equal(limits->les.max, 16384);
		assert_int_equal(limits->txqs.res, 16);
	}
	assert_string_equal(warnings_text,
			    "cxi0: wanted 128 LEs, reserved 0 (all 15 pools "
			    "are taken)\n"
			    "cxi0: wanted 8 TLEs, reserved 0 (all 4 pools are "
			    "taken)\n"
			    "cxi1: wanted 128 LEs, reserved 0 (all 15 pools "
			    "are taken)\n"
			    "cxi1: wanted 8 TLEs, reserved 0 (all 4 pools are "
			    "taken)\n");
}

static void undo_spares_who_got_the_id(void **state)
{
	struct fairlead_record record;
	struct fairlead_error error = { 0 };

	nics.swaps = true;
	assert_int_equal(apply(&record, &error), -ENOMEM);
	assert_int_equal(nics.counts[0], 1);
	assert_int_equal(nics.destroyed, 0);
	assert_string_equal(error.text, "cxi1: cannot make a service: Cannot "
					"allocate memory");
}

static void nics_are_taken_in_the_order_of_their_numbers(void **state)
{
	struct fairlead_record record;
	struct fairlead_error error = { 0 };

	assert_int_equal(apply(&record, &error), 0);
	assert_string_equal(variables_get(&record, "SLINGSHOT_DEVICES"),
			    "cxi0,cxi1");
	assert_string_equal(warnings_text, "");
}

static void a_nic_without_retry_handler_is_warned_of(void **state)
{
	struct fairlead_record record;
	struct fairlead_error error = { 0 };

	nics.devs[1].info.pct_eq = 0;
	assert_int_equal(apply(&record, &error), 0);
	assert_string_equal(warnings_text,
			    "cxi1: no retry handler is running for it\n");
}

static void virtual_functions_are_left_out(void **state)
{
	struct fairlead_record record;
	struct fairlead_error error = { 0 };

	nics.devs[0].info.is_vf = true;
	assert_int_equal(apply(&record, &error), 0);
	assert_string_equal(variables_get(&record, "SLINGSHOT_DEVICES"),
			    "cxi1");
}

static void count_object(void *arg, const struct fairlead_object *object)
{
	(*(uint32_t *)arg)++;
}

static void a_nic_that_disappears_is_passed_over(void **state)
{
	struct fairlead_warnings warnings = { .add = add_warning };
	struct fairlead_record record;
	struct fairlead_error error = { 0 };
	uint32_t count = 0;

	assert_int_equal(apply(&record, &error), 0);
	nics.vanishes = true;
	assert_int_equal(slingshot_node_ops.list(&node, count_object, &count,
						 &error),
			 0);
	assert_int_equal(count, 1);
	nics.has_vanished = false;
	assert_int_equal(slingshot_revoke(&node, &lane, &record, false,
					  &warnings, &error),
			 0);
	assert_int_equal(nics.destroyed, 1);
	assert_int_equal(nics.counts[0], 0);
	/* And it is named when it was gone before. */
	assert_int_equal(slingshot_revoke(&node, &lane, &record, false,
					  &warnings, &error),
			 0);
	assert_string_equal(warnings_text,
			    "cxi1 is gone, and service 2 with it\n");
}

static void an_apply_fails_when_a_nic_disappears(void **state)
{
	struct fairlead_record record = { .size = 77 };
	struct fairlead_error error = { 0 };

	nics.vanishes = true;
	assert_int_equal(apply(&record, &error), -EIO);
	assert_int_equal(record.size, 77);
	assert_int_equal(nics.destroyed, 1);
	assert_int_equal(nics.counts[0], 0);
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(pools_that_only_the_driver_knows_of_are_done_without),
		CASE(undo_spares_who_got_the_id),
		CASE(nics_are_taken_in_the_order_of_their_numbers),
		CASE(a_nic_without_retry_handler_is_warned_of),
		CASE(virtual_functions_are_left_out),
		CASE(a_nic_that_disappears_is_passed_over),
		CASE(an_apply_fails_when_a_nic_disappears),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
