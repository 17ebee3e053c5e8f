/* SPDX-License-Identifier: BSD-3-Clause */
/* Releases that leave the nodes time to take the lane back by themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/manager/core/test/fixture.h"

#define GRACE_MS 60000
#define TOKEN    5000

/* An active lane on n0 to n2 whose release waits. */
static uint64_t released(struct fixture *f)
{
	uint64_t id;

	nodes_up(f, 3);
	id = active(f, "slurm/1/0", "n[0-2]", "");
	fixture_forget(f);
	core_release(f->core, &slurm,
		     &(struct core_selector){ .job = "slurm/1" }, GRACE_MS,
		     TOKEN);
	return id;
}

static void who_has_confirmed_is_not_asked(void **state)
{
	struct fixture *f = *state;
	uint64_t id = released(f);
	const char *nodes;

	assert_int_equal(job_state(f, id), JOB_RELEASING);
	assert_int_equal(reply_to(f, TOKEN)->result, 0);
	assert_int_equal(json_unpack(reply_to(f, TOKEN)->members, "{s:[{s:s}]}",
				     "grants", "nodes", &nodes),
			 0);
	assert_string_equal(nodes, "n[0-2]");
	confirm(f, "n0", id, 0, "");
	confirm(f, "n2", id, 0, "");
	fixture_advance(f, GRACE_MS - 1);
	assert_int_equal(f->fanout_count, 0);
	assert_string_equal(vnis(f, "held"), "1024");
	fixture_advance(f, 1);
	assert_string_equal(open_fanout(f)->nodes, "n1");
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
	assert_string_equal(vnis(f, "free"), "1024-1039");
}

static void with_the_last_confirmation_it_is_over(void **state)
{
	struct fixture *f = *state;
	uint64_t id = released(f);

	confirm(f, "n0", id, 0, "");
	confirm(f, "n1", id, 0, "");
	confirm(f, "n2", id, 0, "");
	fixture_advance(f, 0);
	assert_int_equal(f->fanout_count, 0);
	assert_true(is_gone(f, id));
	assert_string_equal(
		events(f, id),
		"request fake-net apply applied release revoked free");
}

static void a_node_that_is_down_is_not_waited_for(void **state)
{
	struct fixture *f = *state;
	uint64_t id = released(f);

	confirm(f, "n0", id, 0, "");
	core_node_lost(f->core, "n1");
	fixture_advance(f, 0);
	assert_int_equal(job_state(f, id), JOB_RELEASING);
	confirm(f, "n2", id, 0, "");
	fixture_advance(f, 0);
	assert_int_equal(job_state(f, id), JOB_RELEASED);
	assert_string_equal(vnis(f, "quarantined"), "1024");
}

static void with_the_last_node_down_it_is_over(void **state)
{
	struct fixture *f = *state;
	uint64_t id = released(f);

	confirm(f, "n0", id, 0, "");
	confirm(f, "n2", id, 0, "");
	core_node_lost(f->core, "n1");
	fixture_advance(f, 0);
	assert_int_equal(job_state(f, id), JOB_RELEASED);
}

static void a_node_that_registers_meanwhile_is_left_alone(void **state)
{
	struct fixture *f = *state;
	uint64_t id = released(f);
	struct core_inventory_grant held = inventory_of(f, id);

	core_node_lost(f->core, "n1");
	node_up_with(f, "n1", &held, 1);
	assert_int_equal(f->fanout_count, 0);
	/* One that was booted has nothing. */
	node_boot(f, "n0");
	node_up(f, "n0");
	assert_int_equal(part_state(f, id, "n0"), PART_REVOKED);
	fixture_advance(f, GRACE_MS);
	assert_string_equal(open_fanout(f)->nodes, "n[1-2]");
}

static void a_release_without_grace_asks_at_once(void **state)
{
	struct fixture *f = *state;
	uint64_t id = released(f);

	/* Another grace does not restart it. */
	fixture_advance(f, GRACE_MS / 2);
	core_release(f->core, &slurm,
		     &(struct core_selector){ .job = "slurm/1" }, GRACE_MS,
		     TOKEN + 1);
	assert_int_equal(reply_to(f, TOKEN + 1)->result, 0);
	assert_int_equal(f->fanout_count, 0);
	assert_int_equal(release_id(f, id), -EINPROGRESS);
	assert_string_equal(open_fanout(f)->nodes, "n[0-2]");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	assert_true(is_gone(f, id));
}

static void a_restart_asks_at_once(void **state)
{
	struct fixture *f = *state;
	uint64_t id = released(f);

	confirm(f, "n0", id, 0, "");
	fixture_restart(f);
	assert_int_equal(part_state(f, id, "n0"), PART_REVOKED);
	assert_int_equal(job_state(f, id), JOB_RELEASED);
	node_up(f, "n1");
	assert_string_equal(open_fanout(f)->nodes, "n1");
}

static void without_a_lane_there_is_nothing_to_wait_for(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n[0-1]", ""), 0);
	core_release(f->core, &slurm,
		     &(struct core_selector){ .job = "slurm/1" }, GRACE_MS,
		     TOKEN);
	assert_int_equal(reply_to(f, TOKEN)->result, 0);
	assert_true(is_gone(f, 1));
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(who_has_confirmed_is_not_asked),
		TEST(with_the_last_confirmation_it_is_over),
		TEST(a_node_that_is_down_is_not_waited_for),
		TEST(with_the_last_node_down_it_is_over),
		TEST(a_node_that_registers_meanwhile_is_left_alone),
		TEST(a_release_without_grace_asks_at_once),
		TEST(a_restart_asks_at_once),
		TEST(without_a_lane_there_is_nothing_to_wait_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
