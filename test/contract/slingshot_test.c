/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `slingshot` against the contract, over the software NIC: two NICs, a
 * default service, an ethernet service. Processes really ask for LNIs, under
 * the owner's uid. Run for each generation of the NIC's driver (12, 13 or 14,
 * the first argument): they differ in who may share a VNI. Options of a lane
 * can follow.
 */
#include "contract/contract.h"
#include "lanes/driver/driver.h"
#include "lanes/driver/test/softnic.h"

static struct softnic softnic;
static struct lni_holder holder;
static const char *generation; /* of the NIC's driver */

static void start(struct contract_fixture *fixture)
{
	softnic_start(&softnic, "--nics", "2", "--generation", generation);
	fixture->owner = softnic_owner();
	memcpy(fixture->settings, softnic.settings, sizeof(softnic.settings));
	fixture->settings[SOFTNIC_SETTINGS] =
		(struct fairlead_setting){ "exclusive_cp", "true", 4 };
	fixture->setting_count = SOFTNIC_SETTINGS + 1;
}

static void stop(struct contract_fixture *fixture)
{
	softnic_stop(&softnic);
}

static void fail_second(struct contract_fixture *fixture)
{
	softnic_control(&softnic, "fault errno=ENOMEM op=alloc_svc nic=1");
}

static void remove_second(struct contract_fixture *fixture)
{
	softnic_control(&softnic, "remove nic=1");
}

static uint32_t dev_id_of(const struct fairlead_object *object)
{
	return strcmp(object->device, "cxi0") == 0 ? 0 : 1;
}

static int use(struct contract_fixture *fixture,
	       const struct fairlead_object *object)
{
	return lni_try(dev_id_of(object), object->id);
}

static pid_t hold(struct contract_fixture *fixture,
		  const struct fairlead_object *object)
{
	assert_int_equal(lni_hold(&holder, dev_id_of(object), object->id), 0);
	return holder.pid;
}

static void let_go(struct contract_fixture *fixture)
{
	lni_release(&holder);
}

int main(int argc, char **argv)
{
	struct contract_fixture fixture = {
		.driver = driver_find("slingshot"),
		.options = "vnis=2,tcs=BEST_EFFORT",
		.options_none = "off",
		.options_bad = "vnis=5",
		.some_variables = "FI_CXI_",
		.device_count = 2,
		.start = start,
		.stop = stop,
		.fail_second = fail_second,
		.remove_second = remove_second,
		.use = use,
		.hold = hold,
		.let_go = let_go,
	};

	if (argc != 2 && argc != 3)
		return 2;
	generation = argv[1];
	if (argc == 3)
		fixture.options = argv[2];
	return contract_run(&fixture);
}
