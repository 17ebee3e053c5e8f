/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of job managers and applications, without a socket. */
#include "emu/fm/core/softfm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rng.h"

#define JOBS  "/fm" SOFTFM_JOBS_PATH
#define TREES "/fm" SOFTFM_MULTICAST_PATH
#define JSON  "application/json"
#define FORM  "application/x-www-form-urlencoded"
#define BASIC "Basic Y3hpOnB3" /* cxi:pw */

struct fixture {
	struct softfm_config config;
	struct sim_rng rng;
	struct rng_seam seam;
	struct softfm *softfm;
	struct softfm_answer answer;
	uint64_t now_ms;
	char session[128]; /* "Bearer TOKEN" of job "cl-a1" */
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->config = (struct softfm_config){
		.prefix = "/fm",
		.client_id = "id",
		.client_secret = "s3cret",
		.password = "pw",
		.address_count = 4,
		.token_life_s = 60,
		.token_may_get = true,
		.token_may_patch = true,
	};
	sim_rng_init(&fixture->rng, 1);
	fixture->seam = sim_rng_seam(&fixture->rng);
	fixture->softfm = softfm_create(&fixture->config, &fixture->seam);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	json_decref(fixture->answer.body);
	softfm_destroy(fixture->softfm);
	free(fixture);
	return 0;
}

/* A request of whoever has this header: the status. */
static unsigned int ask(struct fixture *fixture, const char *authorization,
			const char *method, const char *path, const char *body)
{
	const struct softfm_request request = {
		.method = method,
		.path = path,
		.authorization = authorization,
		.content_type = strstr(path, "token") != NULL ? FORM : JSON,
		.body = body,
		.size = body != NULL ? strlen(body) : 0,
	};

	json_decref(fixture->answer.body);
	softfm_handle(fixture->softfm, &request, fixture->now_ms,
		      &fixture->answer);
	return fixture->answer.status;
}

static const char *answer_text(struct fixture *fixture, const char *name)
{
	return json_string_value(json_object_get(fixture->answer.body, name));
}

static unsigned int job_make(struct fixture *fixture, const char *id,
			     unsigned int limit)
{
	char body[128];

	snprintf(body, sizeof(body), "{\"jobID\":\"%s\",\"mcastLimit\":%u}", id,
		 limit);
	return ask(fixture, BASIC, "POST", JOBS, body);
}

/* Job cl-a1, and its token. */
static void session_make(struct fixture *fixture, unsigned int limit)
{
	assert_int_equal(job_make(fixture, "cl-a1", limit), 201);
	snprintf(fixture->session, sizeof(fixture->session), "Bearer %s",
		 answer_text(fixture, "sessionToken"));
}

static unsigned int tree_make(struct fixture *fixture, const char *macs,
			      const char *step)
{
	char body[512];

	snprintf(body, sizeof(body),
		 "{\"macs\":[%s],\"vni\": 4034,\"timeout\":20000000,"
		 "\"jobID\":\"cl-a1\",\"jobStepID\":\"%s\"}",
		 macs, step);
	return ask(fixture, fixture->session, "POST", TREES, body);
}

static size_t tree_count(struct fixture *fixture)
{
	json_t *state = softfm_save(fixture->softfm);
	size_t count = json_object_size(json_object_get(state, "multicasts"));

	json_decref(state);
	return count;
}

/* --- credentials --- */

static const char form[] = "grant_type=client_credentials&client_id=id&"
			   "client_secret=s3cret&scope=openid";

static void test_token(void **state)
{
	struct fixture *fixture = *state;
	char header[128];

	assert_int_equal(ask(fixture, NULL, "POST", "/fm/oauth/token", form),
			 200);
	assert_string_equal(answer_text(fixture, "token_type"), "Bearer");
	snprintf(header, sizeof(header), "Bearer %s",
		 answer_text(fixture, "access_token"));
	assert_int_equal(ask(fixture, header, "GET", JOBS, NULL), 200);
	fixture->now_ms = 59999;
	assert_int_equal(ask(fixture, header, "GET", JOBS, NULL), 200);
	fixture->now_ms = 60000;
	assert_int_equal(ask(fixture, header, "GET", JOBS, NULL), 401);
}

static void test_token_is_expired_by_control(void **state)
{
	struct fixture *fixture = *state;
	char header[128];

	ask(fixture, NULL, "POST", "/fm/oauth/token", form);
	snprintf(header, sizeof(header), "Bearer %s",
		 answer_text(fixture, "access_token"));
	softfm_expire(fixture->softfm);
	assert_int_equal(ask(fixture, header, "GET", JOBS, NULL), 401);
}

static void test_form_is_decoded(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, NULL, "POST", "/fm/oauth/token",
			     "grant_type=client_credentials&client_id=%69d&"
			     "client_secret=s3%63ret"),
			 200);
	/* What is no code, and what would end the text, is a character. */
	assert_int_equal(ask(fixture, NULL, "POST", "/fm/oauth/token",
			     "grant_type=client_credentials&client_id=id&"
			     "client_secret=s3cret%"),
			 401);
	assert_int_equal(ask(fixture, NULL, "POST", "/fm/oauth/token",
			     "grant_type=client_credentials&client_id=id&"
			     "client_secret=s3cret%00x"),
			 401);
}

static void test_token_of_a_wrong_secret(void **state)
{
	static const char *const forms[] = {
		"",
		"grant_type=client_credentials&client_id=id&client_secret=x",
		"grant_type=client_credentials&client_id=id&client_secret=",
		"grant_type=client_credentials&client_id=id",
		"grant_type=client_credentials&client_id=i&client_secret="
		"s3cret",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		assert_int_equal(ask(fixture, NULL, "POST", "/fm/oauth/token",
				     forms[i]),
				 i == 0 ? 400 : 401);
}

static void test_without_credentials(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, NULL, "GET", JOBS, NULL), 401);
	assert_int_equal(ask(fixture, "", "GET", JOBS, NULL), 401);
	assert_int_equal(ask(fixture, "Bearer ", "GET", JOBS, NULL), 401);
	assert_int_equal(ask(fixture, "Basic Y3hpOnB4", "GET", JOBS, NULL),
			 401);
	assert_int_equal(ask(fixture, BASIC, "GET", JOBS, NULL), 200);
}

static void test_session_token_is_limited(void **state)
{
	struct fixture *fixture = *state;

	session_make(fixture, 2);
	assert_int_equal(job_make(fixture, "cl-a2", 2), 201);
	assert_int_equal(ask(fixture, fixture->session, "GET", JOBS, NULL),
			 403);
	assert_int_equal(ask(fixture, fixture->session, "DELETE", JOBS "/cl-a1",
			     NULL),
			 403);
	assert_int_equal(ask(fixture, fixture->session, "GET", JOBS "/cl-a1",
			     NULL),
			 200);
	assert_int_equal(ask(fixture, fixture->session, "GET", JOBS "/cl-a2",
			     NULL),
			 403);
	fixture->config.token_may_get = false;
	fixture->config.token_may_patch = false;
	assert_int_equal(ask(fixture, fixture->session, "GET", JOBS "/cl-a1",
			     NULL),
			 403);
	assert_int_equal(ask(fixture, fixture->session, "PATCH", JOBS "/cl-a1",
			     "{\"jobSteps\":{}}"),
			 403);
}

/* --- jobs --- */

static void test_list_has_links_also_when_empty(void **state)
{
	struct fixture *fixture = *state;
	const json_t *links;

	assert_int_equal(ask(fixture, BASIC, "GET", JOBS "/", NULL), 200);
	links = json_object_get(fixture->answer.body, "documentLinks");
	assert_true(json_is_array(links));
	assert_int_equal(json_array_size(links), 0);
	job_make(fixture, "cl-a1", 1);
	assert_int_equal(ask(fixture, BASIC, "GET", JOBS, NULL), 200);
	links = json_object_get(fixture->answer.body, "documentLinks");
	/* Without the prefix: Slurm skips a fixed number of characters. */
	assert_string_equal(json_string_value(json_array_get(links, 0)),
			    SOFTFM_JOBS_PATH "/cl-a1");
	assert_int_equal(ask(fixture, BASIC, "GET", JOBS "/cl-a1/", NULL), 200);
	assert_string_equal(answer_text(fixture, "documentSelfLink"),
			    SOFTFM_JOBS_PATH "/cl-a1");
}

static void test_job_twice(void **state)
{
	struct fixture *fixture = *state;

	session_make(fixture, 3);
	assert_int_equal(job_make(fixture, "cl-a1", 3), 409);
	fixture->config.duplicate = SOFTFM_DUPLICATE_SAME;
	assert_int_equal(job_make(fixture, "cl-a1", 3), 200);
	assert_string_equal(answer_text(fixture, "sessionToken"),
			    fixture->session + strlen("Bearer "));
}

static void test_bad_jobs(void **state)
{
	static const char *const bodies[] = {
		"",
		"[]",
		"{",
		"{}",
		"{\"jobID\":\"x\"}",
		"{\"jobID\":\"x\",\"mcastLimit\":0}",
		"{\"jobID\":\"x\",\"mcastLimit\":-1}",
		"{\"jobID\":\"x\",\"mcastLimit\":\"1\"}",
		"{\"jobID\":\"\",\"mcastLimit\":1}",
		"{\"jobID\":\"a/b\",\"mcastLimit\":1}",
		"{\"jobID\":\"a b\",\"mcastLimit\":1}",
		"{\"jobID\":1,\"mcastLimit\":1}",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		assert_int_equal(ask(fixture, BASIC, "POST", JOBS, bodies[i]),
				 400);
		assert_non_null(answer_text(fixture, "detail"));
		assert_non_null(answer_text(fixture, "message"));
	}
}

static void test_job_ends_with_its_trees(void **state)
{
	struct fixture *fixture = *state;

	session_make(fixture, 3);
	tree_make(fixture, "\"0:00:10\"", "0");
	tree_make(fixture, "\"0:00:11\"", "1");
	assert_int_equal(tree_count(fixture), 2);
	assert_int_equal(ask(fixture, BASIC, "DELETE", JOBS "/cl-a1/", NULL),
			 200);
	assert_int_equal(tree_count(fixture), 0);
	assert_int_equal(ask(fixture, BASIC, "DELETE", JOBS "/cl-a1", NULL),
			 404);
	/* Its token ended with it. */
	assert_int_equal(tree_make(fixture, "\"0:00:12\"", "0"), 401);
}

static void test_step_ends_with_its_trees(void **state)
{
	struct fixture *fixture = *state;

	session_make(fixture, 3);
	tree_make(fixture, "\"0:00:10\"", "0");
	tree_make(fixture, "\"0:00:11\"", "0/\xc6\x92");
	tree_make(fixture, "\"0:00:12\"", "0");
	assert_int_equal(ask(fixture, fixture->session, "PATCH", JOBS "/cl-a1",
			     "{\"jobSteps\":{\"0\":null,\"no such\":null}}"),
			 200);
	assert_int_equal(tree_count(fixture), 1);
	assert_int_equal(ask(fixture, fixture->session, "PATCH", JOBS "/cl-a1",
			     "{\"jobSteps\":{\"0\":[1]}}"),
			 400);
	assert_int_equal(ask(fixture, fixture->session, "PATCH", JOBS "/cl-a1",
			     "{\"mcastLimit\":9}"),
			 400);
}

/* --- trees --- */

static void test_tree(void **state)
{
	struct fixture *fixture = *state;

	session_make(fixture, 3);
	assert_int_equal(tree_make(fixture, "\"A:BC:DE\",\"0:00:11\"", "0"),
			 201);
	assert_int_equal(json_integer_value(json_object_get(
				 fixture->answer.body, "mcastID")),
			 0);
	assert_string_equal(answer_text(fixture, "hwRoot"),
			    "00:00:00:0A:BC:DE");
	assert_string_equal(fixture->answer.job, "cl-a1");
	assert_true(fixture->answer.has_changed);
	/* Another root for another tree of the same members. */
	assert_int_equal(tree_make(fixture, "\"A:BC:DE\",\"0:00:11\"", "0"),
			 201);
	assert_string_equal(answer_text(fixture, "hwRoot"),
			    "00:00:00:00:00:11");
	assert_int_equal(ask(fixture, fixture->session, "DELETE", TREES "/0",
			     NULL),
			 200);
	assert_int_equal(ask(fixture, fixture->session, "DELETE", TREES "/0",
			     NULL),
			 404);
	assert_int_equal(ask(fixture, fixture->session, "DELETE", TREES "/x",
			     NULL),
			 404);
}

static void test_tree_runs_out(void **state)
{
	struct fixture *fixture = *state;

	session_make(fixture, 2);
	assert_int_equal(tree_make(fixture, "\"0:00:10\"", "0"), 201);
	assert_int_equal(tree_make(fixture, "\"0:00:10\"", "0"), 507);
	assert_string_equal(answer_text(fixture, "message"),
			    "03: no hardware root");
	assert_int_equal(tree_make(fixture, "\"0:00:11\"", "0"), 201);
	assert_int_equal(tree_make(fixture, "\"0:00:12\"", "0"), 507);
	assert_string_equal(answer_text(fixture, "message"),
			    "01: mcastLimit reached");
}

static void test_addresses_run_out(void **state)
{
	struct fixture *fixture = *state;

	session_make(fixture, 9);
	tree_make(fixture, "\"0:00:10\"", "0");
	tree_make(fixture, "\"0:00:11\"", "0");
	tree_make(fixture, "\"0:00:12\"", "0");
	assert_int_equal(tree_make(fixture, "\"0:00:13\"", "0"), 201);
	assert_int_equal(tree_make(fixture, "\"0:00:14\"", "0"), 507);
	assert_string_equal(answer_text(fixture, "message"),
			    "02: no multicast address");
}

static void test_tree_of_another_job(void **state)
{
	struct fixture *fixture = *state;
	char other[128];

	session_make(fixture, 2);
	tree_make(fixture, "\"0:00:10\"", "0");
	assert_int_equal(job_make(fixture, "cl-a2", 2), 201);
	snprintf(other, sizeof(other), "Bearer %s",
		 answer_text(fixture, "sessionToken"));
	assert_int_equal(ask(fixture, other, "DELETE", TREES "/0", NULL), 403);
	assert_int_equal(ask(fixture, other, "POST", TREES,
			     "{\"macs\":[\"0:00:10\"],\"vni\":1,\"timeout\":1,"
			     "\"jobID\":\"cl-a1\",\"jobStepID\":\"0\"}"),
			 403);
}

static void test_bad_trees(void **state)
{
	static const char *const macs[] = {
		"",
		"1",
		"\"\"",
		"\"0:0:0:0\"",
		"\"10:00:10\"",
		"\"0:00:1G\"",
		"\"0:00\"",
		"\"0:00:10\",\"0:00:10\"",
	};
	struct fixture *fixture = *state;

	session_make(fixture, 2);
	for (size_t i = 0; i < sizeof(macs) / sizeof(macs[0]); i++)
		assert_int_equal(tree_make(fixture, macs[i], "0"), 400);
	assert_int_equal(ask(fixture, fixture->session, "POST", TREES,
			     "{\"macs\":[\"0:00:10\"],\"vni\":0,\"timeout\":1,"
			     "\"jobID\":\"cl-a1\",\"jobStepID\":\"0\"}"),
			 400);
	assert_int_equal(tree_count(fixture), 0);
}

/* --- paths --- */

static void test_unknown_paths(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, BASIC, "GET", SOFTFM_JOBS_PATH, NULL),
			 404);
	assert_int_equal(ask(fixture, BASIC, "GET", "/fm", NULL), 404);
	assert_int_equal(ask(fixture, BASIC, "GET", JOBS "x", NULL), 404);
	assert_int_equal(ask(fixture, BASIC, "PUT", JOBS, NULL), 405);
	assert_int_equal(ask(fixture, BASIC, "DELETE", JOBS, NULL), 405);
}

/* --- state and faults --- */

static void test_state_comes_back(void **state)
{
	struct fixture *fixture = *state;
	struct fairlead_error error;
	json_t *saved;

	session_make(fixture, 3);
	tree_make(fixture, "\"0:00:10\"", "0");
	saved = softfm_save(fixture->softfm);
	softfm_destroy(fixture->softfm);
	fixture->softfm = softfm_create(&fixture->config, &fixture->seam);
	assert_int_equal(softfm_load(fixture->softfm, saved, &error), 0);
	json_decref(saved);
	assert_int_equal(tree_count(fixture), 1);
	/* The token is as good as before, and the root as taken. */
	assert_int_equal(tree_make(fixture, "\"0:00:10\"", "0"), 507);
}

static void test_state_that_is_none(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"jobs\":[],\"multicasts\":{}}",
		"{\"jobs\":{\"a\":{}},\"multicasts\":{}}",
		"{\"jobs\":{},\"multicasts\":{\"1\":{\"jobID\":\"a\"}}}",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		json_t *bad = json_loads(texts[i], 0, NULL);
		struct fairlead_error error;

		assert_int_equal(softfm_load(fixture->softfm, bad, &error),
				 -EINVAL);
		json_decref(bad);
	}
}

static void test_faults(void **state)
{
	struct fixture *fixture = *state;
	struct softfm_fault fault = {
		.op = SOFTFM_OP_CREATE,
		.nth = 2,
		.count = 1,
		.status = 503,
	};

	assert_int_equal(softfm_fault_add(fixture->softfm, &fault), 0);
	assert_int_equal(job_make(fixture, "cl-a1", 1), 201);
	assert_int_equal(job_make(fixture, "cl-a2", 1), 503);
	assert_int_equal(job_make(fixture, "cl-a2", 1), 201);
	fault = (struct softfm_fault){
		.op = SOFTFM_OP_ANY,
		.nth = 1,
		.count = 1,
		.delay_ms = SOFTFM_FOREVER,
		.is_lost_after = true,
	};
	softfm_fault_add(fixture->softfm, &fault);
	assert_int_equal(job_make(fixture, "cl-a3", 1), 201);
	assert_true(fixture->answer.is_lost);
	assert_true(fixture->answer.delay_ms == SOFTFM_FOREVER);
	assert_int_equal(softfm_vanish(fixture->softfm, "cl-a3"), 0);
	assert_int_equal(softfm_vanish(fixture->softfm, "cl-a3"), -ENOENT);
}

static void test_list_is_cut(void **state)
{
	struct fixture *fixture = *state;
	const struct softfm_fault fault = {
		.op = SOFTFM_OP_LIST,
		.nth = 1,
		.count = 1,
		.is_cut = true,
	};

	job_make(fixture, "cl-a1", 1);
	job_make(fixture, "cl-a2", 1);
	softfm_fault_add(fixture->softfm, &fault);
	ask(fixture, BASIC, "GET", JOBS, NULL);
	assert_int_equal(json_array_size(json_object_get(fixture->answer.body,
							 "documentLinks")),
			 1);
}

static void test_page_has_no_token(void **state)
{
	struct fixture *fixture = *state;
	struct writer page = { 0 };

	session_make(fixture, 3);
	assert_int_equal(job_make(fixture, "<b>", 1), 201);
	tree_make(fixture, "\"0:00:10\"", "<i>");
	softfm_page(fixture->softfm, &page);
	write_u8(&page, 0);
	assert_null(strstr((char *)page.data,
			   fixture->session + strlen("Bearer ")));
	assert_null(strstr((char *)page.data, "<b>"));
	assert_null(strstr((char *)page.data, "<i>"));
	assert_non_null(strstr((char *)page.data, "&lt;i>"));
	writer_fini(&page);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_token),
		TEST(test_token_is_expired_by_control),
		TEST(test_form_is_decoded),
		TEST(test_token_of_a_wrong_secret),
		TEST(test_without_credentials),
		TEST(test_session_token_is_limited),
		TEST(test_list_has_links_also_when_empty),
		TEST(test_job_twice),
		TEST(test_bad_jobs),
		TEST(test_job_ends_with_its_trees),
		TEST(test_step_ends_with_its_trees),
		TEST(test_tree),
		TEST(test_tree_runs_out),
		TEST(test_addresses_run_out),
		TEST(test_tree_of_another_job),
		TEST(test_bad_trees),
		TEST(test_unknown_paths),
		TEST(test_state_comes_back),
		TEST(test_state_that_is_none),
		TEST(test_faults),
		TEST(test_list_is_cut),
		TEST(test_page_has_no_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
