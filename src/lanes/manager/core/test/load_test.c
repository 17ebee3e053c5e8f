/* SPDX-License-Identifier: BSD-3-Clause */
/* Restarts from the journal, and journals that cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lanes/manager/core/record.h"
#include "lanes/manager/core/test/fixture.h"

static int load(struct fixture *f, struct fairlead_error *error)
{
	core_destroy(f->core);
	f->core = NULL;
	memset(error, 0, sizeof(*error));
	return fixture_start(f, false, error);
}

static void assert_refused(struct fixture *f, const char *text)
{
	struct fairlead_error error;

	assert_int_equal(load(f, &error), -EBADMSG);
	assert_int_equal(error.code, -EBADMSG);
	assert_contains(error.text, text);
	assert_null(f->core);
}

static void every_state_comes_back(void **state)
{
	struct fixture *f = *state;
	uint64_t quarantined, failed, live, bare;

	nodes_up(f, 3);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", "vnis=2"), 0);
	live = active(f, "slurm/2/0", "n[0-1]", "");
	quarantined = active(f, "slurm/3/0", "n2", "");
	release_id(f, quarantined);
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	assert_int_equal(reserve(f, "slurm/4/0", "n2", ""), 0);
	failed = last_grant(f);
	apply(f, failed);
	answer_all(f, open_fanout(f), -EIO, "no");
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	assert_int_equal(reserve(f, "slurm/5/0", "n0", "off"), 0);
	bare = last_grant(f);
	assert_int_equal(apply(f, bare), 0);
	fixture_restart(f);
	assert_int_equal(job_state(f, 1), JOB_RESERVED);
	assert_int_equal(job_state(f, live), JOB_ACTIVE);
	assert_int_equal(job_state(f, quarantined), JOB_RELEASED);
	assert_int_equal(job_state(f, failed), JOB_FAILED);
	assert_int_equal(job_state(f, bare), JOB_ACTIVE);
	assert_string_equal(vnis(f, "held"), "1024-1026");
	assert_string_equal(vnis(f, "quarantined"), "1027-1028");
	/* Nothing was sent: nobody is up. */
	assert_int_equal(open_fanouts(f), 0);
	nodes_up(f, 3);
	assert_int_equal(open_fanouts(f), 2);
	answer_all(f, open_fanout(f), 0, "");
	answer_all(f, open_fanout(f), 0, "");
	assert_string_equal(vnis(f, "quarantined"), "");
}

static void an_apply_that_was_cut_is_undone(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	assert_int_equal(reserve(f, "slurm/1/0", "n[0-1]", ""), 0);
	id = last_grant(f);
	apply(f, id);
	fixture_restart(f);
	assert_int_equal(job_state(f, id), JOB_FAILED);
	assert_string_equal(vnis(f, "quarantined"), "1024");
	assert_string_equal(
		events(f, id),
		"request fake-net apply exception release revoked quarantine");
	assert_int_equal(apply(f, id), -ESTALE);
	nodes_up(f, 2);
	answer_all(f, open_fanout(f), 0, "");
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
}

static void events_of_two_lives_do_not_meet(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	id = active(f, "slurm/1/0", "n0", "");
	for (int i = 0; i < 3; i++) {
		fixture_restart(f);
		node_boot(f, "n0");
		node_up(f, "n0");
	}
	/* The part is gone with the first boot. */
	assert_string_equal(events(f, id),
			    "request fake-net apply applied node-reset");
	release_id(f, id);
	assert_string_equal(
		events(f, id),
		"request fake-net apply applied node-reset release revoked "
		"free");
}

static void a_commit_that_failed_never_was(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 1);
	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	f->is_failing = true;
	assert_int_equal(reserve(f, "slurm/2/0", "n0", "vnis=5"), -EINPROGRESS);
	f->is_failing = false;
	fixture_restart(f);
	assert_string_equal(vnis(f, "held"), "1024");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	id = last_grant(f);
	assert_int_equal(id, 2);
	assert_string_equal(vnis(f, "held"), "1024-1025");
	/* A confirmation that was not acknowledged is repeated. */
	nodes_up(f, 1);
	apply(f, id);
	answer_all(f, open_fanout(f), 0, "");
	release_id(f, id);
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	f->is_failing = true;
	confirm(f, "n0", id, 0, "");
	f->is_failing = false;
	fixture_restart(f);
	assert_string_equal(vnis(f, "quarantined"), "1025");
	nodes_up(f, 1);
	answer_all(f, open_fanout(f), -EBUSY, "in use");
	confirm(f, "n0", id, 0, "");
	assert_true(is_gone(f, id));
}

static void many_that_were_cut_go_on_in_steps(void **state)
{
	struct fixture *f = *state;
	char key[32];

	fixture_setting(f, "vni", "1024-4095");
	fixture_restart(f);
	nodes_up(f, 10);
	for (int i = 0; i < 800; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", i);
		assert_int_equal(reserve(f, key, "n[0-9]", ""), 0);
		apply(f, (uint64_t)i + 1);
	}
	fixture_restart(f);
	assert_int_equal(core_deadline_ms(f->core), 0);
	assert_true(f->core->jobs.state_counts[JOB_FAILED] < 800);
	verify(f);
	/* Meanwhile one that waits is released, and one asked for again. */
	assert_int_equal(job_state(f, 800), JOB_APPLYING);
	assert_int_equal(release_id(f, 800), -EINPROGRESS);
	assert_int_equal(apply(f, 799), -EINPROGRESS);
	while (core_deadline_ms(f->core) == 0)
		core_tick(f->core);
	assert_int_equal(f->core->jobs.state_counts[JOB_FAILED], 800);
	assert_int_equal(reply_to(f, f->last_token)->result, -ECANCELED);
	assert_int_equal(reply_to(f, f->last_token - 1)->result, 0);
}

static void a_release_that_waits_its_turn_is_one(void **state)
{
	struct fixture *f = *state;
	char key[32];

	fixture_setting(f, "vni", "1024-4095");
	fixture_restart(f);
	nodes_up(f, 1);
	for (int i = 0; i < 600; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", i);
		active(f, key, "n0", "");
	}
	for (int i = 0; i < 600; i++)
		release_id(f, (uint64_t)i + 1);
	fixture_restart(f);
	assert_int_equal(job_state(f, 600), JOB_RELEASING);
	assert_int_equal(release_id(f, 600), -EINPROGRESS);
	/* It has registered before its turn came: it is asked then. */
	nodes_up(f, 1);
	while (core_deadline_ms(f->core) == 0)
		core_tick(f->core);
	assert_int_equal(job_state(f, 600), JOB_RELEASING);
	while (open_fanouts(f) > 0)
		answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(reply_to(f, f->last_token)->result, 0);
	assert_int_equal(f->core->jobs.count, 0);
}

/* --- journals that cannot be --- */

static void damage_is_named(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	nodes_up(f, 2);
	id = active(f, "slurm/1/0", "n[0-1]", "");
	confirm(f, "n0", id, 0, "");
	journal_damage(f, STORE_PART, id, NULL);
	assert_refused(f, "part row 1: ");
	journal_damage(f, STORE_JOB, id, NULL);
	assert_refused(f, "job row 1: the record is cut or too long");
	journal_damage(f, STORE_NODE, 0, "n0");
	assert_refused(f, "node row 'n0': ");
	journal_damage(f, STORE_NODE, 0, "#0");
	assert_refused(f, "node row '#0': ");
}

static void a_damaged_tombstone_is_named(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	release_id(f, 1);
	journal_damage(f, STORE_TOMBSTONE, 1, NULL);
	assert_refused(f, "tombstone row 1: ");
}

static void a_gap_in_the_tombstones_is_found(void **state)
{
	struct fixture *f = *state;
	char key[32];

	for (int i = 1; i <= 3; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", i);
		assert_int_equal(reserve(f, key, "n0", ""), 0);
		release_key(f, key);
	}
	journal_remove(f, STORE_TOMBSTONE, 2, NULL);
	assert_refused(f, "its number does not fit");
}

static void a_node_without_a_name_is_found(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	journal_remove(f, STORE_NODE, 0, "#0");
	assert_refused(f, "node 0 has no name");
}

static void news_of_no_part_is_found(void **state)
{
	struct fixture *f = *state;
	struct part part = { .state = PART_REVOKED };
	struct writer writer = { 0 };
	struct store_row row = {
		.table = STORE_PART, .id = 1, .sub = 1, .key = ""
	};

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	record_encode_part(&part, &writer);
	row.body = writer.data;
	row.size = writer.size;
	journal_put(f, &row);
	writer_fini(&writer);
	assert_refused(f, "part row 1: there is no such part");
}

static void a_grant_id_that_was_not_given_is_found(void **state)
{
	struct fixture *f = *state;
	struct store_row row = { .table = STORE_META,
				 .id = 1,
				 .key = "next_grant_id" };

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	journal_put(f, &row);
	assert_refused(f, "job row 1: the next grant id is 1");
	row.id = 0;
	journal_put(f, &row);
	assert_refused(f, "meta row 'next_grant_id': ");
}

/* The row of a job that is a copy of job 1, changed. */
static void twin_put(struct fixture *f, uint64_t id, const char *key,
		     uint32_t vni, uint32_t node)
{
	struct store_row row = { .table = STORE_JOB, .id = id, .key = key };
	struct job *job = jobs_find(&f->core->jobs, 1);
	struct job twin = *job;
	struct part part = job->parts[0];
	struct writer writer = { 0 };

	twin.grant_id = id;
	twin.key = (char *)key;
	twin.ids[0] = vni;
	twin.parts = &part;
	part.node = node;
	record_encode_job(&twin, "fake", &writer);
	row.body = writer.data;
	row.size = writer.size;
	journal_put(f, &row);
	writer_fini(&writer);
}

static void two_holders_are_found(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	twin_put(f, 2, "slurm/2/0", 1024, 0);
	assert_refused(f, "job row 2: identifier 1024 of pool 'vni' has "
			  "another holder");
}

static void two_grants_of_one_key_are_found(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	twin_put(f, 2, "slurm/1/0", 1030, 0);
	assert_refused(f, "another grant has the same key");
}

static void a_key_that_is_live_and_released_is_found(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(reserve(f, "slurm/1/0", "n0", ""), 0);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", ""), 0);
	release_id(f, 2);
	twin_put(f, 1, "slurm/2/0", 1030, 0);
	assert_refused(f, "tombstone row 2: its key is live");
}

static void an_epoch_out_of_range_is_refused(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;

	core_destroy(f->core);
	f->core = NULL;
	f->epoch = INT32_MAX;
	assert_int_equal(fixture_start(f, false, &error), -EBADMSG);
	f->epoch = UINT64_MAX;
	assert_int_equal(fixture_start(f, false, &error), -EBADMSG);
}

static void rows_of_no_use_are_refused(void **state)
{
	struct fixture *f = *state;
	struct store_row row = { .table = STORE_EVENT, .id = 1, .key = "" };
	struct fairlead_error error;
	struct core *core;

	assert_int_equal(fixture_load(f, &core, &error), 0);
	assert_int_equal(core_load(core, &row, &error), -EBADMSG);
	row.table = STORE_TABLE_COUNT;
	assert_int_equal(core_load(core, &row, &error), -EBADMSG);
	/* What others keep in `meta` is theirs. */
	row.table = STORE_META;
	row.key = "epoch";
	assert_int_equal(core_load(core, &row, &error), 0);
	row.key = "cursor/elan3/context";
	assert_int_equal(core_load(core, &row, &error), 0);
	core_destroy(core);
}

#define T(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_state_comes_back),
		T(an_apply_that_was_cut_is_undone),
		T(events_of_two_lives_do_not_meet),
		T(a_commit_that_failed_never_was),
		T(many_that_were_cut_go_on_in_steps),
		T(a_release_that_waits_its_turn_is_one),
		T(damage_is_named),
		T(a_damaged_tombstone_is_named),
		T(a_gap_in_the_tombstones_is_found),
		T(a_node_without_a_name_is_found),
		T(news_of_no_part_is_found),
		T(a_grant_id_that_was_not_given_is_found),
		T(two_holders_are_found),
		T(two_grants_of_one_key_are_found),
		T(a_key_that_is_live_and_released_is_found),
		T(an_epoch_out_of_range_is_refused),
		T(rows_of_no_use_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
