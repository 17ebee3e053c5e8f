/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs that hold runs, and secrets, in the core: through all that identifiers
 * go through, and where secrets never are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "lanes/manager/core/out.h"
#include "lanes/manager/core/test/fake_driver.h"
#include "lanes/manager/core/test/fixture.h"
#include "lanes/manager/core/test/journal.h"
#include "lanes/proto/grant.h"

static int set_up(void **state)
{
	struct fixture *f = fixture_create();

	f->config.driver_count = 4;
	assert_int_equal(fixture_start(f, false, NULL), 0);
	nodes_up(f, 10);
	*state = f;
	return 0;
}

static int ask(struct fixture *f, const char *key, const char *nodes,
	       const char *options)
{
	return reserve_as(f, &slurm, "lined", key, nodes, options);
}

static struct interconnect *lined(struct fixture *f)
{
	return &f->core->interconnects.list[interconnect_find(
		&f->core->interconnects, "lined")];
}

/* The set of the pool of runs, as text; valid until the next call. */
static const char *runs(struct fixture *f, const struct idset *set)
{
	static char text[256];
	char *formatted = idset_format(set);

	snprintf(text, sizeof(text), "%s", formatted);
	free(formatted);
	return text;
}

static const char *held(struct fixture *f)
{
	return runs(f, lined(f)->pools[1].held);
}

static const char *quarantined(struct fixture *f)
{
	return runs(f, lined(f)->pools[1].quarantined);
}

/* What the job has: program, first and last. */
static void assert_ids(struct fixture *f, uint64_t id, uint32_t program,
		       uint32_t first, uint32_t last)
{
	const struct job *job = jobs_find(&f->core->jobs, id);

	assert_non_null(job);
	assert_int_equal(job->id_count, 3);
	assert_int_equal(job->ids[0], program);
	assert_int_equal(job->ids[1], first);
	assert_int_equal(job->ids[2], last);
}

static uint64_t made(struct fixture *f, const char *key, const char *nodes,
		     const char *options)
{
	if (ask(f, key, nodes, options) < 0)
		fail_msg("%s: %s", key, last_reply(f)->text);
	return last_grant(f);
}

static uint64_t made_active(struct fixture *f, const char *key,
			    const char *nodes)
{
	uint64_t id = made(f, key, nodes, "");

	apply(f, id);
	answer_all(f, open_fanout(f), 0, "");
	return id;
}

static uint64_t made_busy(struct fixture *f, const char *key, const char *nodes)
{
	uint64_t id = made_active(f, key, nodes);

	release_id(f, id);
	answer_all(f, open_fanout(f), -EBUSY, "used");
	return id;
}

static void runs_of_ranges_that_meet_are_apart(void **state)
{
	struct fixture *f = *state;

	assert_ids(f, made(f, "slurm/1/0", "n0,n4", "len=3"), 1, 8, 10);
	/* In between, where the first job has no node. */
	assert_ids(f, made(f, "slurm/2/0", "n2", "len=2"), 2, 11, 12);
	assert_ids(f, made(f, "slurm/3/0", "n[5-9]", "len=16"), 3, 8, 23);
	assert_ids(f, made(f, "slurm/4/0", "n3", "len=2"), 4, 11, 12);
	assert_string_equal(held(f), "8-23");
	release_key(f, "slurm/1/0");
	assert_ids(f, made(f, "slurm/5/0", "n2", "len=3"), 5, 8, 10);
}

static void a_run_that_is_not_there_takes_nothing(void **state)
{
	struct fixture *f = *state;

	made(f, "slurm/1/0", "n[0-9]", "len=12");
	assert_int_equal(ask(f, "slurm/2/0", "n5", "len=5"), -EAGAIN);
	assert_string_equal(last_reply(f)->text,
			    "failed to reserve a run of 5 CTXs (the longest "
			    "free one has 4)");
	assert_string_equal(runs(f, lined(f)->pools[0].held), "1");
	assert_string_equal(held(f), "8-19");
}

static void a_run_is_there_again_after_a_restart(void **state)
{
	struct fixture *f = *state;
	uint64_t first = made_active(f, "slurm/1/0", "n[0-3]");
	uint64_t second = made(f, "slurm/2/0", "n[3-5]", "len=4");

	fixture_restart(f);
	assert_ids(f, first, 1, 8, 9);
	assert_ids(f, second, 2, 10, 13);
	/* Programs go on, they do not begin again. */
	assert_ids(f, made(f, "slurm/3/0", "n4", "len=2"), 3, 8, 9);
	assert_ids(f, made(f, "slurm/4/0", "n3", "len=2"), 4, 14, 15);
}

static void a_run_in_quarantine_waits_for_every_node(void **state)
{
	struct fixture *f = *state;
	uint64_t id = made_busy(f, "slurm/1/0", "n[0-1]");

	assert_string_equal(quarantined(f), "8-9");
	assert_ids(f, made(f, "slurm/2/0", "n0", "len=2"), 2, 10, 11);
	assert_ids(f, made(f, "slurm/3/0", "n2", "len=2"), 3, 8, 9);
	assert_string_equal(held(f), "8-11");
	confirm(f, "n0", id, 0, "");
	fixture_restart(f);
	assert_ids(f, made(f, "slurm/4/0", "n0", "len=2"), 4, 12, 13);
	confirm(f, "n1", id, 0, "");
	assert_true(is_gone(f, id));
	assert_string_equal(quarantined(f), "");
	assert_ids(f, made(f, "slurm/5/0", "n0", "len=2"), 5, 8, 9);
	assert_string_equal(events(f, id),
			    "request fake-net apply applied release revoked "
			    "quarantine quarantine confirm confirm free free");
}

static void an_operator_gives_back_a_run_whole(void **state)
{
	struct fixture *f = *state;
	uint64_t id = made_busy(f, "slurm/1/0", "n[0-1]");

	core_node_lost(f->core, "n0");
	core_node_lost(f->core, "n1");
	core_quarantine_release(f->core, &operator_plain, "lined", "ctx", "9",
				++f->last_token);
	assert_int_equal(last_reply(f)->result, -EINVAL);
	assert_non_null(strstr(last_reply(f)->text, "8-9 of pool 'ctx'"));
	core_quarantine_release(f->core, &operator_plain, "lined", "ctx", "8-9",
				++f->last_token);
	assert_int_equal(last_reply(f)->result, 0);
	assert_string_equal(quarantined(f), "");
	assert_false(is_gone(f, id));
	fixture_restart(f);
	assert_string_equal(quarantined(f), "");
	assert_ids(f, made(f, "slurm/2/0", "n0", "len=2"), 2, 8, 9);
	core_quarantine_release(f->core, &operator_plain, "lined", "prg", "1",
				++f->last_token);
	assert_int_equal(last_reply(f)->result, 0);
	assert_true(is_gone(f, id));
}

static void what_a_node_reports_is_withheld_from_end_to_end(void **state)
{
	static const uint32_t ids[] = { 3, 12, 15 };
	struct fixture *f = *state;
	struct core_inventory_grant grant = { .grant_id = 7777,
					      .state = 2,
					      .driver = "lined",
					      .id_count = 3,
					      .ids = ids };

	node_up_with(f, "n0", &grant, 1);
	assert_string_equal(runs(f, lined(f)->pools[1].withheld), "3-15");
	/* Its position is not known: it is so on all of them. */
	assert_ids(f, made(f, "slurm/1/0", "n9", "len=2"), 1, 16, 17);
	node_up(f, "n0");
	assert_string_equal(runs(f, lined(f)->pools[1].withheld), "");
	assert_ids(f, made(f, "slurm/2/0", "n9", "len=2"), 2, 8, 9);
}

static void views_show_a_run_by_its_ends(void **state)
{
	struct fixture *f = *state;
	struct core_filter filter = { 0 };
	json_t *view, *item;

	made_busy(f, "slurm/1/0", "n[0-1]");
	view = core_view_list(f->core, &root, &filter);
	item = json_array_get(json_object_get(view, "jobs"), 0);
	item = json_object_get(item, "ids");
	assert_string_equal(json_string_value(json_object_get(item, "ctx")),
			    "8-9");
	json_decref(view);
	view = core_view_quarantine(f->core, 0);
	item = json_array_get(json_object_get(view, "identifiers"), 1);
	assert_string_equal(json_string_value(json_object_get(item, "pool")),
			    "ctx");
	assert_int_equal(json_integer_value(json_object_get(item, "id")), 8);
	assert_int_equal(json_integer_value(json_object_get(item, "last")), 9);
	json_decref(view);
}

static void a_recovery_has_no_run_to_give(void **state)
{
	struct fixture *f = *state;

	made(f, "slurm/1/0", "n0", "");
	core_destroy(f->core);
	assert_int_equal(fixture_start(f, true, NULL), 0);
	assert_int_equal(ask(f, "slurm/2/0", "n5", ""), -EAGAIN);
	nodes_up(f, 10);
	assert_ids(f, made(f, "slurm/3/0", "n0", "len=1"), 2, 10, 10);
}

static void records_that_meet_stop_the_start(void **state)
{
	struct fixture *f = *state;
	struct fairlead_error error = { 0 };
	struct job *job;

	made(f, "slurm/1/0", "n0", "plain");
	made(f, "slurm/2/0", "n5", "plain");
	job = jobs_find_key(&f->core->jobs, "slurm/2/0");
	assert_int_equal(job->ids[1], 8);
	job->runs[1].low = 0;
	core_store_job(f->core, job);
	core_destroy(f->core);
	f->core = NULL;
	assert_int_equal(fixture_start(f, false, &error), -EBADMSG);
	assert_non_null(strstr(error.text, "pool 'ctx' has another holder"));
}

/* --- secrets --- */

static void secret_hex(const struct job *job, char text[2 * 256 + 1])
{
	text[0] = 0;
	for (uint32_t i = 0; i < job->secret_size; i++)
		sprintf(text + 2 * i, "%02x", job->secret[i]);
}

static void reverse(char *text)
{
	for (size_t i = 0, n = strlen(text); i + 1 < n; i++, n--) {
		char byte = text[i];

		text[i] = text[n - 1];
		text[n - 1] = byte;
	}
}

/* The sealed part of the last answer's grant, as a text. */
static char *sealed_of(const struct fixture *f)
{
	struct grant grant;
	char *text;

	assert_int_equal(grant_parse(json_string_value(json_object_get(
					     last_reply(f)->members, "grant")),
				     &grant, NULL),
			 0);
	text = strndup((const char *)grant.sealed, grant.sealed_size);
	grant_fini(&grant);
	return text;
}

static void secrets_are_sealed_to_the_nodes_of_the_job(void **state)
{
	struct fixture *f = *state;
	uint64_t id = made(f, "slurm/1/0", "n[1-2]", "");
	_auto_(freep) char *first = sealed_of(f);
	_auto_(freep) char *again = NULL;
	char expected[1024] = "1: 8-9 n1=1 n2=1 ", hex[513];

	secret_hex(jobs_find(&f->core->jobs, id), hex);
	assert_int_equal(strlen(hex), 2 * LINED_SECRET_SIZE);
	strcat(expected, hex);
	reverse(expected);
	memmove(expected + 14, expected, strlen(expected) + 1);
	memcpy(expected, "sealed(n1,n2) ", 14);
	assert_string_equal(first, expected);
	/* The same request gets the same grant, also after a restart. */
	fixture_restart(f);
	assert_int_equal(ask(f, "slurm/1/0", "n[1-2]", ""), 0);
	again = sealed_of(f);
	assert_string_equal(first, again);
	nodes_up(f, 10);
	assert_int_equal(apply(f, id), -EINPROGRESS);
	assert_string_equal(open_fanout(f)->sealed, first);
	answer_all(f, open_fanout(f), 0, "");
	release_id(f, id);
	assert_null(open_fanout(f)->sealed);
}

static void no_two_jobs_have_one_secret(void **state)
{
	struct fixture *f = *state;
	const struct job *a, *b;

	made(f, "slurm/1/0", "n1", "");
	made(f, "slurm/2/0", "n1", "");
	a = jobs_find_key(&f->core->jobs, "slurm/1/0");
	b = jobs_find_key(&f->core->jobs, "slurm/2/0");
	assert_memory_not_equal(a->secret, b->secret, LINED_SECRET_SIZE);
}

static void a_job_without_secrets_has_nothing_sealed(void **state)
{
	struct fixture *f = *state;
	uint64_t id = made(f, "slurm/1/0", "n1", "plain");
	_auto_(freep) char *sealed = sealed_of(f);

	assert_string_equal(sealed, "");
	apply(f, id);
	assert_null(open_fanout(f)->sealed);
}

struct search {
	const struct job *job;
	const char *hex;
	size_t job_rows;
};

static void row_search(struct journal_row *row, void *arg)
{
	struct search *search = arg;

	if (row->table == STORE_JOB) {
		search->job_rows +=
			memmem(row->body, row->size, search->job->secret,
			       search->job->secret_size) != NULL;
		return;
	}
	assert_null(memmem(row->body, row->size, search->job->secret,
			   search->job->secret_size));
	assert_null(
		memmem(row->body, row->size, search->hex, strlen(search->hex)));
}

static void a_secret_is_in_the_row_of_its_job_only(void **state)
{
	const struct core_selector selector = { .key = "slurm/1/0" };
	struct fixture *f = *state;
	uint64_t id = made_active(f, "slurm/1/0", "n[0-1]");
	struct search search = { .job = jobs_find(&f->core->jobs, id) };
	struct core_filter filter = { 0 };
	json_t *views[3] = { NULL };
	char hex[513];

	secret_hex(search.job, hex);
	search.hex = hex;
	journal_each(&f->journal, row_search, &search);
	assert_int_equal(search.job_rows, 1);
	views[0] = core_view_list(f->core, &root, &filter);
	views[1] = core_view_status(f->core);
	assert_int_equal(core_view_explain(f->core, &root, &selector, &views[2],
					   NULL),
			 0);
	for (size_t i = 0; i < 3; i++) {
		char *text = json_dumps(views[i], JSON_COMPACT);

		assert_null(strstr(text, hex));
		free(text);
		json_decref(views[i]);
	}
	release_id(f, id);
	answer_all(f, open_fanout(f), 0, "");
	assert_true(is_gone(f, id));
	assert_int_equal(rows(f, STORE_JOB, 0), 0);
}

static void secrets_that_cannot_be_made_leave_no_grant(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ask(f, "slurm/1/0", "n1", "unpacked"), -EINVAL);
	assert_string_equal(last_reply(f)->text, "it cannot be packed");
	assert_null(jobs_find_key(&f->core->jobs, "slurm/1/0"));
	assert_string_equal(held(f), "");
}

static void secrets_that_cannot_be_made_any_more_fail_the_apply(void **state)
{
	struct fixture *f = *state;
	uint64_t id = made(f, "slurm/1/0", "n1", "");
	struct job *job = jobs_find(&f->core->jobs, id);

	free(job->options);
	job->options = memory_text("unpacked");
	assert_int_equal(ask(f, "slurm/1/0", "n1", ""), -EINVAL);
	assert_int_equal(apply(f, id), -EINVAL);
	assert_string_equal(last_reply(f)->text, "it cannot be packed");
	assert_int_equal(open_fanouts(f), 0);
	assert_true(is_gone(f, id));
	assert_string_equal(held(f), "");
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(runs_of_ranges_that_meet_are_apart),
		T(a_run_that_is_not_there_takes_nothing),
		T(a_run_is_there_again_after_a_restart),
		T(a_run_in_quarantine_waits_for_every_node),
		T(an_operator_gives_back_a_run_whole),
		T(what_a_node_reports_is_withheld_from_end_to_end),
		T(views_show_a_run_by_its_ends),
		T(a_recovery_has_no_run_to_give),
		T(records_that_meet_stop_the_start),
		T(secrets_are_sealed_to_the_nodes_of_the_job),
		T(no_two_jobs_have_one_secret),
		T(a_job_without_secrets_has_nothing_sealed),
		T(a_secret_is_in_the_row_of_its_job_only),
		T(secrets_that_cannot_be_made_leave_no_grant),
		T(secrets_that_cannot_be_made_any_more_fail_the_apply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
