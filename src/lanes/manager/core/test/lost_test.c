/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes that nodes lose while their jobs are active. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/manager/core/test/fixture.h"

static void assert_note(struct fixture *f, uint64_t id, const char *note)
{
	json_auto_t *exception = event(f, id, "exception");

	assert_string_equal(
		json_string_value(json_object_get(exception, "note")), note);
	assert_true(json_integer_value(json_object_get(exception, "severity")) >
		    0);
}

/* What `list` and `node-list` show of the only job and its node n1. */
static void assert_shown(struct fixture *f, const char *nodes,
			 size_t lost_on_n1)
{
	json_auto_t *jobs =
		core_view_list(f->core, &root, &(struct core_filter){ 0 });
	json_auto_t *of_nodes = core_view_nodes(f->core, &root, NULL);
	const json_t *job = json_array_get(json_object_get(jobs, "jobs"), 0);
	const json_t *n1 =
		json_array_get(json_object_get(of_nodes, "nodes"), 1);
	const char *shown = json_string_value(json_object_get(job, "lost"));

	assert_string_equal(shown == NULL ? "" : shown, nodes);
	assert_int_equal(json_array_size(json_object_get(n1, "lost")),
			 lost_on_n1);
}

static unsigned int lost_count(struct fixture *f)
{
	const char *name = "\nfairlead_lanes_lost_total ";
	struct writer out = { 0 };
	unsigned int count;

	core_metrics(f->core, &out);
	write_u8(&out, 0);
	count = (unsigned int)strtoul(
		strstr((const char *)out.data, name) + strlen(name), NULL, 10);
	writer_fini(&out);
	return count;
}

static void a_lane_of_which_the_node_has_no_record_is_lost_once(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	node_up(f, "n1");
	node_up(f, "n1");
	assert_int_equal(part_state(f, id, "n1"), PART_MISSING);
	assert_int_equal(edge_hits(f, "report:applied-grant-missing"), 1);
	assert_note(f, id, "node n1 has lost the lane: it has no record of it");
	assert_int_equal(lost_count(f), 1);
	assert_shown(f, "n1", 1);
	assert_int_equal(job_state(f, id), JOB_ACTIVE);
	fixture_restart(f);
	assert_int_equal(part_state(f, id, "n1"), PART_MISSING);
	/* It still has to confirm. */
	nodes_up(f, 2);
	release_id(f, id);
	assert_string_equal(open_fanout(f)->nodes, "n[0-1]");
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
}

/* Who registers to say that it gave a lane back does not lack it. */
static void a_lane_of_which_a_confirmation_follows_is_not_missing(void **state)
{
	struct fixture *f = *state;
	struct core_registration registration = { .node = "n1",
						  .challenge = UINT64_MAX,
						  .has_pending = true };
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	node_incarnation(f, "n1", registration.incarnation);
	assert_int_equal(core_register(f->core, &registration, NULL), 0);
	assert_int_equal(part_state(f, id, "n1"), PART_APPLIED);
	confirm(f, "n1", id, 0, "");
	assert_int_equal(part_state(f, id, "n1"), PART_REVOKED);
	assert_int_equal(lost_count(f), 0);
}

static void a_lane_without_an_object_is_lost_until_there_is_one(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	struct core_registration seen = { .node = "n1",
					  .grants = &grant,
					  .grant_count = 1 };
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	node_incarnation(f, "n1", seen.incarnation);
	grant = inventory_of(f, id);
	grant.state = CORE_GRANT_LOST;
	assert_int_equal(core_observe(f->core, &seen, NULL), 0);
	assert_int_equal(core_observe(f->core, &seen, NULL), 0);
	assert_int_equal(part_state(f, id, "n1"), PART_MISSING);
	assert_note(f, id,
		    "node n1 has lost the lane: nothing of it is on its "
		    "devices");
	assert_shown(f, "n1", 1);
	grant.state = 2;
	assert_int_equal(core_observe(f->core, &seen, NULL), 0);
	assert_int_equal(part_state(f, id, "n1"), PART_APPLIED);
	assert_shown(f, "", 0);
	/* Also when it registers. */
	grant.state = CORE_GRANT_LOST;
	node_up_with(f, "n1", &grant, 1);
	assert_int_equal(part_state(f, id, "n1"), PART_MISSING);
	assert_int_equal(lost_count(f), 2);
}

static void a_lane_that_is_not_in_an_answer_may_have_been_made_since(
	void **state)
{
	struct fixture *f = *state;
	struct core_registration seen = { .node = "n1" };
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	node_incarnation(f, "n1", seen.incarnation);
	assert_int_equal(core_observe(f->core, &seen, NULL), 0);
	assert_int_equal(part_state(f, id, "n1"), PART_APPLIED);
}

static void a_lane_that_was_taken_from_under_its_job_is_lost(void **state)
{
	struct fixture *f = *state;
	json_t *confirmed;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	confirm(f, "n1", id, 0, "'fairlead clean --all' has taken it");
	assert_int_equal(part_state(f, id, "n1"), PART_LOST);
	assert_note(f, id,
		    "node n1 has lost the lane: 'fairlead clean --all' has "
		    "taken it");
	confirmed = event(f, id, "confirm");
	assert_string_equal(
		json_string_value(json_object_get(confirmed, "how")), "lost");
	json_decref(confirmed);
	assert_int_equal(lost_count(f), 1);
	fixture_restart(f);
	assert_int_equal(part_state(f, id, "n1"), PART_LOST);
	assert_shown(f, "n1", 1);
	/* The node has confirmed, so that the release asks the other one. */
	nodes_up(f, 2);
	release_id(f, id);
	assert_string_equal(open_fanout(f)->nodes, "n0");
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
}

/* It is the same loss: first it was busy, then it went. */
static void a_lane_that_was_missing_first_is_counted_once(void **state)
{
	struct fixture *f = *state;
	struct core_inventory_grant grant;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	grant = inventory_of(f, id);
	grant.state = CORE_GRANT_LOST;
	node_up_with(f, "n1", &grant, 1);
	confirm(f, "n1", id, 0, "'fairlead clean --all' has taken it");
	assert_int_equal(part_state(f, id, "n1"), PART_LOST);
	assert_int_equal(lost_count(f), 1);
}

static void a_lane_that_an_epilog_gave_back_early_is_not_lost(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	confirm(f, "n1", id, 0, "");
	assert_int_equal(part_state(f, id, "n1"), PART_REVOKED);
	assert_shown(f, "", 0);
	assert_int_equal(lost_count(f), 0);
}

static void a_boot_loses_the_lanes_of_active_jobs(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	node_boot(f, "n1");
	node_up(f, "n1");
	assert_int_equal(part_state(f, id, "n1"), PART_LOST);
	assert_shown(f, "n1", 1);
	assert_int_equal(lost_count(f), 1);
	fixture_restart(f);
	assert_int_equal(part_state(f, id, "n1"), PART_LOST);
	nodes_up(f, 2);
	release_id(f, id);
	assert_string_equal(open_fanout(f)->nodes, "n0");
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_lane_of_which_the_node_has_no_record_is_lost_once),
		T(a_lane_of_which_a_confirmation_follows_is_not_missing),
		T(a_lane_without_an_object_is_lost_until_there_is_one),
		T(a_lane_that_is_not_in_an_answer_may_have_been_made_since),
		T(a_lane_that_was_taken_from_under_its_job_is_lost),
		T(a_lane_that_was_missing_first_is_counted_once),
		T(a_lane_that_an_epilog_gave_back_early_is_not_lost),
		T(a_boot_loses_the_lanes_of_active_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
