/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that grows has a maximum and a refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/manager/core/test/fixture.h"

static void attempts_of_one_job(void **state)
{
	struct fixture *f = *state;
	char key[32];

	for (int i = 0; i < CORE_JOB_GRANTS_MAX; i++) {
		snprintf(key, sizeof(key), "slurm/1/%d", i);
		assert_int_equal(reserve(f, key, "n0", "off"), 0);
	}
	assert_int_equal(reserve(f, "slurm/1/9999", "n0", "off"), -ENOSPC);
	assert_contains(last_reply(f)->text, "256");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", "off"), 0);
	/* They are released together, and then there is room. */
	assert_int_equal(release_job(f, "slurm/1"), 0);
	assert_int_equal(json_array_size(json_object_get(last_reply(f)->members,
							 "grants")),
			 CORE_JOB_GRANTS_MAX);
	assert_int_equal(reserve(f, "slurm/1/9999", "n0", "off"), 0);
}

static void grants_on_one_node(void **state)
{
	struct fixture *f = *state;
	char key[32];

	for (int i = 0; i < CORE_NODE_JOBS_MAX; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", i);
		assert_int_equal(reserve(f, key, "n0", "off"), 0);
		fixture_forget(f);
	}
	assert_int_equal(reserve(f, "slurm/x/0", "n[0-1]", "off"), -ENOSPC);
	assert_contains(last_reply(f)->text, ": n0");
	assert_int_equal(reserve(f, "slurm/x/0", "n1", "off"), 0);
	release_id(f, 1);
	assert_int_equal(reserve(f, "slurm/y/0", "n0", "off"), 0);
}

static void who_waits_for_one_grant(void **state)
{
	struct fixture *f = *state;

	nodes_up(f, 1);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	for (int i = 0; i < CORE_WAITERS_MAX; i++)
		assert_int_equal(apply(f, 1), -EINPROGRESS);
	assert_int_equal(apply(f, 1), -ENOBUFS);
	for (int i = 0; i < CORE_WAITERS_MAX; i++)
		assert_int_equal(release_id(f, 1), -EINPROGRESS);
	assert_int_equal(release_id(f, 1), -ENOBUFS);
	assert_int_equal(release_job(f, "slurm/1"), -ENOBUFS);
	answer_all(f, open_fanout(f), 0, "");
	answer_all(f, open_fanout(f), 0, "");
	/* All that waited are answered, each once. */
	assert_int_equal(f->reply_count, 2 * CORE_WAITERS_MAX + 4);
	assert_true(is_gone(f, 1));
}

static void traces_of_failed_requests(void **state)
{
	struct fixture *f = *state;
	char key[32];

	for (int i = 0; i < CORE_TRACES_MAX + 10; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", i);
		assert_int_equal(reserve(f, key, "n0", "refuse"), -EINVAL);
		fixture_forget(f);
	}
	assert_int_equal(rows(f, STORE_TOMBSTONE, 0), CORE_TRACES_MAX);
	assert_int_equal(rows(f, STORE_EVENT, 0), 3 * CORE_TRACES_MAX);
	assert_int_equal(rows(f, STORE_EVENT, 10), 0);
	assert_int_equal(rows(f, STORE_EVENT, 11), 3);
	/* They push out no tombstone. */
	assert_int_equal(f->core->tombstones.count, 0);
}

static void tombstones(void **state)
{
	struct fixture *f = *state;
	char key[32];

	f->core->tombstones.count_max = 4;
	f->core->tombstones.keys_max = 2;
	for (int i = 1; i <= 6; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", i);
		assert_int_equal(reserve(f, key, "n0", ""), 0);
		release_key(f, key);
	}
	assert_int_equal(rows(f, STORE_TOMBSTONE, 0), 4);
	assert_int_equal(edge_hits(f, "limit:tombstones"), 2);
	/* The oldest keys are forgotten, and only they. */
	assert_int_equal(reserve(f, "slurm/3/0", "n0", ""), -ESTALE);
	assert_int_equal(release_id(f, 2), -ENOENT);
	fixture_restart(f);
	assert_int_equal(reserve(f, "slurm/3/0", "n0", ""), -ESTALE);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	assert_int_equal(last_grant(f), 7);
}

static void nodes_that_are_named_or_leave_at_once(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	char *changes;

	f->config.nodes = "m[0-16384]";
	fixture_restart(f);
	core_node_drain(f->core, "m[0-16384]", true, "dust", 1);
	assert_int_equal(reply_to(f, 1)->result, -EINVAL);
	f->config.nodes = "";
	assert_int_equal(fixture_configure(f, &changes, &error), -EINVAL);
	assert_contains(error.text, "16384");
	f->config.nodes = "m0";
	assert_int_equal(fixture_configure(f, &changes, &error), 0);
	free(changes);
}

static void grants_of_fenced_nodes(void **state)
{
	struct fixture *f = *state;
	char key[32];

	for (int i = 0; i <= CORE_FENCED_JOBS_MAX / 8; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", i);
		assert_int_equal(reserve(f, key, "n[0-7]", "off"), 0);
		fixture_forget(f);
	}
	core_node_fence(f->core, &operator_plain, "n[0-7]", 1);
	assert_int_equal(reply_to(f, 1)->result, -EINVAL);
	assert_contains(reply_to(f, 1)->text, "4104 grants");
	core_node_fence(f->core, &operator_forced, "n[0-6]", 2);
	assert_int_equal(reply_to(f, 2)->result, 0);
}

static void one_boot_fits_into_one_commit(void **state)
{
	struct fixture *f = *state;
	struct core_registration registration = { .node = "n0",
						  .version = "1" };
	size_t before;
	char key[32];

	fixture_setting(f, "vni", "1-5000");
	f->config.events_keep = 10000;
	fixture_restart(f);
	nodes_up(f, 1);
	for (int i = 0; i < CORE_NODE_JOBS_MAX; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", i);
		release_id(f, active(f, key, "n0", ""));
		answer_all(f, open_fanout(f), -EBUSY, "in use");
		fixture_forget(f);
	}
	assert_int_equal(f->core->jobs.state_counts[JOB_RELEASED],
			 CORE_NODE_JOBS_MAX);
	/* The worst: all are fenced, are gone, and push old events out. */
	f->core->tombstones.keys_max = 0;
	before = f->row_count;
	f->is_failing = true;
	node_boot(f, "n0");
	node_incarnation(f, "n0", registration.incarnation);
	assert_int_equal(core_register(f->core, &registration, NULL), 0);
	assert_int_equal(f->core->jobs.count, 0);
	assert_true(f->row_count - before < 50000);
	core_destroy(f->core);
	f->core = NULL;
}

static void identifiers_given_back_at_once(void **state)
{
	struct fixture *f = *state;

	core_quarantine_release(f->core, &operator_plain, "fake", "vni",
				"1-1025", 1);
	assert_int_equal(reply_to(f, 1)->result, -EINVAL);
	assert_contains(reply_to(f, 1)->text, "1024 identifiers");
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(attempts_of_one_job),
		T(grants_on_one_node),
		T(who_waits_for_one_grant),
		T(traces_of_failed_requests),
		T(tombstones),
		T(nodes_that_are_named_or_leave_at_once),
		T(grants_of_fenced_nodes),
		T(one_boot_fits_into_one_commit),
		T(identifiers_given_back_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
