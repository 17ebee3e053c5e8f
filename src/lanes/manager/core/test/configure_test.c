/* SPDX-License-Identifier: BSD-3-Clause */
/* Configurations: refused whole, taken live, nothing in use forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/manager/core/test/fake_driver.h"
#include "lanes/manager/core/test/fixture.h"

/* What has changed, or the error. */
static int configure(struct fixture *f, char text[2048])
{
	struct fairlead_error error;
	char *changes;
	int result = fixture_configure(f, &changes, &error);

	/* For people: each line has an end, but the last. */
	snprintf(text, 2048, "%s%s", result == 0 ? changes : error.text,
		 result == 0 && changes[0] != 0 ? "\n" : "");
	assert_null(strstr(text, "\n\n"));
	if (result == 0)
		free(changes);
	return result;
}

static void nothing_changes_when_nothing_has(void **state)
{
	struct fixture *f = *state;
	char text[2048];

	nodes_up(f, 2);
	active(f, "slurm/1/0", "n0", "");
	assert_int_equal(configure(f, text), 0);
	assert_string_equal(text, "");
	assert_string_equal(vnis(f, "held"), "1024");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	/* The cursor has stayed. */
	assert_string_equal(vnis(f, "held"), "1024-1025");
}

static void another_content_of_a_file_is_a_change(void **state)
{
	struct fixture *f = *state;
	char text[2048];

	fixture_setting(f, "vni", "1024-1039");
	f->settings[0].content = "n0 elanid=0\n";
	f->settings[0].content_size = 12;
	assert_int_equal(configure(f, text), 0);
	assert_int_equal(configure(f, text), 0);
	assert_string_equal(text, "");
	f->settings[0].content = "n0 elanid=1\n";
	assert_int_equal(configure(f, text), 0);
	assert_string_equal(text,
			    "fake: vni: what is in 1024-1039 has changed\n");
}

static void all_errors_come_at_once(void **state)
{
	struct fixture *f = *state;
	char text[2048];

	f->config.nodes = "n[0-3],n2";
	f->config.apply_timeout_ms = 0;
	f->config.revoke_timeout_ms = 0;
	f->config.interconnect = "elan3";
	f->config.events_keep = CORE_TOMBSTONES_MAX;
	f->drivers[2].driver = &twin_driver;
	fixture_setting(f, "colour", "red");
	assert_int_equal(configure(f, text), -EINVAL);
	assert_contains(text, "nodes: 'n2' stands twice");
	assert_contains(text, "apply_timeout");
	assert_contains(text, "revoke_timeout");
	assert_contains(text, "'elan3'");
	assert_contains(text, "events");
	assert_contains(text, "twice");
	assert_contains(text, "line 1: no setting 'colour'");
	f->config.nodes = "n0,n8c8e25ac98a2,n1,n90e2d49a107a";
	assert_int_equal(configure(f, text), -EINVAL);
	assert_contains(text, "nodes: 'n8c8e25ac98a2' and 'n90e2d49a107a' have "
			      "the same NID");
	f->config.nodes = "n[0-";
	assert_int_equal(configure(f, text), -EINVAL);
	assert_contains(text, "nodes: ");
}

static void a_bad_one_makes_no_core(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	struct core *core = NULL;

	fixture_setting(f, "vni", "70000");
	assert_int_equal(fixture_load(f, &core, &error), -EINVAL);
	assert_contains(error.text, "pool 'vni'");
	assert_null(core);
	fixture_setting(f, "vni", "1-2,x");
	assert_int_equal(fixture_load(f, &core, &error), -EINVAL);
	assert_null(core);
}

static void a_driver_of_another_abi_is_refused(void **state)
{
	struct fixture *f = *state;
	struct fairlead_driver other = fake_driver;
	struct fairlead_error error;
	struct core *core = NULL;

	other.abi++;
	f->drivers[0].driver = &other;
	assert_int_equal(fixture_load(f, &core, &error), -EINVAL);
	assert_contains(error.text, "another version");
	other.abi--;
	other.name = "../x";
	assert_int_equal(fixture_load(f, &core, &error), -EINVAL);
	other.name = "fake";
	other.manager = NULL;
	assert_int_equal(fixture_load(f, &core, &error), -EINVAL);
	assert_contains(error.text, "no manager half");
}

static void a_smaller_universe_drains_what_is_in_use(void **state)
{
	struct fixture *f = *state;
	char text[2048];
	uint64_t id;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "vnis=3");
	fixture_setting(f, "vni", "1025,1100-1101");
	assert_int_equal(configure(f, text), 0);
	assert_contains(text, "fake: vni: (default) -> 1025,1100-1101\n");
	assert_contains(text, "fake: pool vni: draining 1024,1026\n");
	assert_string_equal(vnis(f, "held"), "1024-1026");
	assert_string_equal(vnis(f, "draining"), "1024,1026");
	assert_string_equal(vnis(f, "free"), "1100-1101");
	fixture_restart(f);
	assert_string_equal(vnis(f, "draining"), "1024,1026");
	nodes_up(f, 1);
	release_id(f, id);
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	assert_string_equal(vnis(f, "draining"), "1024,1026");
	confirm(f, "n0", id, 0, "");
	/* It stays away. */
	assert_string_equal(vnis(f, "free"), "1025,1100-1101");
	assert_string_equal(vnis(f, "draining"), "");
	assert_int_equal(edge_hits(f, "id:quarantined->outside"), 2);
}

static void a_larger_universe_keeps_what_is_in_use(void **state)
{
	struct fixture *f = *state;
	char text[2048];

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "vnis=2"), 0);
	fixture_setting(f, "vni", "1020-1041");
	assert_int_equal(configure(f, text), 0);
	assert_string_equal(vnis(f, "free"), "1020-1023,1026-1041");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	assert_string_equal(vnis(f, "held"), "1024-1026");
}

static void nodes_come_go_and_leave(void **state)
{
	struct fixture *f = *state;
	char text[2048];
	uint64_t id;

	nodes_up(f, 10);
	id = active(f, "slurm/1/0", "n[7-8]", "");
	f->config.nodes = "n[0-5],m[0-2]";
	assert_int_equal(configure(f, text), 0);
	assert_contains(text, "nodes added: m[0-2]\n");
	assert_contains(text, "nodes removed: n[6,9]\n");
	assert_contains(text, "nodes leaving: n[7-8]\n");
	assert_null(nodes_find(&f->core->nodes, "n9"));
	assert_int_equal(reserve(f, "slurm/2/0", "n7", ""), -ENOENT);
	fixture_restart(f);
	/* A leaving node still registers and confirms. */
	nodes_up(f, 6);
	node_up(f, "n7");
	node_up(f, "n8");
	assert_int_equal(release_id(f, id), -EINPROGRESS);
	answer_one(f, open_fanout(f), "n8", -EBUSY, "in use");
	confirm(f, "n8", id, 0, "");
	assert_true(is_gone(f, id));
	assert_null(nodes_find(&f->core->nodes, "n7"));
	assert_null(nodes_find(&f->core->nodes, "n8"));
	assert_int_equal(edge_hits(f, "node:gone"), 4);
	assert_int_equal(rows(f, STORE_NODE, 0), 1 + 6);
}

static void a_node_that_comes_back_is_the_same(void **state)
{
	struct fixture *f = *state;
	char text[2048];
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	f->config.nodes = "n0";
	assert_int_equal(configure(f, text), 0);
	f->config.nodes = "n[0-1]";
	assert_int_equal(configure(f, text), 0);
	assert_contains(text, "nodes added: n1\n");
	assert_int_equal(part_state(f, id, "n1"), PART_APPLIED);
	assert_int_equal(nodes_find(&f->core->nodes, "n1")->state, NODE_UP);
	assert_int_equal(edge_hits(f, "node:returned"), 1);
}

static void a_leaving_node_is_fenced_and_gone(void **state)
{
	struct fixture *f = *state;
	uint32_t ids[] = { 1030 };
	struct core_inventory_grant grant = {
		.grant_id = 99, .driver = "fake", .id_count = 1, .ids = ids
	};
	char text[2048];

	nodes_up(f, 1);
	active(f, "slurm/1/0", "n0", "");
	node_up_with(f, "n1", &grant, 1);
	f->config.nodes = "n[2-9]";
	assert_int_equal(configure(f, text), 0);
	assert_contains(text, "nodes leaving: n[0-1]\n");
	core_node_lost(f->core, "n0");
	core_node_lost(f->core, "n1");
	core_node_fence(f->core, &operator_plain, "n[0-1]", 99);
	assert_int_equal(reply_to(f, 99)->result, 0);
	/* What it reported goes with it; its job keeps the other one. */
	assert_string_equal(vnis(f, "withheld"), "");
	assert_null(nodes_find(&f->core->nodes, "n1"));
	assert_int_equal(release_id(f, 1), 0);
	assert_null(nodes_find(&f->core->nodes, "n0"));
}

static void an_index_is_used_again_only_when_its_node_is_gone(void **state)
{
	struct fixture *f = *state;
	char text[2048];
	uint32_t index;

	assert_int_equal(reserve(f, "slurm/1/0", "n[3-4]", ""), 0);
	index = nodes_find(&f->core->nodes, "n3")->index;
	f->config.nodes = "m[0-9]";
	assert_int_equal(configure(f, text), 0);
	assert_int_equal(nodes_find(&f->core->nodes, "n3")->index, index);
	for (int i = 0; i < 10; i++) {
		char name[8];

		snprintf(name, sizeof(name), "m%d", i);
		assert_true(nodes_find(&f->core->nodes, name)->index != index);
	}
	fixture_restart(f);
	assert_int_equal(nodes_find(&f->core->nodes, "n3")->index, index);
	release_id(f, 1);
	assert_null(nodes_find(&f->core->nodes, "n3"));
	f->config.nodes = "m[0-10]";
	assert_int_equal(configure(f, text), 0);
	assert_true(nodes_find(&f->core->nodes, "m10")->index < 10);
}

static void an_interconnect_with_grants_stays_on(void **state)
{
	static const struct fairlead_setting unknown = { "colour", "red", 1 };
	struct fixture *f = *state;
	struct fairlead_error error;
	char text[2048];
	struct core *core = NULL;

	assert_int_equal(reserve_as(f, &root, "twin", "slurm/1/0", "n0", ""),
			 0);
	f->config.driver_count = 1;
	assert_int_equal(configure(f, text), -EINVAL);
	assert_contains(text, "driver 'twin' has 1 grants");
	/* Nor does a core start without it. */
	assert_int_equal(fixture_load(f, &core, &error), -EINVAL);
	assert_contains(error.text, "job row 1: interconnect 'twin'");
	/* One whose settings are wrong is not one that goes. */
	f->config.driver_count = 2;
	f->drivers[1].settings = &unknown;
	f->drivers[1].setting_count = 1;
	assert_int_equal(configure(f, text), -EINVAL);
	assert_contains(text, "no setting 'colour'");
	assert_null(strstr(text, "grants"));
	f->drivers[1].setting_count = 0;
	f->config.driver_count = 1;
	release_id(f, 1);
	assert_int_equal(configure(f, text), 0);
	assert_contains(text, "twin: turned off\n");
	assert_contains(text, "bare: turned off\n");
	f->config.driver_count = 2;
	assert_int_equal(configure(f, text), 0);
	assert_contains(text, "twin: turned on\n");
}

static void a_pool_in_use_keeps_its_place(void **state)
{
	struct fixture *f = *state;
	char text[2048];

	assert_int_equal(reserve(f, "slurm/1/0", "n0", "vnis=1,ctxs=1"), 0);
	fixture_setting(f, "twin", "no");
	assert_int_equal(configure(f, text), -EINVAL);
	assert_contains(text, "pool 'ctx' is in use");
	release_id(f, 1);
	assert_int_equal(configure(f, text), 0);
	fixture_setting(f, "twin", "yes");
	assert_int_equal(configure(f, text), 0);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", "vnis=1,ctxs=1"), 0);
}

static void reports_apply_to_pools_that_come_later(void **state)
{
	struct fixture *f = *state;
	uint32_t ids[] = { 5 };
	struct core_inventory_grant grant = {
		.grant_id = 99, .driver = "fake", .id_count = 1, .ids = ids
	};
	char text[2048];

	fixture_setting(f, "twin", "no");
	assert_int_equal(configure(f, text), 0);
	node_up_with(f, "n0", &grant, 1);
	fixture_setting(f, "twin", "yes");
	assert_int_equal(configure(f, text), 0);
	assert_int_equal(reserve(f, "slurm/1/0", "n1", "ctxs=8"), -EAGAIN);
	assert_contains(last_reply(f)->text, "(7 available)");
}

static void timeouts_are_used_at_once(void **state)
{
	struct fixture *f = *state;
	char text[2048];

	nodes_up(f, 1);
	f->config.apply_timeout_ms = 77;
	f->config.interconnect = "bare";
	f->config.events_keep = 5;
	assert_int_equal(configure(f, text), 0);
	assert_contains(text, "interconnect: fake -> bare\n");
	assert_contains(text, "apply_timeout: 30000 ms -> 77 ms\n");
	assert_contains(text, "events_keep: 100 -> 5\n");
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	apply(f, 1);
	assert_int_equal(open_fanout(f)->timeout_ms, 77);
	answer_all(f, open_fanout(f), 0, "");
}

static void no_nodes_at_all_are_allowed(void **state)
{
	struct fixture *f = *state;
	char text[2048];

	f->config.nodes = "";
	assert_int_equal(configure(f, text), 0);
	assert_contains(text, "nodes removed: n[0-9]\n");
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), -ENOENT);
	fixture_restart(f);
	assert_int_equal(f->core->nodes.count, 0);
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
/* The last configuration does not fit the core. */
#define B(name)                                              \
	cmocka_unit_test_setup_teardown(name, fixture_setup, \
					teardown_unverified)

static int teardown_unverified(void **state)
{
	fixture_destroy(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_changes_when_nothing_has),
		T(another_content_of_a_file_is_a_change),
		B(all_errors_come_at_once),
		B(a_bad_one_makes_no_core),
		B(a_driver_of_another_abi_is_refused),
		T(a_smaller_universe_drains_what_is_in_use),
		T(a_larger_universe_keeps_what_is_in_use),
		T(nodes_come_go_and_leave),
		T(a_node_that_comes_back_is_the_same),
		T(a_leaving_node_is_fenced_and_gone),
		T(an_index_is_used_again_only_when_its_node_is_gone),
		T(an_interconnect_with_grants_stays_on),
		T(a_pool_in_use_keeps_its_place),
		T(reports_apply_to_pools_that_come_later),
		T(timeouts_are_used_at_once),
		T(no_nodes_at_all_are_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
