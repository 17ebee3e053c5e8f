/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may ask what, and what bad requests get. */
#include "bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lanes/proto/client.h"

static const char *text_of(const json_t *answer, const char *member)
{
	const char *text = json_string_value(json_object_get(answer, member));

	return text == NULL ? "" : text;
}

/* The next answer is an error with this id and words. */
static void assert_refused(struct bed *bed, uint64_t client, uint64_t id,
			   int result, const char *words)
{
	json_t *answer = bed_expect(bed, client, result);

	assert_int_equal(json_integer_value(json_object_get(answer, "id")), id);
	if (strstr(text_of(answer, "error"), words) == NULL)
		fail_msg("'%s' has no '%s'", text_of(answer, "error"), words);
	json_decref(answer);
}

static void root_and_submitters_go_first(void **state)
{
	struct bed *bed = *state;

	assert_true(engine_goes_first(bed->engine, 0));
	assert_true(engine_goes_first(bed->engine, BED_SUBMITTER));
	assert_false(engine_goes_first(bed->engine, BED_USER));
}

struct permission {
	const char *op;
	const char *members; /* JSON */
	/* Result for root, the job's submitter, another one, its owner, and
	 * another user. */
	int results[5];
};

#define DENIED -EPERM

/* The job is slurm/1/0 of BED_USER, reserved on n0 with grant id @. */
static const struct permission permissions[] = {
	{ "reserve",
	  "{\"request\":{\"key\":\"slurm/1/0\",\"uid\":1000,\"gid\":1000,"
	  "\"nodes\":\"n0\"}}",
	  { 0, 0, DENIED, DENIED, DENIED } },
	{ "status", "{}", { 0, 0, 0, 0, 0 } },
	{ "list", "{}", { 0, 0, 0, 0, 0 } },
	{ "explain", "{\"key\":\"slurm/1/0\"}", { 0, 0, DENIED, 0, DENIED } },
	{ "explain", "{\"job\":\"slurm/1\"}", { 0, 0, DENIED, 0, DENIED } },
	{ "eventlog", "{\"key\":\"slurm/1\"}", { 0, 0, DENIED, 0, DENIED } },
	{ "quarantine", "{}", { 0, 0, 0, 0, 0 } },
	{ "pools", "{}", { 0, 0, 0, 0, 0 } },
	{ "metrics", "{}", { 0, 0, 0, 0, 0 } },
	{ "node-list", "{}", { 0, 0, 0, 0, 0 } },
	{ "node-drain",
	  "{\"nodes\":\"n9\",\"reason\":\"x\"}",
	  { 0, DENIED, DENIED, DENIED, DENIED } },
	{ "node-undrain",
	  "{\"nodes\":\"n9\",\"reason\":\"x\"}",
	  { 0, DENIED, DENIED, DENIED, DENIED } },
	{ "node-fence",
	  "{\"nodes\":\"n9\"}",
	  { 0, DENIED, DENIED, DENIED, DENIED } },
	{ "quarantine-release",
	  "{\"pool\":\"vni\",\"ids\":\"1030\"}",
	  { -EINVAL, DENIED, DENIED, DENIED, DENIED } },
	{ "recover-waive",
	  "{\"nodes\":\"n9\"}",
	  { 0, DENIED, DENIED, DENIED, DENIED } },
	{ "reconfigure", "{}", { 0, DENIED, DENIED, DENIED, DENIED } },
	{ "apply",
	  "{\"grant_id\":@}",
	  { -EHOSTUNREACH, -EHOSTUNREACH, DENIED, DENIED, DENIED } },
	{ "release",
	  "{\"key\":\"slurm/1/0\"}",
	  { 0, 0, DENIED, DENIED, DENIED } },
	{ "release",
	  "{\"job\":\"slurm/1\"}",
	  { 0, 0, DENIED, DENIED, DENIED } },
};

static void check_permission(const struct permission *permission, size_t who)
{
	static const uid_t uids[] = { BED_ROOT, BED_SUBMITTER, BED_OTHER,
				      BED_USER, BED_USER + 1 };
	struct bed *bed = bed_create();
	uint64_t submitter = bed_client(bed, BED_SUBMITTER);
	uint64_t client = bed_client(bed, uids[who]);
	const char *at = strchr(permission->members, '@');
	char text[512];
	struct client_answer opened;
	struct fairlead_error error;
	json_t *answer;
	uint64_t grant_id = bed_reserve(bed, submitter, "slurm/1/0", "n0");

	snprintf(text, sizeof(text), "{\"v\":1,\"id\":1,\"op\":\"%s\"%s%.*s",
		 permission->op, strlen(permission->members) > 2 ? "," : "",
		 (int)(at == NULL ? strlen(permission->members)
				  : (size_t)(at - permission->members)) -
			 1,
		 permission->members + 1);
	if (at != NULL)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%llu%s", (unsigned long long)grant_id, at + 1);
	bed_client_send(bed, client, text);
	bed_commit(bed);
	answer = bed_answer(bed, client);
	assert_non_null(answer);
	assert_int_equal(client_answer_open(answer, &opened, &error), 0);
	if (opened.result != permission->results[who])
		fail_msg("%s by uid %u: %d (%s) instead of %d", text, uids[who],
			 opened.result, opened.text == NULL ? "" : opened.text,
			 permission->results[who]);
	json_decref(answer);
	bed_destroy(bed);
}

static void each_op_is_for_those_in_the_table(void **state)
{
	for (size_t i = 0; i < sizeof(permissions) / sizeof(permissions[0]);
	     i++) {
		for (size_t who = 0; who < 5; who++)
			check_permission(&permissions[i], who);
	}
}

static void what_nodes_are_asked_is_roots(void **state)
{
	struct bed *bed = *state;

	for (uid_t uid = BED_USER; uid <= BED_OTHER;
	     uid += BED_SUBMITTER - BED_USER) {
		uint64_t client = bed_client(bed, uid);

		bed_ask(bed, client, "node-query", "{s:s, s:s}", "nodes", "n0",
			"what", "grants");
		bed_expect_done(bed, client, -EPERM);
		bed_ask(bed, client, "node-clean", "{s:s}", "nodes", "n0");
		bed_expect_done(bed, client, -EPERM);
	}
}

static void root_of_another_machine_is_a_user_like_others(void **state)
{
	struct bed *bed = *state;
	uint64_t root = bed_remote_client(bed, 0);
	uint64_t submitter = bed_remote_client(bed, BED_SUBMITTER);

	bed_ask(bed, root, "node-drain", "{s:s, s:s}", "nodes", "n0", "reason",
		"test");
	bed_expect_done(bed, root, -EPERM);
	bed_ask(bed, root, "release", "{s:s}", "job", "test/1");
	bed_expect_done(bed, root, -EPERM);
	bed_ask(bed, root, "status", NULL);
	bed_expect_done(bed, root, 0);
	bed_ask(bed, submitter, "release", "{s:s}", "job", "test/1");
	bed_expect_done(bed, submitter, 0);
}

static void a_user_sees_its_own_jobs_only(void **state)
{
	struct bed *bed = *state;
	uint64_t submitter = bed_client(bed, BED_SUBMITTER);
	uint64_t owner = bed_client(bed, BED_USER);
	uint64_t other = bed_client(bed, BED_USER + 1);
	json_t *answer;

	bed_reserve(bed, submitter, "slurm/1/0", "n0");
	bed_ask(bed, owner, "list", NULL);
	answer = bed_expect(bed, owner, 0);
	assert_int_equal(json_array_size(json_object_get(answer, "jobs")), 1);
	json_decref(answer);
	bed_ask(bed, other, "list", NULL);
	answer = bed_expect(bed, other, 0);
	assert_int_equal(json_array_size(json_object_get(answer, "jobs")), 0);
	json_decref(answer);
}

static void what_is_no_object_closes_the_connection(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"1",
		"\"v\"",
		"null",
		"{\"v\":1,\"v\":1}",
		"{} {}",
		"\xff\xfe",
	};
	struct bed *bed = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint64_t client = bed_client(bed, BED_ROOT);

		bed_client_send(bed, client, texts[i]);
		assert_refused(bed, client, 0, -EBADMSG, "");
		assert_true(bed_was_closed(&bed->clients, client));
	}
}

static void bad_framing_is_answered_and_closed(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_ROOT);
	uint64_t slow = bed_client(bed, BED_ROOT);

	engine_client_violated(bed->engine, client, -EMSGSIZE);
	assert_refused(bed, client, 0, -EMSGSIZE, "longer than a frame");
	assert_true(bed_was_closed(&bed->clients, client));
	engine_client_violated(bed->engine, slow, -ETIMEDOUT);
	assert_refused(bed, slow, 0, -ETIMEDOUT, "not complete in time");
	assert_true(bed_was_closed(&bed->clients, slow));
}

static void what_can_be_read_is_refused_with_its_id(void **state)
{
	static const struct {
		const char *text;
		uint64_t id;
		int result;
		const char *words;
	} cases[] = {
		{ "{\"v\":2,\"id\":5,\"op\":\"status\"}", 5, -EPROTONOSUPPORT,
		  "1" },
		{ "{\"id\":5,\"op\":\"status\"}", 5, -EINVAL, "v" },
		{ "{\"v\":1,\"op\":\"status\"}", 0, -EINVAL, "id" },
		{ "{\"v\":1,\"id\":-3,\"op\":\"status\"}", 0, -EINVAL, "id" },
		{ "{\"v\":1,\"id\":\"x\",\"op\":\"status\"}", 0, -EINVAL,
		  "id" },
		{ "{\"v\":1,\"id\":5}", 5, -EINVAL, "op" },
		{ "{\"v\":1,\"id\":5,\"op\":7}", 5, -EINVAL, "op" },
		{ "{\"v\":1,\"id\":5,\"op\":\"fly\"}", 5, -ENOSYS, "'fly'" },
		{ "{\"v\":1,\"id\":5,\"op\":\"status\",\"colour\":1}", 5,
		  -EINVAL, "colour" },
		{ "{\"v\":1,\"id\":5,\"op\":\"apply\"}", 5, -EINVAL,
		  "grant_id" },
		{ "{\"v\":1,\"id\":5,\"op\":\"apply\",\"grant_id\":\"1\"}", 5,
		  -EINVAL, "grant_id" },
		{ "{\"v\":1,\"id\":5,\"op\":\"apply\",\"grant_id\":0}", 5,
		  -EINVAL, "grant_id" },
		{ "{\"v\":1,\"id\":5,\"op\":\"reserve\"}", 5, -EINVAL, "" },
		{ "{\"v\":1,\"id\":5,\"op\":\"reserve\",\"request\":{\"key\":"
		  "\"slurm/../0\"}}",
		  5, -EINVAL, "" },
		{ "{\"v\":1,\"id\":5,\"op\":\"release\"}", 5, -EINVAL,
		  "one of" },
		{ "{\"v\":1,\"id\":5,\"op\":\"release\",\"key\":\"a/b\","
		  "\"job\":\"a/b\"}",
		  5, -EINVAL, "one of" },
		{ "{\"v\":1,\"id\":5,\"op\":\"release\",\"job\":\"a/b/1\"}", 5,
		  -EINVAL, "SUBMITTER/JOB" },
		{ "{\"v\":1,\"id\":5,\"op\":\"node-drain\",\"nodes\":\"n[\","
		  "\"reason\":\"x\"}",
		  5, -EINVAL, "" },
		{ "{\"v\":1,\"id\":5,\"op\":\"node-drain\",\"nodes\":\"zz\","
		  "\"reason\":\"x\"}",
		  5, -ENOENT, "zz" },
		{ "{\"v\":1,\"id\":5,\"op\":\"node-query\",\"nodes\":\"n0\","
		  "\"what\":\"all\"}",
		  5, -EINVAL, "'all'" },
		{ "{\"v\":1,\"id\":5,\"op\":\"node-clean\",\"nodes\":\"n0\","
		  "\"all\":true}",
		  5, -EINVAL, "'all'" },
		{ "{\"v\":1,\"id\":5,\"op\":\"node-clean\",\"nodes\":"
		  "\"n0,n0\"}",
		  5, -EINVAL, "twice" },
		{ "{\"v\":1,\"id\":5,\"op\":\"node-clean\",\"nodes\":\"n0\","
		  "\"dry_run\":1}",
		  5, -EINVAL, "dry_run" },
		{ "{\"v\":1,\"id\":5,\"op\":\"node-query\",\"nodes\":"
		  "\"n0,n0\",\"what\":\"grants\"}",
		  5, -EINVAL, "twice" },
		{ "{\"v\":1,\"id\":5,\"op\":\"node-query\",\"nodes\":"
		  "\"n[0-1024]\",\"what\":\"grants\"}",
		  5, -E2BIG, "1024" },
	};
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_ROOT);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bed_client_send(bed, client, cases[i].text);
		assert_refused(bed, client, cases[i].id, cases[i].result,
			       cases[i].words);
	}
	assert_false(bed_was_closed(&bed->clients, client));
	bed_ask(bed, client, "status", NULL);
	bed_expect_done(bed, client, 0);
}

static void the_65th_open_request_is_put_off(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	uint64_t other = bed_client(bed, BED_SUBMITTER);
	char key[32];

	for (int i = 0; i < CLIENT_REQUESTS_MAX; i++) {
		snprintf(key, sizeof(key), "slurm/%d/0", i);
		bed_ask(bed, client, "reserve", "{s:{s:s, s:i, s:i, s:s, s:s}}",
			"request", "key", key, "uid", BED_USER, "gid", BED_USER,
			"nodes", "n0", "interconnect", "none");
	}
	bed_ask(bed, client, "status", NULL);
	bed_expect_done(bed, client, -EAGAIN);
	bed_ask(bed, other, "status", NULL);
	bed_commit(bed);
	for (int i = 0; i < CLIENT_REQUESTS_MAX; i++)
		bed_expect_done(bed, client, 0);
	bed_ask(bed, client, "status", NULL);
	bed_expect_done(bed, client, 0);
	bed_expect_done(bed, other, 0);
}

static void too_many_clients_are_refused_with_the_reason(void **state)
{
	struct bed *bed = *state;
	uint64_t client;

	for (int i = 0; i < CLIENT_CONNECTIONS_MAX; i++)
		client = bed_client(bed, BED_USER);
	engine_client_closed(bed->engine, client);
	client = bed_client(bed, BED_USER);
	assert_false(bed_was_closed(&bed->clients, client));
	client = bed_client(bed, BED_USER);
	bed_expect_done(bed, client, -EAGAIN);
	assert_true(bed_was_closed(&bed->clients, client));
}

/* A manager that hung finds the release of a job before, or behind, it. */
static void nothing_is_reserved_for_one_who_has_hung_up(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	json_t *answer;

	bed->clients.over = client;
	bed_ask(bed, client, "reserve", "{s:{s:s, s:i, s:i, s:s, s:s}}",
		"request", "key", "slurm/7/0", "uid", BED_USER, "gid", BED_USER,
		"nodes", "n0", "interconnect", "none");
	bed_expect_done(bed, client, -ECANCELED);
	bed_ask(bed, client, "release", "{s:s}", "job", "slurm/7");
	bed_expect_done(bed, client, 0);
	bed_ask(bed, client, "list", NULL);
	answer = bed_answer(bed, client);
	assert_int_equal(json_array_size(json_object_get(answer, "jobs")), 0);
	json_decref(answer);
}

/* A filter with a mistake must not look like a cluster without such jobs. */
static void a_list_of_a_state_that_is_none_is_refused(void **state)
{
	static const char *const names[] = {
		"reserved",  "applying", "active",
		"releasing", "released", "failed"
	};
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_USER);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bed_ask(bed, client, "list", "{s:s}", "state", names[i]);
		bed_expect_done(bed, client, 0);
	}
	bed_ask(bed, client, "list", "{s:s}", "state", "actiev");
	bed_expect_done(bed, client, -EINVAL);
	bed_ask(bed, client, "list", "{s:s}", "state", "");
	bed_expect_done(bed, client, -EINVAL);
}

static void a_client_that_does_not_read_is_let_go(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_ROOT);

	bed->clients.send_result = -ENOBUFS;
	bed_ask(bed, client, "status", NULL);
	assert_true(bed_was_closed(&bed->clients, client));
}

static void an_answer_to_nobody_is_dropped(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);

	bed_ask(bed, client, "reserve", "{s:{s:s, s:i, s:i, s:s}}", "request",
		"key", "slurm/1/0", "uid", BED_USER, "gid", BED_USER, "nodes",
		"n0");
	engine_client_closed(bed->engine, client);
	bed_commit(bed);
	assert_null(bed_answer(bed, client));
	client = bed_client(bed, BED_ROOT);
	bed_ask(bed, client, "explain", "{s:s}", "key", "slurm/1/0");
	bed_expect_done(bed, client, 0);
}

static void status_says_who_and_how_long(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_USER);
	json_t *answer;

	bed_advance(bed, 5000);
	bed_ask(bed, client, "status", NULL);
	answer = bed_expect(bed, client, 0);
	assert_string_equal(text_of(answer, "version"), FAIRLEAD_VERSION);
	assert_string_equal(text_of(answer, "cluster"), "test");
	assert_int_equal(json_integer_value(json_object_get(answer, "epoch")),
			 BED_EPOCH);
	assert_int_equal(
		json_integer_value(json_object_get(answer, "uptime_s")), 5);
	assert_int_equal(json_integer_value(json_object_get(answer, "time_us")),
			 bed->clock.wall_us);
	json_decref(answer);
}

static void the_eventlog_is_read_from_the_journal(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	json_t *answer;
	json_t *events;

	bed_reserve(bed, client, "slurm/1/0", "n0");
	bed_reserve(bed, client, "slurm/1/1", "n1");
	bed_ask(bed, client, "eventlog", "{s:s}", "job", "slurm/1");
	answer = bed_expect(bed, client, 0);
	events = json_object_get(answer, "events");
	assert_int_equal(json_array_size(events), 4);
	assert_non_null(strstr(json_string_value(json_array_get(events, 0)),
			       "\"request\""));
	assert_non_null(strstr(json_string_value(json_array_get(events, 1)),
			       "\"cray-slingshot\""));
	assert_non_null(strstr(json_string_value(json_array_get(events, 2)),
			       "slurm/1/1"));
	json_decref(answer);
	bed_ask(bed, client, "eventlog", "{s:s}", "key", "slurm/2");
	bed_expect_done(bed, client, -ENOENT);
}

/* Commits wait behind what is at the store. */
static void users_reads_of_the_journal_are_one_at_a_time(void **state)
{
	struct bed *bed = *state;
	uint64_t submitter = bed_client(bed, BED_SUBMITTER);
	uint64_t user = bed_client(bed, BED_USER);

	bed_reserve(bed, submitter, "slurm/1/0", "n0");
	bed->holds_reads = true;
	for (int i = 0; i < 3; i++)
		bed_ask(bed, user, "eventlog", "{s:s}", "key", "slurm/1/0");
	assert_int_equal(bed->read_count, 1);
	bed_ask(bed, submitter, "eventlog", "{s:s}", "key", "slurm/1/0");
	assert_int_equal(bed->read_count, 2);
	for (int i = 0; i < 3; i++) {
		bed_read_one(bed);
		assert_int_equal(bed->read_count, i == 0 ? 2 : 1);
	}
	bed_read_one(bed);
	bed_expect_done(bed, submitter, 0);
	for (int i = 0; i < 3; i++)
		bed_expect_done(bed, user, 0);
}

static void explain_tells_the_past_of_what_is_gone(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	json_t *answer;
	json_t *grant;
	double ended;

	bed_reserve(bed, client, "slurm/1/0", "n[0-1]");
	bed_advance(bed, 7000);
	bed_ask(bed, client, "release", "{s:s}", "key", "slurm/1/0");
	/* Its events are on their way to the disk still. */
	bed_ask(bed, client, "explain", "{s:s}", "key", "slurm/1/0");
	bed_commit(bed);
	bed_expect_done(bed, client, 0);
	answer = bed_expect(bed, client, 0);
	grant = json_array_get(json_object_get(answer, "grants"), 0);
	assert_string_equal(text_of(grant, "state"), "gone");
	assert_string_equal(text_of(grant, "outcome"), "released");
	assert_string_equal(text_of(grant, "reason"), "request");
	assert_string_equal(text_of(grant, "nodes"), "n[0-1]");
	assert_string_equal(text_of(json_object_get(grant, "had"), "vni"),
			    "1024");
	ended = json_number_value(json_object_get(grant, "ended"));
	assert_true(
		ended - json_number_value(json_object_get(grant, "since")) ==
		7);
	json_decref(answer);
	bed_ask(bed, bed_client(bed, BED_OTHER), "explain", "{s:s}", "key",
		"slurm/1/0");
	bed_expect_done(bed, bed->peer_last, -EPERM);
	bed_ask(bed, client, "explain", "{s:s}", "key", "slurm/2/0");
	bed_expect_done(bed, client, -ENOENT);
}

static void reconfigure_says_what_changed_or_all_errors(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_ROOT);
	json_t *answer;

	bed->reconfigure_nodes = "n[0-10]";
	bed_ask(bed, client, "reconfigure", NULL);
	bed_commit(bed);
	answer = bed_expect(bed, client, 0);
	assert_string_not_equal(text_of(answer, "changes"), "");
	json_decref(answer);
	bed_reserve(bed, client, "slurm/1/0", "n10");
	bed->reconfigure_result = -EINVAL;
	bed_ask(bed, client, "reconfigure", NULL);
	assert_refused(bed, client, bed->id_last, -EINVAL,
		       "f:1: wrong\nf:2: wrong too");
}

static void metrics_count_requests_by_op(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	json_t *answer;
	const char *text;

	bed_ask(bed, client, "reserve", "{s:{s:s, s:i, s:i, s:s}}", "request",
		"key", "slurm/1/0", "uid", BED_USER, "gid", BED_USER, "nodes",
		"n0");
	sim_clock_advance(&bed->clock, 40);
	bed_commit(bed);
	bed_expect_done(bed, client, 0);
	bed_ask(bed, client, "release", "{s:s}", "key", "slurm/9");
	bed_commit(bed);
	bed_expect_done(bed, client, -ENOENT);
	bed_ask(bed, client, "metrics", NULL);
	answer = bed_expect(bed, client, 0);
	text = text_of(answer, "text");
	assert_non_null(strstr(text, "\nfairlead_epoch 7\n"));
	assert_non_null(strstr(
		text,
		"\nfairlead_request_seconds_count{operation=\"reserve\"} 1\n"));
	assert_non_null(strstr(text,
			       "\nfairlead_request_seconds_bucket{operation="
			       "\"reserve\",le=\"0.01\"} 0\n"));
	assert_non_null(strstr(text,
			       "\nfairlead_request_seconds_bucket{operation="
			       "\"reserve\",le=\"0.05\"} 1\n"));
	assert_non_null(strstr(text, "\nfairlead_request_seconds_sum{operation="
				     "\"reserve\"} 0.040\n"));
	assert_non_null(strstr(text, "\nfairlead_commit_seconds_sum 0.040\n"));
	assert_non_null(
		strstr(text, "\nfairlead_commit_seconds_bucket{le=\"0.01\"} "));
	assert_non_null(strstr(text, "\nfairlead_request_failures_total{"
				     "operation=\"release\"} 1\n"));
	assert_non_null(strstr(text, "\nfairlead_journal_available 1\n"));
	json_decref(answer);
}

static void what_an_operator_asks_is_logged_with_the_uid(void **state)
{
	static const struct {
		const char *op, *members;
	} asked[] = {
		{ "node-fence", "{\"nodes\":\"n9\"}" },
		{ "node-drain", "{\"nodes\":\"n9\",\"reason\":\"dust\"}" },
		{ "quarantine-release",
		  "{\"pool\":\"vni\",\"ids\":\"1030\",\"force\":true}" },
		{ "recover-waive", "{\"nodes\":\"n9\"}" },
	};
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_ROOT);
	char wanted[64];

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		json_auto_t *members = json_loads(asked[i].members, 0, NULL);

		bed_ask(bed, client, asked[i].op, "O", members);
		bed_commit(bed);
		snprintf(wanted, sizeof(wanted), "\"op\":\"%s\"", asked[i].op);
		assert_non_null(
			strstr(bed->last_line,
			       "request of an operator uid=0 request={"));
		assert_non_null(strstr(bed->last_line, wanted));
		json_decref(bed_expect(bed, client, i == 2 ? -EINVAL : 0));
	}
}

/* The next answer, with or without a warning that no node has registered. */
static void assert_warned(struct bed *bed, uint64_t client, int result,
			  const char *warning)
{
	json_auto_t *answer = bed_expect(bed, client, result);

	if (strncmp(text_of(answer, "warning"), warning,
		    *warning ? strlen(warning) : 1) != 0)
		fail_msg("the warning is '%s'", text_of(answer, "warning"));
}

static void every_answer_warns_until_a_node_has_registered(void **state)
{
	static const char none[] = "no node has registered with this manager "
				   "since it started 3 s ago";
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_ROOT);
	struct bed_node node;

	sim_clock_advance(&bed->clock, 3000);
	bed_reserve(bed, client, "slurm/1/0", "n0");
	bed_ask(bed, client, "status", NULL);
	assert_warned(bed, client, 0, none);
	bed_ask(bed, client, "list", NULL);
	assert_warned(bed, client, 0, none);
	bed_ask(bed, client, "apply", "{s:i}", "grant_id", 1);
	bed_commit(bed);
	assert_warned(bed, client, -EHOSTUNREACH, none);
	bed_ask(bed, client, "no-such-op", NULL);
	assert_warned(bed, client, -ENOSYS, none);
	bed_node_up(bed, "n0", &node);
	bed_ask(bed, client, "status", NULL);
	assert_warned(bed, client, 0, "");
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, bed_set_up, bed_tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_op_is_for_those_in_the_table),
		TEST(root_and_submitters_go_first),
		TEST(what_nodes_are_asked_is_roots),
		TEST(root_of_another_machine_is_a_user_like_others),
		TEST(a_user_sees_its_own_jobs_only),
		TEST(what_is_no_object_closes_the_connection),
		TEST(bad_framing_is_answered_and_closed),
		TEST(what_can_be_read_is_refused_with_its_id),
		TEST(the_65th_open_request_is_put_off),
		TEST(too_many_clients_are_refused_with_the_reason),
		TEST(nothing_is_reserved_for_one_who_has_hung_up),
		TEST(a_list_of_a_state_that_is_none_is_refused),
		TEST(a_client_that_does_not_read_is_let_go),
		TEST(an_answer_to_nobody_is_dropped),
		TEST(status_says_who_and_how_long),
		TEST(the_eventlog_is_read_from_the_journal),
		TEST(users_reads_of_the_journal_are_one_at_a_time),
		TEST(explain_tells_the_past_of_what_is_gone),
		TEST(reconfigure_says_what_changed_or_all_errors),
		TEST(metrics_count_requests_by_op),
		TEST(what_an_operator_asks_is_logged_with_the_uid),
		TEST(every_answer_warns_until_a_node_has_registered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
