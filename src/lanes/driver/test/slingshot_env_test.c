/* SPDX-License-Identifier: BSD-3-Clause */
/* slingshot's environment of a job, and the settings of a node. */
#include "lanes/driver/test/bench.h"

static const struct fairlead_node_ops *const ops = &slingshot_node_ops;

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
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);
	struct variables variables = { .vnis = "stale" };
	struct fairlead_record record;

	ops->close(bench->state);
	bench_open(bench, "require_devices", "false");
	softnic_control(&bench->softnic, "remove nic=0");
	assert_int_equal(bench_apply(bench, &lane, &record), 0);
	assert_string_equal(bench->all_warnings,
			    "there is no Slingshot NIC on this node\n");
	assert_int_equal(ops->env(bench->state, &lane, &record,
				  collect_variable, &variables, &bench->error),
			 0);
	assert_null(variables.vnis);
	assert_null(variables.devices);
	assert_null(variables.ids);
	assert_null(variables.tcs);
}

static void the_environment_is_as_documented(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);
	struct fairlead_lane one_nic = bench_lane(3000, 1);
	struct variables variables = { 0 };
	struct fairlead_record record;

	/* Ids differ between NICs. */
	bench_make_foreign(bench, 1, lane.uid, 3000);
	lane.id_count = 2;
	lane.ids[1] = 65535;
	assert_int_equal(bench_apply(bench, &lane, &record), 0);
	assert_int_equal(ops->env(bench->state, &lane, &record,
				  collect_variable, &variables, &bench->error),
			 0);
	assert_string_equal(variables.vnis, "2000,65535");
	assert_string_equal(variables.devices, "cxi0,cxi1");
	assert_string_equal(variables.ids, "3,4");
	assert_string_equal(variables.tcs, "0x0a");
	assert_int_equal(bench_revoke(bench, &one_nic), 0);
}

static void assert_stale(struct bench *bench, const struct variables *variables,
			 const char *part)
{
	assert_int_equal(ops->inherit(bench->state, softnic_owner(),
				      get_variable, (void *)variables,
				      &bench->error),
			 -ENODEV);
	assert_has(bench->error.text, part);
}

static void assert_inherited(struct bench *bench,
			     const struct variables *variables)
{
	if (ops->inherit(bench->state, softnic_owner(), get_variable,
			 (void *)variables, &bench->error) < 0)
		fail_msg("refused: %s", bench->error.text);
}

/* As flux-coral2 leaves it for a job whose reservation is empty. */
static void without_vnis_there_is_nothing_to_inherit(void **state)
{
	struct bench *bench = *state;
	struct variables variables = { .devices = "cxi0,cxi1",
				       .ids = "-1,-1",
				       .tcs = "0xf" };

	assert_inherited(bench, &variables);
	variables.vnis = "2000";
	assert_stale(bench, &variables, "SLINGSHOT_SVC_IDS");
}

static void stale_environments_are_refused(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);
	struct variables good = { 0 };
	struct fairlead_record record;
	struct variables bad;

	assert_int_equal(bench_apply(bench, &lane, &record), 0);
	assert_int_equal(ops->env(bench->state, &lane, &record,
				  collect_variable, &good, &bench->error),
			 0);
#define WITH(member, value, part)                \
	do {                                     \
		bad = good;                      \
		bad.member = value;              \
		assert_stale(bench, &bad, part); \
	} while (0)
	WITH(ids, NULL, "only some of");
	WITH(devices, NULL, "only some of");
	WITH(tcs, NULL, "only some of");
	assert_stale(bench, &(struct variables){ .vnis = "2000" },
		     "only some of");
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
	WITH(tcs, "", "is no set of traffic classes");
	WITH(tcs, "0", "is no set of traffic classes");
	WITH(tcs, "0x", "is no set of traffic classes");
	WITH(tcs, "0xg", "is no set of traffic classes");
	WITH(tcs, "-8", "is no set of traffic classes");
	WITH(tcs, "0x0a ", "is no set of traffic classes");
	WITH(tcs, "0x10", "is no set of traffic classes");
	WITH(tcs, "0x10000000a", "is no set of traffic classes");
	WITH(tcs, "0x0f",
	     "cxi0: inherited service 3 is not for traffic classes 0x05");
	WITH(tcs, "0x1", "service 3 is not for traffic classes 0x01");
#undef WITH
	assert_inherited(bench, &good);
}

/* A job may pass on less than it has; others write the bits their own way. */
static void fewer_traffic_classes_can_be_inherited(void **state)
{
	static const char *const sets[] = { "0x0a", "0xA", "10", "0x08",
					    "0x2",  "8",   "2" };
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);
	struct variables variables = { 0 };
	struct fairlead_record record;

	assert_int_equal(bench_apply(bench, &lane, &record), 0);
	assert_int_equal(ops->env(bench->state, &lane, &record,
				  collect_variable, &variables, &bench->error),
			 0);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		variables.tcs = sets[i];
		assert_inherited(bench, &variables);
	}
}

/* --- settings --- */

static void settings_of_the_node_are_checked(void **state)
{
	const struct fairlead_setting list[] = {
		{ "emulation", "perhaps", 4 },
		{ "device_path", "dev", 5 },
		{ "require_devices", "", 6 },
		{ "vni_pool", "none", 7 },
	};
	struct fairlead_error error = { 0 };
	void *opened = NULL;

	assert_int_equal(ops->open(list, 4, &opened, &error), -EINVAL);
	assert_null(opened);
	assert_has(error.text, "line 4: 'emulation': ");
	assert_has(error.text,
		   "line 5: 'device_path': 'dev' is not an absolute");
	assert_has(error.text, "line 6: 'require_devices': ");
	assert_has(error.text, "line 7: 'vni_pool': ");
}

static void the_software_nic_needs_leave(void **state)
{
	struct bench *bench = *state;
	struct fairlead_setting list[] = { bench->softnic.settings[0] };
	struct fairlead_error error = { 0 };
	void *opened = NULL;

	assert_int_equal(ops->open(list, 1, &opened, &error), -EPERM);
	assert_null(opened);
	assert_has(error.text, "library: ");
}

#define CASE(name, start) \
	cmocka_unit_test_setup_teardown(name, start, bench_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(without_nics_a_lane_can_be_empty, bench_start_one),
		CASE(the_environment_is_as_documented, bench_start_two),
		CASE(without_vnis_there_is_nothing_to_inherit, bench_start_two),
		CASE(stale_environments_are_refused, bench_start_two),
		CASE(fewer_traffic_classes_can_be_inherited, bench_start_two),
		cmocka_unit_test(settings_of_the_node_are_checked),
		CASE(the_software_nic_needs_leave, bench_start_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
