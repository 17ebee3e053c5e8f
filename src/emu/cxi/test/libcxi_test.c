/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library against the daemon, as a program that is linked with it sees
 * both: usage: libcxi_test PATH-OF-fairlead-softnic.
 */
#include "emu/cxi/test/node_fixture.h"

#include <dlfcn.h>

static void devices_are_listed(void **state)
{
	struct cxil_device_list *list = NULL;

	assert_int_equal(cxil_get_device_list(&list), 0);
	assert_int_equal(list->count, 2);
	assert_string_equal(list->info[0].device_name, "cxi0");
	assert_string_equal(list->info[1].device_name, "cxi1");
	assert_int_equal(list->info[1].dev_id, 1);
	assert_int_equal(list->info[1].num_tles, 2048);
	assert_int_equal(list->info[1].num_les, 16384);
	cxil_free_device_list(list);
}

static void open_device_has_its_information(void **state)
{
	struct fixture *fixture = *state;
	const struct cxil_devinfo *info = &fixture->dev->info;
	struct cxil_device_list *list = NULL;

	assert_int_equal(cxil_get_device_list(&list), 0);
	assert_string_equal(info->device_name, list->info[0].device_name);
	assert_int_equal(info->nid, list->info[0].nid);
	assert_int_equal(info->num_acs, list->info[0].num_acs);
	assert_int_equal(info->pci_bus, list->info[0].pci_bus);
	assert_int_equal(info->cassini_version, list->info[0].cassini_version);
	free(list);
}

static void unknown_device_does_not_exist(void **state)
{
	struct cxil_dev *dev = NULL;

	assert_int_equal(cxil_open_device(2, &dev), -ENOENT);
	assert_null(dev);
}

static void null_arguments_are_invalid(void **state)
{
	struct fixture *fixture = *state;
	struct cxil_dev *dev = fixture->dev;
	struct cxi_svc_desc desc = my_desc(1024);
	struct cxil_svc_rsrc_list *uses;
	struct cxil_svc_list *list;
	struct cxi_rsrc_use use;
	struct cxil_lni *lni;
	unsigned int netns;
	uint16_t vni;
	bool flag;

	assert_int_equal(cxil_get_device_list(NULL), -EINVAL);
	assert_int_equal(cxil_open_device(0, NULL), -EINVAL);
	assert_int_equal(cxil_alloc_svc(NULL, &desc, NULL), -EINVAL);
	assert_int_equal(cxil_alloc_svc(dev, NULL, NULL), -EINVAL);
	assert_int_equal(cxil_destroy_svc(NULL, 3), -EINVAL);
	assert_int_equal(cxil_destroy_svc(dev, 0), -EINVAL);
	assert_int_equal(cxil_update_svc(NULL, &desc, NULL), -EINVAL);
	assert_int_equal(cxil_update_svc(dev, NULL, NULL), -EINVAL);
	assert_int_equal(cxil_get_svc(NULL, 1, &desc), -EINVAL);
	assert_int_equal(cxil_get_svc(dev, 1, NULL), -EINVAL);
	assert_int_equal(cxil_get_svc_list(NULL, &list), -EINVAL);
	assert_int_equal(cxil_get_svc_list(dev, NULL), -EINVAL);
	assert_int_equal(cxil_get_svc_rsrc_use(NULL, 1, &use), -EINVAL);
	assert_int_equal(cxil_get_svc_rsrc_use(dev, 1, NULL), -EINVAL);
	assert_int_equal(cxil_get_svc_rsrc_list(NULL, &uses), -EINVAL);
	assert_int_equal(cxil_get_svc_rsrc_list(dev, NULL), -EINVAL);
	assert_int_equal(cxil_svc_enable(NULL, 1, true), -EINVAL);
	assert_int_equal(cxil_set_svc_lpr(NULL, 1, 1), -EINVAL);
	assert_int_equal(cxil_get_svc_lpr(NULL, 1), -EINVAL);
	assert_int_equal(cxil_svc_set_exclusive_cp(NULL, 1, true), -EINVAL);
	assert_int_equal(cxil_svc_get_exclusive_cp(NULL, 1, &flag), -EINVAL);
	assert_int_equal(cxil_svc_get_exclusive_cp(dev, 1, NULL), -EINVAL);
	assert_int_equal(cxil_svc_set_vni_range(NULL, 1, 1, 1), -EINVAL);
	assert_int_equal(cxil_svc_get_vni_range(NULL, 1, &vni, &vni), -EINVAL);
	assert_int_equal(cxil_svc_get_vni_range(dev, 1, NULL, &vni), -EINVAL);
	assert_int_equal(cxil_svc_get_vni_range(dev, 1, &vni, NULL), -EINVAL);
	assert_int_equal(cxil_svc_set_netns(NULL, 1, 1), -EINVAL);
	assert_int_equal(cxil_svc_get_netns(NULL, 1, &netns), -EINVAL);
	assert_int_equal(cxil_svc_get_netns(dev, 1, NULL), -EINVAL);
	assert_int_equal(cxil_alloc_lni(NULL, &lni, 1), -EINVAL);
	assert_int_equal(cxil_alloc_lni(dev, NULL, 1), -EINVAL);
	assert_int_equal(cxil_destroy_lni(NULL), -EINVAL);
	cxil_free_svc_list(NULL);
	cxil_free_svc_rsrc_list(NULL);
	cxil_free_device_list(NULL);
	cxil_close_device(NULL);
}

static void service_comes_back_as_it_was_made(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = my_desc(1024);
	struct cxi_svc_desc back;
	struct cxil_svc_list *list = NULL;
	int id;

	desc.restricted_tcs = true;
	desc.tcs[CXI_TC_BEST_EFFORT] = true;
	desc.num_vld_vnis = 2;
	desc.vnis[1] = 65535;
	desc.limits.txqs = (struct cxi_limits){ .max = 1024, .res = 4 };
	id = cxil_alloc_svc(fixture->dev, &desc, NULL);
	assert_int_equal(id, 3);
	assert_int_equal(cxil_get_svc(fixture->dev, 3, &back), 0);
	desc.svc_id = 3;
	desc.enable = true;
	assert_memory_equal(&back, &desc, sizeof(desc));
	assert_int_equal(cxil_get_svc_list(fixture->dev, &list), 0);
	assert_int_equal(list->count, 3);
	assert_memory_equal(&list->descs[2], &desc, sizeof(desc));
	free(list); /* as Slurm does */
	desc.vnis[0] = 2000;
	assert_int_equal(cxil_update_svc(fixture->dev, &desc, NULL), 0);
	assert_int_equal(cxil_get_svc(fixture->dev, 3, &back), 0);
	assert_int_equal(back.vnis[0], 2000);
	assert_int_equal(cxil_destroy_svc(fixture->dev, 3), 0);
	assert_int_equal(cxil_get_svc(fixture->dev, 3, &back), -EINVAL);
}

static void fail_info_says_what_was_available(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_fail_info info = { .no_cntr_pools = true };
	struct cxi_svc_desc desc = my_desc(1024);

	assert_true(cxil_alloc_svc(fixture->dev, &desc, &info) > 0);
	assert_true(info.no_cntr_pools); /* not written on success */
	desc.limits.txqs = (struct cxi_limits){ .max = 1024, .res = 1024 };
	assert_int_equal(cxil_alloc_svc(fixture->dev, &desc, &info), -ENOSPC);
	assert_int_equal(info.rsrc_avail[CXI_RSRC_TYPE_TXQ], 1023);
	assert_false(info.no_cntr_pools);
	assert_int_equal(cxil_alloc_svc(fixture->dev, &desc, NULL), -ENOSPC);
}

static void settings_come_back(void **state)
{
	struct fixture *fixture = *state;
	struct cxil_dev *dev = fixture->dev;
	struct cxi_svc_desc desc = { .resource_limits = true,
				     .restricted_members = true,
				     .members = { {
					     .type = CXI_SVC_MEMBER_NET_NS,
				     } } };
	uint16_t vni_min = 0, vni_max = 0;
	unsigned int netns = 0;
	bool exclusive_cp = false;
	int id = cxil_alloc_svc(dev, &desc, NULL);

	assert_int_equal(id, 3);
	assert_int_equal(cxil_svc_get_netns(dev, 3, &netns), -ENODATA);
	assert_int_equal(cxil_svc_set_netns(dev, 3, 77), 0);
	assert_int_equal(cxil_svc_get_netns(dev, 3, &netns), 0);
	assert_int_equal(netns, 77);
	assert_int_equal(cxil_svc_set_vni_range(dev, 3, 64, 128), -EINVAL);
	assert_int_equal(cxil_svc_set_vni_range(dev, 3, 64, 127), 0);
	assert_int_equal(cxil_svc_get_vni_range(dev, 3, &vni_min, &vni_max), 0);
	assert_int_equal(vni_min, 64);
	assert_int_equal(vni_max, 127);
	assert_int_equal(cxil_svc_set_exclusive_cp(dev, 3, true), 0);
	assert_int_equal(cxil_svc_get_exclusive_cp(dev, 3, &exclusive_cp), 0);
	assert_true(exclusive_cp);
	assert_int_equal(cxil_svc_enable(dev, 3, true), 0);
	assert_int_equal(cxil_svc_set_exclusive_cp(dev, 3, false), -EBUSY);
	assert_int_equal(cxil_get_svc_lpr(dev, 3), 1);
	assert_int_equal(cxil_set_svc_lpr(dev, 3, 4), 0);
	assert_int_equal(cxil_get_svc_lpr(dev, 3), 4);
	assert_int_equal(cxil_set_svc_lpr(dev, 3, 9), -EINVAL);
}

static void use_is_what_ctl_made_it(void **state)
{
	struct fixture *fixture = *state;
	struct cxil_svc_rsrc_list *list = NULL;
	struct cxi_svc_desc desc = my_desc(1024);
	struct cxi_rsrc_use use;

	desc.limits.cts = (struct cxi_limits){ .max = 5, .res = 2 };
	assert_int_equal(cxil_alloc_svc(fixture->dev, &desc, NULL), 3);
	assert_int_equal(daemon_ctl(&fixture->daemon,
				    "use svc=3 nic=0 type=CT count=4"),
			 0);
	assert_int_equal(cxil_get_svc_rsrc_use(fixture->dev, 3, &use), 0);
	assert_int_equal(use.in_use[CXI_RSRC_TYPE_CT], 4);
	assert_int_equal(use.in_use[CXI_RSRC_TYPE_LE],
			 CXI_RSRC_USE_NOT_APPLICABLE);
	assert_int_equal(cxil_get_svc_rsrc_list(fixture->dev, &list), 0);
	assert_int_equal(list->count, 3);
	assert_memory_equal(&list->rsrcs[2], &use, sizeof(use));
	cxil_free_svc_rsrc_list(list);
	assert_int_equal(daemon_ctl(&fixture->daemon,
				    "use svc=3 nic=0 type=CT count=2"),
			 1);
	assert_int_equal(cxil_destroy_svc(fixture->dev, 3), -EBUSY);
}

static void lni_keeps_its_service_busy(void **state)
{
	struct fixture *fixture = *state;
	unsigned int id = must_alloc(fixture, 1024);
	struct cxil_lni *lni = NULL;

	assert_int_equal(cxil_alloc_lni(fixture->dev, &lni, 99), -EINVAL);
	assert_int_equal(cxil_alloc_lni(fixture->dev, &lni, 1), -EKEYREVOKED);
	assert_int_equal(cxil_alloc_lni(fixture->dev, &lni, id), 0);
	assert_int_equal(lni->id, 1);
	assert_int_equal(cxil_destroy_svc(fixture->dev, id), -EBUSY);
	assert_int_equal(cxil_destroy_lni(lni), 0);
	assert_int_equal(cxil_destroy_svc(fixture->dev, id), 0);
}

static void open_device_can_be_seen_in_proc(void **state)
{
	struct fixture *fixture = *state;
	char wanted[128];
	bool found = false;

	snprintf(wanted, sizeof(wanted), "%s/dev/cxi0", fixture->daemon.dir);
	for (int fd = 0; fd < 64; fd++) {
		char path[32];
		char target[128] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof(target) - 1) > 0)
			found |= strcmp(target, wanted) == 0;
	}
	assert_true(found);
}

static void fault_reaches_the_caller(void **state)
{
	struct fixture *fixture = *state;
	struct cxil_device_list *list = NULL;
	struct cxil_svc_list *services = NULL;

	assert_int_equal(daemon_ctl(&fixture->daemon,
				    "fault errno=ENOMEM op=get_svc_list nth=2"),
			 0);
	assert_int_equal(cxil_get_svc_list(fixture->dev, &services), 0);
	cxil_free_svc_list(services);
	services = NULL;
	assert_int_equal(cxil_get_svc_list(fixture->dev, &services), -ENOMEM);
	assert_null(services);
	assert_int_equal(daemon_ctl(&fixture->daemon,
				    "fault errno=EPERM op=get_device_list"),
			 0);
	assert_int_equal(cxil_get_device_list(&list), -EPERM);
	assert_null(list);
	assert_int_equal(daemon_ctl(&fixture->daemon, "fault errno=EPERM"), 1);
}

static void rest_of_the_library_is_not_there(void **state)
{
	static const char *const absent[] = { "cxil_map", "cxil_alloc_cmdq",
					      "cxil_destroy_cp",
					      "cxil_alloc_buf_cmdq" };
	struct fixture *fixture = *state;
	const char *marker = dlsym(RTLD_DEFAULT, CXI_SOFTNIC_MARKER);
	size_t (*page_size)(void);
	bool (*is_copy_on_fork)(void);

	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		int (*function)(const void *object);

		*(void **)&function = dlsym(RTLD_DEFAULT, absent[i]);
		assert_non_null(function);
		assert_int_equal(function(fixture->dev), -ENOSYS);
		assert_int_equal(function(NULL), -EINVAL);
	}
	*(void **)&page_size = dlsym(RTLD_DEFAULT, "cxil_page_size");
	*(void **)&is_copy_on_fork =
		dlsym(RTLD_DEFAULT, "cxil_is_copy_on_fork");
	assert_int_equal(page_size(), sysconf(_SC_PAGESIZE));
	assert_true(is_copy_on_fork());
	assert_string_equal(marker, FAIRLEAD_VERSION);
}

static void no_atomic_operation_is_remapped(void **state)
{
	struct fixture *fixture = *state;
	int (*get_remap)(struct cxil_dev * dev, int *ret_remap);
	int remap = 0;

	*(void **)&get_remap =
		dlsym(RTLD_DEFAULT, "cxil_get_amo_remap_to_pcie_fadd");
	assert_int_equal(get_remap(NULL, &remap), -EINVAL);
	assert_int_equal(get_remap(fixture->dev, NULL), -EINVAL);
	assert_int_equal(get_remap(fixture->dev, &remap), 0);
	assert_int_equal(remap, -1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		node_test(devices_are_listed),
		node_test(open_device_has_its_information),
		node_test(unknown_device_does_not_exist),
		node_test(null_arguments_are_invalid),
		node_test(service_comes_back_as_it_was_made),
		node_test(fail_info_says_what_was_available),
		node_test(settings_come_back),
		node_test(use_is_what_ctl_made_it),
		node_test(lni_keeps_its_service_busy),
		node_test(open_device_can_be_seen_in_proc),
		node_test(fault_reaches_the_caller),
		node_test(rest_of_the_library_is_not_there),
		node_test(no_atomic_operation_is_remapped),
	};

	if (!node_test_init(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
