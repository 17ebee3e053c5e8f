/* SPDX-License-Identifier: BSD-3-Clause */
/* Where nodes are reached, and what a driver makes of it for a job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/manager/core/test/fixture.h"

/* Reserve and apply: the answer, which is still to come when nodes are asked. */
static int apply_members(struct fixture *f, const char *key, const char *nodes)
{
	assert_int_equal(reserve(f, key, nodes, "members"), 0);
	return apply(f, last_grant(f));
}

static void every_node_gets_the_places_in_the_order_of_the_host_list(
	void **state)
{
	struct fixture *f = *state;

	f->places[0] = "ten";
	f->places[1] = "eleven";
	f->places[2] = "twelve";
	nodes_up(f, 3);
	assert_int_equal(apply_members(f, "slurm/1/0", "n2,n[0-1]"),
			 -EINPROGRESS);
	assert_string_equal(open_fanout(f)->members,
			    "1: n2=twelve n0=ten n1=eleven");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	/* A revoke needs none. */
	release_id(f, 1);
	assert_null(open_fanout(f)->members);
}

static void driver_may_make_nothing_of_places(void **state)
{
	struct fixture *f = *state;

	f->places[0] = "ten";
	nodes_up(f, 1);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	apply(f, last_grant(f));
	assert_null(open_fanout(f)->members);
	answer_all(f, open_fanout(f), 0, "");
	/* One that does not know of them is not asked. */
	assert_int_equal(
		reserve_as(f, &slurm, "bare", "slurm/2/0", "n0", "lane"), 0);
	assert_int_equal(apply(f, last_grant(f)), -EINPROGRESS);
	assert_null(open_fanout(f)->members);
}

static void node_without_a_place_fails_the_apply_and_no_node_is_asked(
	void **state)
{
	struct fixture *f = *state;

	f->places[0] = "ten";
	nodes_up(f, 2);
	assert_int_equal(apply_members(f, "slurm/1/0", "n[0-1]"), -EINVAL);
	assert_string_equal(last_reply(f)->text, "node 'n1' has no place");
	assert_int_equal(open_fanouts(f), 0);
	assert_true(is_gone(f, 1));
	assert_string_equal(vnis(f, "free"), "1024-1039");
	assert_string_equal(events(f, 1),
			    "request fake-net exception release free");
	assert_int_equal(edge_hits(f, "error:apply:members"), 1);
}

static void changed_place_changes_later_applies_only(void **state)
{
	struct fixture *f = *state;
	struct given_fanout *first;

	f->places[0] = "ten";
	nodes_up(f, 1);
	apply_members(f, "slurm/1/0", "n0");
	f->places[0] = "moved";
	node_up(f, "n0");
	first = open_fanout(f);
	assert_string_equal(first->members, "1: n0=ten");
	answer_all(f, first, 0, "");
	assert_int_equal(job_state(f, 1), JOB_ACTIVE);
	apply_members(f, "slurm/2/0", "n0");
	assert_string_equal(open_fanout(f)->members, "2: n0=moved");
}

static void what_a_node_says_between_registrations_counts(void **state)
{
	struct fixture *f = *state;
	size_t row_count;

	f->places[0] = "ten";
	nodes_up(f, 1);
	f->places[0] = "moved";
	node_observe(f, "n0");
	apply_members(f, "slurm/1/0", "n0");
	assert_string_equal(open_fanout(f)->members, "1: n0=moved");
	/* What it has said before costs no row. */
	row_count = f->row_count;
	node_observe(f, "n0");
	assert_int_equal(f->row_count, row_count);
	/* It may come to have none. */
	f->places[0] = NULL;
	node_observe(f, "n0");
	assert_int_equal(f->row_count, row_count + 1);
	assert_int_equal(apply_members(f, "slurm/2/0", "n0"), -EINVAL);
}

static void place_of_another_driver_does_not_count(void **state)
{
	struct fixture *f = *state;
	const struct core_inventory_place place = {
		.driver = "twin",
		.place = { .size = 1, .bytes = { 't' } },
	};
	struct core_registration registration = {
		.node = "n0",
		.places = &place,
		.place_count = 1,
	};
	struct fairlead_error error;

	node_incarnation(f, "n0", registration.incarnation);
	assert_int_equal(core_register(f->core, &registration, &error), 0);
	assert_int_equal(apply_members(f, "slurm/1/0", "n0"), -EINVAL);
}

static void registration_that_is_refused_changes_no_place(void **state)
{
	struct fixture *f = *state;
	struct core_registration late = { .node = "n0", .challenge = 5 };
	struct fairlead_error error;

	f->places[0] = "ten";
	nodes_up(f, 1);
	node_incarnation(f, "n0", late.incarnation);
	node_boot(f, "n0");
	node_up(f, "n0");
	assert_int_equal(core_register(f->core, &late, &error), -EEXIST);
	apply_members(f, "slurm/1/0", "n0");
	assert_string_equal(open_fanout(f)->members, "1: n0=ten");
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_node_gets_the_places_in_the_order_of_the_host_list),
		TEST(driver_may_make_nothing_of_places),
		TEST(node_without_a_place_fails_the_apply_and_no_node_is_asked),
		TEST(changed_place_changes_later_applies_only),
		TEST(what_a_node_says_between_registrations_counts),
		TEST(place_of_another_driver_does_not_count),
		TEST(registration_that_is_refused_changes_no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
