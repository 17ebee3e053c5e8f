/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that have something outside of the nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "lanes/manager/core/out.h"
#include "lanes/manager/core/test/fake_driver.h"
#include "lanes/manager/core/test/fixture.h"
#include "lanes/manager/core/test/journal.h"

static uint64_t reserved(struct fixture *f, const char *options)
{
	nodes_up(f, 2);
	assert_int_equal(reserve(f, "slurm/1/0", "n[0-1]", options), 0);
	return last_grant(f);
}

static void an_apply_waits_for_the_answer(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");

	assert_int_equal(rows(f, STORE_OUTSIDE, id), 1);
	assert_string_equal(open_outside(f, OUTSIDE_MAKE)->text, "8");
	assert_int_equal(apply(f, id), -EINPROGRESS);
	assert_int_equal(apply(f, id), -EINPROGRESS);
	assert_int_equal(open_fanouts(f), 0);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	/* The secret reaches the nodes, and nobody else. */
	assert_string_equal(open_fanout(f)->sealed, "sealed(n0,n1) NEKOT");
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	assert_string_equal(events(f, id),
			    "request fake-net external apply applied");
	verify(f);
}

static void an_answer_may_come_before_the_apply(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");

	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	assert_int_equal(apply(f, id), -EINPROGRESS);
	assert_int_equal(open_fanouts(f), 1);
}

static void a_grant_has_nothing_of_it(void **state)
{
	struct fixture *f = *state;

	reserved(f, "trees=8");
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	/* It is answered again, and as before. */
	assert_int_equal(reserve(f, "slurm/1/0", "n[0-1]", "trees=8"), 0);
	assert_string_equal(json_string_value(json_object_get(
				    f->replies[0].members, "grant")),
			    json_string_value(json_object_get(
				    last_reply(f)->members, "grant")));
}

static void without_it_the_job_goes_on_with_a_warning(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");
	json_t *external;

	assert_int_equal(apply(f, id), -EINPROGRESS);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), -ENOSPC, "none is left");
	assert_null(open_fanout(f)->sealed);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	assert_int_equal(json_array_size(json_object_get(last_reply(f)->members,
							 "warnings")),
			 1);
	external = event(f, id, "external");
	assert_string_equal(
		json_string_value(json_object_get(external, "reason")),
		"none is left");
	json_decref(external);
}

static void or_fails_when_it_must_have_it(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8,must");

	assert_int_equal(apply(f, id), -EINPROGRESS);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), -ENOSPC, "none is left");
	assert_int_equal(last_reply(f)->result, -EAGAIN);
	assert_contains(last_reply(f)->text, "none is left");
	assert_true(is_gone(f, id));
	assert_int_equal(rows(f, STORE_OUTSIDE, 0), 0);
}

static void no_job_waits_for_longer_than_its_driver_says(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");

	assert_int_equal(apply(f, id), -EINPROGRESS);
	fixture_advance(f, FAKE_OUTSIDE_WAIT_MS - 1);
	assert_int_equal(open_fanouts(f), 0);
	fixture_advance(f, 1);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	/* It came late: it is given back. */
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	assert_int_equal(open_outside(f, OUTSIDE_DROP)->grant_id, id);
	outside_end(f, open_outside(f, OUTSIDE_DROP), 0, "");
	verify(f);
	assert_int_equal(job_state(f, id), JOB_ACTIVE);
}

static void a_release_leaves_a_debt_that_holds_back_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");

	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	apply(f, id);
	answer_all(f, open_fanout(f), 0, "");
	release_id(f, id);
	answer_all(f, open_fanout(f), 0, "");
	assert_int_equal(last_reply(f)->result, 0);
	assert_true(is_gone(f, id));
	assert_string_equal(vnis(f, "held"), "");
	assert_int_equal(rows(f, STORE_OUTSIDE, id), 1);
	outside_end(f, open_outside(f, OUTSIDE_DROP), -EAGAIN, "no route");
	fixture_restart(f);
	assert_int_equal(open_outside(f, OUTSIDE_DROP)->grant_id, id);
	outside_end(f, open_outside(f, OUTSIDE_DROP), 0, "");
	assert_int_equal(rows(f, STORE_OUTSIDE, id), 0);
}

static void a_restart_asks_again(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");

	fixture_restart(f);
	fixture_forget(f);
	fixture_restart(f);
	assert_int_equal(open_outside(f, OUTSIDE_MAKE)->grant_id, id);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	nodes_up(f, 2);
	apply(f, id);
	assert_contains(open_fanout(f)->sealed, "NEKOT");
	verify(f);
}

static void a_release_ends_an_apply_that_waits(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");

	assert_int_equal(apply(f, id), -EINPROGRESS);
	release_id(f, id);
	assert_int_equal(reply_to(f, f->last_token - 1)->result, -ECANCELED);
	assert_true(is_gone(f, id));
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	outside_end(f, open_outside(f, OUTSIDE_DROP), 0, "");
	assert_int_equal(rows(f, STORE_OUTSIDE, 0), 0);
}

static void listed(struct fixture *f, const uint64_t *ids, size_t count)
{
	struct given_outside *list = open_outside(f, OUTSIDE_LIST);
	const struct outside_end end = {
		.is_reached = true,
		.text = "",
		.grant_ids = ids,
		.count = count,
	};

	assert_non_null(list);
	list->is_ended = true;
	core_outside_done(f->core, list->id, &end);
}

/* Another name would be another reservation: this one would seem lost. */
static void a_reservation_keeps_its_name(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");
	struct fairlead_error error;
	char *changes;

	assert_string_equal(open_outside(f, OUTSIDE_MAKE)->prefix, "cl");
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	outside_end(f, open_outside(f, OUTSIDE_LIST), 0, "");
	f->config.cluster = "renamed";
	assert_int_equal(fixture_configure(f, &changes, &error), 0);
	free(changes);
	fixture_advance(f, 1);
	outside_end(f, open_outside(f, OUTSIDE_LIST), 0, "");
	assert_string_equal(open_outside(f, OUTSIDE_FIND)->prefix, "cl");
	fixture_restart(f);
	release_id(f, id);
	assert_string_equal(open_outside(f, OUTSIDE_DROP)->prefix, "cl");
	assert_int_equal(reserve(f, "slurm/2/0", "n[0-1]", "trees=8"), 0);
	assert_string_equal(open_outside(f, OUTSIDE_MAKE)->prefix, "renamed");
}

static void vanish(struct fixture *f, const char *loss, json_int_t severity)
{
	struct fairlead_error error;
	json_t *exception;
	char *changes;
	uint64_t id;

	fixture_setting(f, "loss", loss);
	assert_int_equal(fixture_configure(f, &changes, &error), 0);
	free(changes);
	id = reserved(f, "trees=8");
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	listed(f, NULL, 0);
	fixture_advance(f, 300000);
	listed(f, NULL, 0);
	/* The list may be cut short. */
	assert_null(strstr(events(f, id), "exception"));
	outside_end(f, open_outside(f, OUTSIDE_FIND), -ENOENT, "none");
	exception = event(f, id, "exception");
	assert_non_null(exception);
	assert_int_equal(
		json_integer_value(json_object_get(exception, "severity")),
		severity);
	assert_contains(json_string_value(json_object_get(exception, "note")),
			"vanished");
	json_decref(exception);
	release_id(f, id);
	assert_int_equal(rows(f, STORE_OUTSIDE, 0), 0);
}

static void a_reservation_that_vanishes_is_a_fatal_exception(void **state)
{
	vanish(*state, "fatal", 0);
}

static void or_a_warning_by_the_setting(void **state)
{
	vanish(*state, "warning", 4);
}

/* A journal that is old does not know the jobs that came after it. */
static void what_was_never_given_is_left_alone(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");
	const uint64_t ids[] = { id + 1000, id, id + 1 };

	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	listed(f, ids, 3);
	assert_null(open_outside(f, OUTSIDE_DROP));
	assert_int_equal(rows(f, STORE_OUTSIDE, 0), 1);
	/* It can be read again. */
	fixture_restart(f);
	listed(f, ids, 3);
	assert_null(open_outside(f, OUTSIDE_DROP));
	verify(f);
}

static void what_no_job_has_is_released(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "");
	const uint64_t ids[] = { id };

	release_id(f, id);
	listed(f, ids, 1);
	assert_int_equal(open_outside(f, OUTSIDE_DROP)->grant_id, id);
	outside_end(f, open_outside(f, OUTSIDE_DROP), 0, "");
	assert_int_equal(rows(f, STORE_OUTSIDE, 0), 0);
}

/* The journal was lost, and the job is live. */
static void a_recovery_leaves_what_a_node_has(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	const uint64_t ids[] = { 7, 8 };
	struct core_inventory_grant grant = inventory_of(f, reserved(f, ""));

	grant.grant_id = 7;
	fixture_forget(f);
	core_destroy(take_ptr(f->core));
	assert_int_equal(fixture_start(f, true, &error), 0);
	listed(f, ids, 2);
	assert_null(open_outside(f, OUTSIDE_DROP));
	nodes_up(f, 10);
	node_up_with(f, "n0", &grant, 1);
	fixture_forget(f);
	fixture_restart(f);
	listed(f, ids, 2);
	assert_int_equal(open_outside(f, OUTSIDE_DROP)->grant_id, 8);
	outside_end(f, open_outside(f, OUTSIDE_DROP), 0, "");
	assert_null(open_outside(f, OUTSIDE_DROP));
	/* It goes when the node has it no more. */
	node_up(f, "n0");
	fixture_forget(f);
	fixture_advance(f, 300000);
	listed(f, ids, 1);
	assert_int_equal(open_outside(f, OUTSIDE_DROP)->grant_id, 7);
}

static void an_interconnect_with_debts_stays_on(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	struct core *core;
	size_t driver_count = f->config.driver_count;

	assert_int_equal(
		reserve_as(f, &slurm, "twin", "slurm/1/0", "n0", "trees=8"), 0);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	release_id(f, last_grant(f));
	f->config.driver_count = 1;
	assert_int_equal(fixture_configure(f, NULL, &error), -EINVAL);
	assert_contains(error.text, "external reservations");
	assert_int_equal(fixture_load(f, &core, &error), -EINVAL);
	assert_contains(error.text, "external reservations");
	f->config.driver_count = driver_count;
}

/* A member of the view of this grant. */
static json_t *external(struct fixture *f, uint64_t id, json_t **ret_view)
{
	const struct core_selector selector = { .grant_id = id };
	struct fairlead_error error;

	assert_int_equal(core_view_explain(f->core, &root, &selector, ret_view,
					   &error),
			 0);
	return json_array_get(json_object_get(*ret_view, "grants"), 0);
}

static void assert_external(struct fixture *f, uint64_t id, const char *state,
			    bool is_debt, const char *reason)
{
	json_t *view;
	json_t *object = json_object_get(external(f, id, &view), "external");

	assert_string_equal(json_string_value(json_object_get(object, "state")),
			    state);
	assert_int_equal(json_is_true(json_object_get(object, "debt")),
			 is_debt);
	assert_string_equal(
		json_string_value(json_object_get(object, "reason")), reason);
	json_decref(view);
}

static void explain_says_what_became_of_it(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");
	json_t *view, *waits;

	assert_external(f, id, "wanted", false, "");
	apply(f, id);
	waits = json_object_get(external(f, id, &view), "waits");
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(waits, 0), "what")),
			    "external");
	json_decref(view);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	assert_external(f, id, "held", false, "");
	answer_all(f, open_fanout(f), 0, "");
	release_id(f, id);
	answer_all(f, open_fanout(f), 0, "");
	assert_external(f, id, "over", true, "");
	outside_end(f, open_outside(f, OUTSIDE_DROP), 0, "");
	assert_null(json_object_get(external(f, id, &view), "external"));
	json_decref(view);
}

static void explain_says_why_it_was_refused(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");

	fixture_advance(f, FAKE_OUTSIDE_WAIT_MS);
	assert_external(f, id, "refused", true, "not given within 2000 ms");
}

/* {"connection": ..} of the interconnect "fake". */
static const json_t *of_fake(struct fixture *f, json_t **ret_view)
{
	*ret_view = core_view_status(f->core);
	return json_object_get(json_object_get(*ret_view, "external"), "fake");
}

static void assert_status(struct fixture *f, const char *expected)
{
	json_t *view;
	const json_t *external = of_fake(f, &view);
	json_t *wanted = json_loads(expected, 0, NULL);
	const char *name;
	json_t *value;

	assert_non_null(wanted);
	json_object_foreach (wanted, name, value)
		if (!json_equal(json_object_get(external, name), value))
			fail_msg("%s: %s", name,
				 json_dumps(external, JSON_COMPACT));
	json_decref(wanted);
	json_decref(view);
}

static void status_shows_the_fabric_manager(void **state)
{
	struct fixture *f = *state;
	uint64_t id;

	fixture_advance(f, 5000);
	assert_status(f, "{\"connection\": \"unknown\", "
			 "\"connection_s\": 5, \"held\": 0}");
	id = reserved(f, "trees=8");
	assert_status(f, "{\"wanted\": 1}");
	fixture_advance(f, 30);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	fixture_advance(f, 7000);
	assert_status(f, "{\"connection\": \"up\", \"connection_s\": 7, "
			 "\"why\": \"\", \"held\": 1, \"debts\": 0, "
			 "\"make_ms\": 30}");
	release_id(f, id);
	outside_end(f, open_outside(f, OUTSIDE_DROP), -EACCES, "who are you");
	assert_status(f, "{\"connection\": \"denied\", \"why\": "
			 "\"who are you\", \"failure\": \"who are you\", "
			 "\"debts\": 1, \"oldest_grant\": 1}");
	fixture_advance(f, 9000);
	outside_end(f, open_outside(f, OUTSIDE_DROP), -EAGAIN, "no route");
	assert_status(f, "{\"connection\": \"down\", \"why\": \"no route\"}");
	/* A debt's age goes on over a restart. */
	fixture_restart(f);
	fixture_advance(f, 3000);
	assert_status(f, "{\"connection\": \"unknown\", \"oldest_s\": 12}");
	outside_end(f, open_outside(f, OUTSIDE_DROP), 0, "");
	assert_status(f, "{\"connection\": \"up\", \"why\": \"\", "
			 "\"failure\": \"\", \"debts\": 0, \"results\": "
			 "{\"made\": 0, \"refused\": 0, \"late\": 0, "
			 "\"released\": 1, \"found\": 0, \"vanished\": 0, "
			 "\"failed\": 0}}");
}

static void metrics_have_debts_and_times(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");
	struct writer out = { 0 };
	const char *lines;

	fixture_advance(f, 30);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	release_id(f, id);
	fixture_advance(f, 1500);
	assert_int_equal(reserve(f, "slurm/2/0", "n0", "trees=8"), 0);
	core_metrics(f->core, &out);
	write_u8(&out, 0);
	lines = (const char *)out.data;
	assert_contains(lines, "fairlead_external_reservations{interconnect="
			       "\"fake\",state=\"wanted\"} 1\n");
	assert_contains(lines, "fairlead_external_debts{interconnect="
			       "\"fake\"} 1\n");
	assert_contains(lines, "fairlead_external_debt_oldest_seconds{"
			       "interconnect=\"fake\"} 1.500\n");
	assert_contains(lines, "fairlead_external_results_total{interconnect="
			       "\"fake\",result=\"made\"} 1\n");
	assert_contains(
		lines, "fairlead_fabric_manager_up{interconnect=\"fake\"} 1\n");
	assert_contains(lines, "fairlead_external_make_seconds_bucket{"
			       "interconnect=\"fake\",le=\"0.025\"} 0\n");
	assert_contains(lines, "fairlead_external_make_seconds_sum{"
			       "interconnect=\"fake\"} 0.030\n");
	assert_null(strstr(lines, "external_debts{interconnect=\"bare\""));
	writer_fini(&out);
}

/* The row of the grant's external reservation. */
static const struct journal_row *outside_row(struct fixture *f, uint64_t id)
{
	const struct journal_row *row, *next;

	HASH_ITER (hh, f->journal, row, next)
		if (row->table == STORE_OUTSIDE && row->id == id)
			return row;
	fail();
	return NULL;
}

static void a_secret_is_in_the_journal_encrypted(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");
	const struct journal_row *row;

	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	row = outside_row(f, id);
	assert_null(memmem(row->body, row->size, "TOKEN", 5));
	assert_non_null(
		memmem(row->body, row->size, "\0\xd4\xcf\xcb\xc5\xce", 6));
	fixture_restart(f);
	nodes_up(f, 2);
	apply(f, id);
	assert_contains(open_fanout(f)->sealed, "NEKOT");
}

static void a_new_key_encrypts_it_again(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");
	const struct journal_row *row;

	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	f->key = 1;
	core_rekey(f->core);
	row = outside_row(f, id);
	assert_non_null(memmem(row->body, row->size, "\1\xd5\xce", 3));
	/* Or by the next start, where the manager was down meanwhile. */
	f->key = 2;
	fixture_restart(f);
	row = outside_row(f, id);
	assert_non_null(memmem(row->body, row->size, "\2\xd6\xcd", 3));
	nodes_up(f, 2);
	apply(f, id);
	assert_contains(open_fanout(f)->sealed, "NEKOT");
}

static void without_its_key_there_is_no_start(void **state)
{
	struct fixture *f = *state;
	uint64_t id = reserved(f, "trees=8");
	struct fairlead_error error;

	f->key = 1;
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	f->key = 0;
	core_destroy(take_ptr(f->core));
	assert_int_equal(fixture_start(f, false, &error), -ENOKEY);
	assert_contains(error.text, "grant 1: key 1 is not there");
	assert_contains(error.text, "--recover");
	f->key = 1;
	assert_int_equal(fixture_start(f, false, &error), 0);
	/* A debt has no secret any more. */
	f->key = 1;
	release_id(f, id);
	f->key = 0;
	fixture_restart(f);
	assert_int_equal(open_outside(f, OUTSIDE_DROP)->grant_id, id);
}

static void a_recovery_does_without_its_key(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error;
	uint64_t id = reserved(f, "trees=8");
	uint64_t running;

	f->key = 1;
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	assert_int_equal(reserve(f, "slurm/2/0", "n0", "trees=8"), 0);
	running = last_grant(f);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	apply(f, running);
	answer_all(f, open_fanout(f), 0, "");
	f->key = 0;
	core_destroy(take_ptr(f->core));
	assert_int_equal(fixture_start(f, true, &error), 0);
	/* The nodes of the running job have it. */
	assert_external(f, running, "held", false, "");
	assert_int_equal(open_outside(f, OUTSIDE_MAKE)->grant_id, id);
	outside_end(f, open_outside(f, OUTSIDE_MAKE), 0, "TOKEN");
	assert_null(open_outside(f, OUTSIDE_MAKE));
	fixture_restart(f);
	nodes_up(f, 2);
	apply(f, id);
	assert_contains(open_fanout(f)->sealed, "NEKOT");
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_apply_waits_for_the_answer),
		TEST(an_answer_may_come_before_the_apply),
		TEST(a_grant_has_nothing_of_it),
		TEST(without_it_the_job_goes_on_with_a_warning),
		TEST(or_fails_when_it_must_have_it),
		TEST(no_job_waits_for_longer_than_its_driver_says),
		TEST(a_release_leaves_a_debt_that_holds_back_nothing),
		TEST(a_restart_asks_again),
		TEST(a_release_ends_an_apply_that_waits),
		TEST(a_reservation_keeps_its_name),
		TEST(a_reservation_that_vanishes_is_a_fatal_exception),
		TEST(or_a_warning_by_the_setting),
		TEST(what_was_never_given_is_left_alone),
		TEST(what_no_job_has_is_released),
		TEST(a_recovery_leaves_what_a_node_has),
		TEST(an_interconnect_with_debts_stays_on),
		TEST(a_secret_is_in_the_journal_encrypted),
		TEST(a_new_key_encrypts_it_again),
		TEST(without_its_key_there_is_no_start),
		TEST(a_recovery_does_without_its_key),
		TEST(explain_says_what_became_of_it),
		TEST(explain_says_why_it_was_refused),
		TEST(status_shows_the_fabric_manager),
		TEST(metrics_have_debts_and_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
