/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked of a fabric manager, and what is made of its answers. */
#include "lanes/manager/outside/fabric_manager.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SENT_MAX 16

/* A request that was given to the seam. */
struct sent {
	uint64_t id;
	char line[256]; /* "METHOD URL BODY" */
	char headers[512];
};

struct fixture {
	struct fabric_manager_config config;
	struct fabric_manager *manager;
	struct sent sent[SENT_MAX];
	size_t sent_count;
	/* The last end. */
	size_t end_count;
	uint64_t id;
	int result;
	bool is_reached;
	char text[1024];
	char token[FABRIC_MANAGER_TOKEN_MAX + 1];
	char names[256];
};

static void on_send(void *ctx, uint64_t id, const struct http_request *request)
{
	struct fixture *fixture = ctx;
	struct sent *sent = &fixture->sent[fixture->sent_count++];

	assert_true(fixture->sent_count < SENT_MAX);
	*sent = (struct sent){ .id = id };
	snprintf(sent->line, sizeof(sent->line), "%s %s %.*s", request->method,
		 request->url, request->body != NULL ? (int)request->size : 0,
		 request->body != NULL ? request->body : "");
	for (size_t i = 0; request->headers[i] != NULL; i++)
		snprintf(sent->headers + strlen(sent->headers),
			 sizeof(sent->headers) - strlen(sent->headers), "%s\n",
			 request->headers[i]);
}

static void on_done(void *ctx, uint64_t id,
		    const struct fabric_manager_outcome *outcome)
{
	struct fixture *fixture = ctx;

	fixture->end_count++;
	fixture->id = id;
	fixture->result = outcome->result;
	fixture->is_reached = outcome->is_reached;
	snprintf(fixture->text, sizeof(fixture->text), "%s",
		 outcome->result < 0 ? outcome->error.text : "");
	snprintf(fixture->token, sizeof(fixture->token), "%s",
		 outcome->token != NULL ? outcome->token : "");
	fixture->names[0] = '\0';
	for (size_t i = 0; i < outcome->name_count; i++)
		snprintf(fixture->names + strlen(fixture->names),
			 sizeof(fixture->names) - strlen(fixture->names), "%s ",
			 outcome->names[i]);
}

static const struct http_ops ops = { .send = on_send };

static void create(struct fixture *fixture)
{
	const struct http_seam seam = { &ops, fixture };

	fabric_manager_destroy(fixture->manager);
	fixture->manager = fabric_manager_create(&fixture->config, &seam,
						 on_done, fixture);
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->config = (struct fabric_manager_config){
		.url = "https://fm",
		.auth = FABRIC_MANAGER_BASIC,
		.endpoint = "https://auth/token",
		.client_id = "wlm",
		.client_secret = "s3cret",
		.password = "pw",
		.timeout_ms = 5000,
	};
	create(fixture);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	fabric_manager_destroy(fixture->manager);
	free(fixture);
	return 0;
}

static const struct sent *last(const struct fixture *fixture)
{
	assert_true(fixture->sent_count > 0);
	return &fixture->sent[fixture->sent_count - 1];
}

/* Answer the last request. */
static void answer(struct fixture *fixture, unsigned int status,
		   const char *body)
{
	const struct http_reply reply = {
		.status = status,
		.body = body,
		.size = strlen(body),
	};

	fabric_manager_reply(fixture->manager, last(fixture)->id, &reply);
}

static void answer_none(struct fixture *fixture)
{
	const struct http_reply reply = {
		.result = -ETIMEDOUT,
		.text = "timeout",
	};

	fabric_manager_reply(fixture->manager, last(fixture)->id, &reply);
}

static void expect_end(const struct fixture *fixture, uint64_t id, int result)
{
	assert_int_equal(fixture->end_count, 1);
	assert_int_equal(fixture->id, id);
	assert_int_equal(fixture->result, result);
}

/* --- make --- */

static void test_make(void **state)
{
	struct fixture *fixture = *state;

	fabric_manager_make(fixture->manager, 7, "cl-g12", 23);
	assert_string_equal(last(fixture)->line,
			    "POST https://fm/fabric/collectives/jobs "
			    "{\"jobID\": \"cl-g12\", \"mcastLimit\": 23}");
	assert_non_null(strstr(last(fixture)->headers,
			       "Authorization: Basic Y3hpOnB3\n"));
	assert_int_equal(fixture->end_count, 0);
	answer(fixture, 201, "{\"sessionToken\":\"T-1\"}");
	expect_end(fixture, 7, 0);
	assert_string_equal(fixture->token, "T-1");
	assert_int_equal(fixture->sent_count, 1);
}

static void test_make_takes_over_what_exists(void **state)
{
	struct fixture *fixture = *state;

	fabric_manager_make(fixture->manager, 7, "cl-g12", 23);
	answer(fixture, 409, "{}");
	assert_string_equal(last(fixture)->line,
			    "GET https://fm/fabric/collectives/jobs/cl-g12 ");
	answer(fixture, 200, "{\"sessionToken\":\"T-1\"}");
	expect_end(fixture, 7, 0);
	assert_string_equal(fixture->token, "T-1");
}

static void test_make_again_when_it_vanishes(void **state)
{
	struct fixture *fixture = *state;

	fabric_manager_make(fixture->manager, 7, "cl-g12", 23);
	answer(fixture, 409, "{}");
	answer(fixture, 404, "{}");
	expect_end(fixture, 7, -EAGAIN);
	/* There was an answer: nobody is cut off. */
	assert_true(fixture->is_reached);
}

/* It exists: what the read answers cannot be taken for "not done". */
static void test_make_that_exists_and_is_not_readable(void **state)
{
	static const unsigned int statuses[] = { 400, 401, 403, 409, 507 };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		fixture->end_count = 0;
		fixture->sent_count = 0;
		fabric_manager_make(fixture->manager, i, "cl-g12", 23);
		answer(fixture, 409, "{}");
		answer(fixture, statuses[i], "{\"detail\":\"no\"}");
		expect_end(fixture, i, -EPROTO);
		assert_non_null(strstr(fixture->text, ": no"));
	}
}

static void test_make_is_refused(void **state)
{
	static const struct {
		unsigned int status;
		int result;
	} cases[] = {
		{ 400, -EINVAL }, { 401, -EACCES }, { 403, -EACCES },
		{ 404, -ENOENT }, /* the URL is wrong */
		{ 418, -EINVAL }, { 408, -EAGAIN }, { 429, -EAGAIN },
		{ 500, -EAGAIN }, { 503, -EAGAIN }, { 507, -ENOSPC },
		{ 302, -EINVAL },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture->end_count = 0;
		fixture->sent_count = 0;
		fabric_manager_make(fixture->manager, i, "cl-g12", 23);
		answer(fixture, cases[i].status, "{\"detail\":\"no\"}");
		expect_end(fixture, i, cases[i].result);
		assert_non_null(strstr(fixture->text, ": no"));
		assert_non_null(strstr(fixture->text, "cl-g12"));
		assert_true(fixture->is_reached);
	}
}

static void test_make_without_an_answer(void **state)
{
	struct fixture *fixture = *state;

	fabric_manager_make(fixture->manager, 7, "cl-g12", 23);
	answer_none(fixture);
	expect_end(fixture, 7, -EAGAIN);
	assert_false(fixture->is_reached);
	assert_string_equal(fixture->text,
			    "no answer from https://fm: timeout");
}

/* It has answered, so that the others need not wait. */
static void test_answers_that_are_too_large(void **state)
{
	const struct http_reply reply = {
		.result = -EMSGSIZE,
		.text = "the reply is too large",
	};
	struct fixture *fixture = *state;

	fabric_manager_make(fixture->manager, 7, "cl-g12", 23);
	fabric_manager_reply(fixture->manager, last(fixture)->id, &reply);
	expect_end(fixture, 7, -EPROTO);
	assert_true(fixture->is_reached);
	assert_non_null(strstr(fixture->text, "too large"));
}

static void test_make_with_a_bad_answer(void **state)
{
	static const char *const bodies[] = {
		"",
		"{",
		"[]",
		"{}",
		"{\"sessionToken\":1}",
		"{\"sessionToken\":\"\"}",
		"{\"sessionToken\":\"a b\"}",
		"{\"sessionToken\":\"a\\nb\"}",
		"{\"sessionToken\":\"a'b\"}",
		"{\"sessionToken\":\"\xc3\xa4\"}",
		"{\"sessionToken\":\"\xff\"}",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		fixture->end_count = 0;
		fixture->sent_count = 0;
		fabric_manager_make(fixture->manager, i, "cl-g12", 23);
		answer(fixture, 201, bodies[i]);
		expect_end(fixture, i, -EPROTO);
	}
}

static void test_make_with_a_token_that_is_too_long(void **state)
{
	struct fixture *fixture = *state;
	const size_t size = FABRIC_MANAGER_TOKEN_MAX;
	char *body = malloc(size + 64);
	int used = sprintf(body, "{\"sessionToken\":\"");

	memset(body + used, 'x', size + 1);
	strcpy(body + used + size + 1, "\"}");
	fabric_manager_make(fixture->manager, 1, "cl-g12", 23);
	answer(fixture, 201, body);
	expect_end(fixture, 1, -EPROTO);
	strcpy(body + used + size, "\"}");
	fixture->end_count = 0;
	fabric_manager_make(fixture->manager, 1, "cl-g12", 23);
	answer(fixture, 201, body);
	expect_end(fixture, 1, 0);
	free(body);
}

static void test_no_secret_in_an_error(void **state)
{
	struct fixture *fixture = *state;

	fabric_manager_make(fixture->manager, 7, "cl-g12", 23);
	answer(fixture, 400, "{\"detail\":\"cxi:pw is wrong\"}");
	assert_null(strstr(fixture->text, "pw"));
	assert_non_null(strstr(fixture->text, "answers 400"));
	/* Nor in the form of the header. */
	fabric_manager_make(fixture->manager, 8, "cl-g13", 23);
	answer(fixture, 400, "{\"detail\":\"Basic Y3hpOnB3 is wrong\"}");
	assert_null(strstr(fixture->text, "Y3hpOnB3"));
}

static void test_a_server_text_is_one_line(void **state)
{
	struct fixture *fixture = *state;

	fabric_manager_make(fixture->manager, 7, "cl-g12", 23);
	answer(fixture, 400,
	       "{\"detail\":\"\\u001b[2Jno\\nhint: \xc3\xa4\\u007f\"}");
	assert_non_null(strstr(fixture->text, ": ?[2Jno hint: \xc3\xa4?"));
}

static void test_no_token_of_a_job_in_an_error(void **state)
{
	struct fixture *fixture = *state;

	fabric_manager_drop(fixture->manager, 7, "cl-g12");
	answer(fixture, 400,
	       "{\"message\":\"09: busy: "
	       "{\\\"sessionToken\\\":\\\"d41d8cd98f00b"
	       "204e9800998ecf8427e\\\"} of "
	       "d41d8cd98f00b204e9800998ecf8427e\"}");
	assert_non_null(strstr(fixture->text, ": 09: busy: ... of ..."));
	assert_null(strstr(fixture->text, "d41d"));
}

/* --- drop, find, list --- */

static void test_drop(void **state)
{
	static const struct {
		unsigned int status;
		int result;
	} cases[] = {
		{ 200, 0 },       { 204, 0 },       { 404, 0 },
		{ 409, -EEXIST }, { 500, -EAGAIN }, { 401, -EACCES },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture->end_count = 0;
		fixture->sent_count = 0;
		fabric_manager_drop(fixture->manager, i, "cl-g12");
		assert_string_equal(
			last(fixture)->line,
			"DELETE https://fm/fabric/collectives/jobs/cl-g12 ");
		answer(fixture, cases[i].status, "");
		expect_end(fixture, i, cases[i].result);
	}
}

static void test_find(void **state)
{
	struct fixture *fixture = *state;

	fabric_manager_find(fixture->manager, 1, "cl-g12");
	answer(fixture, 200, "{}");
	expect_end(fixture, 1, 0);
	fixture->end_count = 0;
	fabric_manager_find(fixture->manager, 2, "cl-g12");
	answer(fixture, 404, "{}");
	expect_end(fixture, 2, -ENOENT);
}

static void test_list(void **state)
{
	struct fixture *fixture = *state;

	fabric_manager_list(fixture->manager, 1);
	assert_string_equal(last(fixture)->line,
			    "GET https://fm/fabric/collectives/jobs/ ");
	answer(fixture, 200,
	       "{\"documentLinks\":[\"/fabric/collectives/jobs/cl-g1\",5,"
	       "\"cl-g2\",\"/x/\",\"/x/a b\",\"/y/cl-g3\"]}");
	expect_end(fixture, 1, 0);
	assert_string_equal(fixture->names, "cl-g1 cl-g3 ");
	fixture->end_count = 0;
	fabric_manager_list(fixture->manager, 2);
	answer(fixture, 200, "{\"documentLinks\":[]}");
	expect_end(fixture, 2, 0);
	assert_string_equal(fixture->names, "");
	fixture->end_count = 0;
	fabric_manager_list(fixture->manager, 3);
	answer(fixture, 200, "{}");
	expect_end(fixture, 3, -EPROTO);
}

/* --- access tokens --- */

static void use_oauth(struct fixture *fixture)
{
	fixture->config.auth = FABRIC_MANAGER_OAUTH;
	create(fixture);
}

static void test_token_is_fetched_once(void **state)
{
	struct fixture *fixture = *state;

	use_oauth(fixture);
	fabric_manager_drop(fixture->manager, 1, "cl-g1");
	fabric_manager_drop(fixture->manager, 2, "cl-g2");
	assert_int_equal(fixture->sent_count, 1);
	assert_string_equal(last(fixture)->line,
			    "POST https://auth/token "
			    "grant_type=client_credentials&client_id=wlm&"
			    "client_secret=s3cret&scope=openid");
	answer(fixture, 200, "{\"access_token\":\"A1\"}");
	assert_int_equal(fixture->sent_count, 3);
	assert_non_null(
		strstr(last(fixture)->headers, "Authorization: Bearer A1\n"));
	assert_non_null(
		strstr(fixture->sent[1].headers, "Authorization: Bearer A1\n"));
	answer(fixture, 200, "{}");
	expect_end(fixture, 2, 0);
}

static void test_form_is_encoded(void **state)
{
	struct fixture *fixture = *state;

	fixture->config.client_secret = "a+b/c=&%\xc3\xa4~";
	use_oauth(fixture);
	fabric_manager_drop(fixture->manager, 1, "cl-g1");
	assert_non_null(strstr(last(fixture)->line,
			       "&client_secret=a%2Bb%2Fc%3D%26%25%C3%A4~&"));
}

static void test_token_is_renewed_once(void **state)
{
	struct fixture *fixture = *state;

	use_oauth(fixture);
	fabric_manager_drop(fixture->manager, 1, "cl-g1");
	answer(fixture, 200, "{\"access_token\":\"A1\"}");
	answer(fixture, 401, "{}");
	assert_non_null(strstr(last(fixture)->line, "POST https://auth"));
	answer(fixture, 200, "{\"access_token\":\"A2\"}");
	assert_non_null(
		strstr(last(fixture)->headers, "Authorization: Bearer A2\n"));
	assert_int_equal(fixture->end_count, 0);
	answer(fixture, 403, "{}");
	expect_end(fixture, 1, -EACCES);
	assert_int_equal(fixture->sent_count, 4);
}

/* The token that was refused is not the one that there is. */
static void test_token_that_is_renewed_already(void **state)
{
	struct fixture *fixture = *state;
	const struct http_reply refusal = { .status = 401 };

	use_oauth(fixture);
	fabric_manager_drop(fixture->manager, 1, "cl-g1");
	fabric_manager_drop(fixture->manager, 2, "cl-g2");
	answer(fixture, 200, "{\"access_token\":\"A1\"}");
	fabric_manager_reply(fixture->manager, fixture->sent[1].id, &refusal);
	answer(fixture, 200, "{\"access_token\":\"A2\"}");
	fabric_manager_reply(fixture->manager, fixture->sent[2].id, &refusal);
	/* Once more with A2, without another fetch. */
	assert_non_null(strstr(last(fixture)->line, "DELETE"));
	assert_non_null(strstr(last(fixture)->headers, "Bearer A2"));
}

static void test_token_is_refused(void **state)
{
	static const struct {
		unsigned int status;
		const char *body;
		int result;
	} cases[] = {
		{ 401, "{}", -EACCES },
		{ 200, "{}", -EACCES },
		{ 200, "{\"access_token\":\"a\\r\\nX: y\"}", -EACCES },
		{ 503, "", -EAGAIN },
		{ 429, "", -EAGAIN },
	};
	struct fixture *fixture = *state;

	use_oauth(fixture);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture->end_count = 0;
		fixture->sent_count = 0;
		fabric_manager_make(fixture->manager, i, "cl-g1", 1);
		answer(fixture, cases[i].status, cases[i].body);
		expect_end(fixture, i, cases[i].result);
		assert_null(strstr(fixture->text, "s3cret"));
	}
	fixture->end_count = 0;
	fabric_manager_make(fixture->manager, 9, "cl-g1", 1);
	answer_none(fixture);
	expect_end(fixture, 9, -EAGAIN);
	assert_false(fixture->is_reached);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_make),
		TEST(test_make_takes_over_what_exists),
		TEST(test_make_again_when_it_vanishes),
		TEST(test_make_that_exists_and_is_not_readable),
		TEST(test_make_is_refused),
		TEST(test_make_without_an_answer),
		TEST(test_answers_that_are_too_large),
		TEST(test_make_with_a_bad_answer),
		TEST(test_make_with_a_token_that_is_too_long),
		TEST(test_no_secret_in_an_error),
		TEST(test_a_server_text_is_one_line),
		TEST(test_no_token_of_a_job_in_an_error),
		TEST(test_drop),
		TEST(test_find),
		TEST(test_list),
		TEST(test_token_is_fetched_once),
		TEST(test_form_is_encoded),
		TEST(test_token_is_renewed_once),
		TEST(test_token_that_is_renewed_already),
		TEST(test_token_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
