/* SPDX-License-Identifier: BSD-3-Clause */
/* The node: boot, NICs that come and go, the dump, no memory. */
#include "emu/cxi/core/test/fixture.h"
#include "emu/cxi/wire/wire.h"

static void configuration_has_bounds(void **state)
{
	struct softnic_config config;
	struct softnic *softnic = NULL;

	softnic_config_init(&config);
	config.generation = 11;
	assert_int_equal(softnic_create(&config, &softnic), -EINVAL);
	config.generation = 15;
	assert_int_equal(softnic_create(&config, &softnic), -EINVAL);
	config.generation = 13;
	config.nic_count = 0;
	assert_int_equal(softnic_create(&config, &softnic), -EINVAL);
	config.nic_count = SOFTNIC_NIC_MAX + 1;
	assert_int_equal(softnic_create(&config, &softnic), -EINVAL);
	config.nic_count = SOFTNIC_NIC_MAX;
	config.nid = SOFTNIC_NID_MAX + 1;
	assert_int_equal(softnic_create(&config, &softnic), -EINVAL);
	assert_null(softnic);
	config.nid = SOFTNIC_NID_MAX;
	assert_int_equal(softnic_create(&config, &softnic), 0);
	softnic_destroy(softnic);
}

static void fresh_node_has_the_drivers_services(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = must_get(fixture, CXI_DEFAULT_SVC_ID);

	assert_false(desc.enable);
	assert_false(desc.is_system_svc);
	assert_false(desc.restricted_members);
	assert_true(desc.restricted_vnis);
	assert_int_equal(desc.num_vld_vnis, 2);
	assert_int_equal(desc.vnis[0], 1);
	assert_int_equal(desc.vnis[1], 10);
	assert_int_equal(desc.limits.tles.res, 512);
	assert_int_equal(desc.limits.les.max, 16384);
	assert_int_equal(desc.limits.les.res, 0);
	for (unsigned int i = 0; i < CXI_TC_ETH; i++)
		assert_true(desc.tcs[i]);
	desc = must_get(fixture, 2);
	assert_true(desc.is_system_svc);
	assert_true(desc.enable);
	assert_int_equal(desc.num_vld_vnis, 0);
	assert_int_equal(desc.members[0].type, CXI_SVC_MEMBER_UID);
	assert_int_equal(desc.limits.ptes.res, 8);
	assert_int_equal(desc.limits.tles.max, 0);
	assert_true(desc.limits.les.res > 0);
}

static void assert_same_device(const struct cxil_devinfo *a,
			       const struct cxil_devinfo *b)
{
	assert_int_equal(a->dev_id, b->dev_id);
	assert_int_equal(a->nid, b->nid);
	assert_string_equal(a->device_name, b->device_name);
	assert_int_equal(a->num_les, b->num_les);
	assert_int_equal(a->link_speed, b->link_speed);
}

static void devices_have_the_hardwares_totals(void **state)
{
	struct fixture *fixture = *state;
	struct cxil_devinfo infos[SOFTNIC_NIC_MAX];

	assert_int_equal(softnic_device_list(fixture->softnic, infos), 2);
	assert_string_equal(infos[1].device_name, "cxi1");
	assert_int_equal(infos[1].dev_id, 1);
	assert_int_equal(infos[1].nid, infos[0].nid + 1);
	assert_int_equal(infos[0].num_ptes, 2048);
	assert_int_equal(infos[0].num_txqs, 1024);
	assert_int_equal(infos[0].num_tgqs, 512);
	assert_int_equal(infos[0].num_eqs, 2047);
	assert_int_equal(infos[0].num_cts, 2047);
	assert_int_equal(infos[0].num_les, 16384);
	assert_int_equal(infos[0].num_tles, 2048);
	assert_int_equal(infos[0].num_acs, 1022);
	assert_int_equal(infos[0].min_free_shift, 0);
	assert_int_not_equal(infos[0].pct_eq, 0);
	assert_false(infos[0].is_vf);
	softnic_device_info(fixture->root, &infos[1]);
	assert_same_device(&infos[0], &infos[1]);
}

static void removed_nic_gives_eio_and_is_not_listed(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_caller caller = { .uid = USER_UID };
	struct cxil_devinfo infos[SOFTNIC_NIC_MAX];
	struct softnic_client *client = NULL;
	struct cxi_svc_desc desc;
	uint32_t lni;

	assert_int_equal(softnic_nic_remove(fixture->softnic, 0), 0);
	assert_int_equal(softnic_nic_remove(fixture->softnic, 0), -ENODEV);
	assert_int_equal(softnic_nic_remove(fixture->softnic, 2), -ENODEV);
	assert_false(softnic_nic_is_present(fixture->softnic, 0));
	assert_int_equal(softnic_device_list(fixture->softnic, infos), 1);
	assert_int_equal(infos[0].dev_id, 1);
	assert_int_equal(softnic_open(fixture->softnic, &caller, 0, &client),
			 -ENOENT);
	assert_int_equal(softnic_open(fixture->softnic, &caller, 2, &client),
			 -ENOENT);
	assert_int_equal(softnic_service_get(fixture->root, 1, &desc), -EIO);
	assert_int_equal(softnic_service_destroy(fixture->root, 1), -EIO);
	assert_int_equal(softnic_lni_alloc(fixture->root, 1, &lni), -EIO);
	assert_int_equal(softnic_service_list(fixture->root, &desc, 1), -EIO);
}

static void privilege_is_asked_before_the_device(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user = client_of(fixture, USER_UID, 7, 0);

	assert_int_equal(softnic_nic_remove(fixture->softnic, 0), 0);
	assert_int_equal(softnic_service_destroy(user, 1), -EPERM);
	softnic_close(user);
}

static void restored_nic_is_a_fresh_one(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user = client_of(fixture, USER_UID, 7, 0);
	struct softnic_client *again;
	struct cxi_svc_desc desc;
	uint32_t id = must_alloc(fixture, USER_UID, 1024);
	uint32_t lni;

	assert_int_equal(softnic_lni_alloc(user, id, &lni), 0);
	assert_int_equal(softnic_nic_restore(fixture->softnic, 0), -EEXIST);
	assert_int_equal(softnic_nic_restore(fixture->softnic, 9), -ENODEV);
	assert_int_equal(softnic_nic_remove(fixture->softnic, 0), 0);
	assert_int_equal(softnic_nic_restore(fixture->softnic, 0), 0);
	/* Who had the old one open still has the old one. */
	assert_int_equal(softnic_service_get(fixture->root, 1, &desc), -EIO);
	assert_int_equal(softnic_lni_free(user, lni), -EIO);
	again = client_of(fixture, 0, 0, 0);
	assert_int_equal(softnic_service_get(again, 1, &desc), 0);
	assert_int_equal(softnic_service_get(again, id, &desc), -EINVAL);
	softnic_close(again);
	softnic_close(user);
}

static void reboot_forgets_everything(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_fault fault = {
		.op = SOFTNIC_OP_GET_SVC,
		.nic = SOFTNIC_ANY_NIC,
		.error = EIO,
		.nth = 1,
		.count = 1,
	};
	struct softnic_client *again;
	struct cxi_svc_desc desc;
	uint32_t id = must_alloc(fixture, USER_UID, 1024);

	assert_int_equal(softnic_nic_remove(fixture->softnic, 1), 0);
	assert_int_equal(softnic_fault_add(fixture->softnic, &fault), 0);
	assert_int_equal(softnic_reboot(fixture->softnic), 0);
	assert_true(softnic_nic_is_present(fixture->softnic, 1));
	assert_int_equal(softnic_service_get(fixture->root, 1, &desc), -EIO);
	again = client_of(fixture, 0, 0, 0);
	assert_int_equal(softnic_service_get(again, id, &desc), -EINVAL);
	assert_int_equal(softnic_service_get(again, 1, &desc), 0);
	softnic_close(again);
}

static void names_go_there_and_back(void **state)
{
	enum cxi_rsrc_type type;
	enum softnic_op op;

	for (unsigned int i = 0; i < SOFTNIC_OP_COUNT; i++) {
		assert_int_equal(softnic_op_parse(softnic_op_format(i), &op),
				 0);
		assert_int_equal(op, i);
	}
	for (unsigned int i = 0; i < CXI_RSRC_TYPE_MAX; i++) {
		assert_int_equal(
			softnic_type_parse(softnic_type_format(i), &type), 0);
		assert_int_equal(type, i);
	}
	assert_int_equal(softnic_op_parse("alloc", &op), -EINVAL);
	assert_int_equal(softnic_type_parse("TLEs", &type), -EINVAL);
}

static json_t *at(json_t *array, size_t index)
{
	json_t *element = json_array_get(array, index);

	assert_non_null(element);
	return element;
}

static void dump_shows_a_held_service(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user = client_of(fixture, USER_UID, 7, 0);
	uint32_t id = must_alloc(fixture, USER_UID, 1024);
	json_int_t uid, pid, service, vni, pte_res;
	json_t *services, *lnis, *vnis;
	uint32_t lni;
	json_t *dump;
	int present;

	assert_int_equal(softnic_lni_alloc(user, id, &lni), 0);
	assert_int_equal(softnic_nic_remove(fixture->softnic, 1), 0);
	dump = softnic_dump(fixture->softnic);
	assert_non_null(dump);
	assert_int_equal(json_unpack(at(json_object_get(dump, "devices"), 0),
				     "{s:b, s:o, s:o, s:{s:{s:I}}}", "present",
				     &present, "services", &services, "lnis",
				     &lnis, "resources", "PTE", "reserved",
				     &pte_res),
			 0);
	assert_true(present);
	assert_int_equal(pte_res, 8);
	assert_int_equal(json_array_size(services), 3);
	assert_int_equal(json_unpack(at(services, 2), "{s:I, s:o}", "uid", &uid,
				     "vnis", &vnis),
			 0);
	assert_int_equal(uid, USER_UID);
	assert_int_equal(json_unpack(vnis, "[I]", &vni), 0);
	assert_int_equal(vni, 1024);
	assert_int_equal(json_array_size(lnis), 1);
	assert_int_equal(json_unpack(at(lnis, 0), "{s:I, s:I, s:I}", "pid",
				     &pid, "uid", &uid, "service", &service),
			 0);
	assert_int_equal(pid, USER_PID);
	assert_int_equal(uid, USER_UID);
	assert_int_equal(service, id);
	assert_int_equal(json_unpack(at(json_object_get(dump, "devices"), 1),
				     "{s:b}", "present", &present),
			 0);
	assert_false(present);
	json_decref(dump);
	softnic_close(user);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(configuration_has_bounds),
		fixture_test(fresh_node_has_the_drivers_services),
		fixture_test(devices_have_the_hardwares_totals),
		fixture_test(removed_nic_gives_eio_and_is_not_listed),
		fixture_test(privilege_is_asked_before_the_device),
		fixture_test(restored_nic_is_a_fresh_one),
		fixture_test(reboot_forgets_everything),
		cmocka_unit_test(names_go_there_and_back),
		fixture_test(dump_shows_a_held_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
