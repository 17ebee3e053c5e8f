/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocking forms and the life of a lane, with the daemon in a thread. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lanes/client/handle.h"
#include "lanes/client/test/peer.h"
#include "lanes/proto/grant.h"

#define PUBLIC "{\"grant_id\":7,\"key\":\"slurm/17/0\"}"

/* A daemon that answers each request with the next of these, "" none. */
struct daemon {
	struct peer peer;
	const char *const *answers; /* members: "result":0,... */
	size_t count;
	json_t *requests; /* array of what was asked */
	pthread_t thread;
};

static void *serve(void *arg)
{
	struct daemon *daemon = arg;

	for (size_t i = 0; i < daemon->count; i++) {
		json_t *request = peer_request(daemon->peer.fd);
		json_int_t id =
			json_integer_value(json_object_get(request, "id"));

		json_array_append_new(daemon->requests, request);
		if (*daemon->answers[i])
			peer_answer(daemon->peer.fd, "{\"v\":1,\"id\":%lld,%s}",
				    id, daemon->answers[i]);
	}
	return NULL;
}

static void start_daemon(struct daemon *daemon, const char *const *answers,
			 size_t count)
{
	peer_init(&daemon->peer);
	daemon->answers = answers;
	daemon->count = count;
	daemon->requests = json_array();
	assert_int_equal(pthread_create(&daemon->thread, NULL, serve, daemon),
			 0);
}

/* The request of that number, once the daemon has answered all. */
static const json_t *stop_daemon(struct daemon *daemon, size_t index)
{
	assert_int_equal(pthread_join(daemon->thread, NULL), 0);
	assert_int_equal(json_array_size(daemon->requests), daemon->count);
	return json_array_get(daemon->requests, index);
}

static void fini_daemon(struct daemon *daemon)
{
	json_decref(daemon->requests);
	peer_fini(&daemon->peer);
}

/* Members of an answer that grants; the caller frees it. */
static char *granted(void)
{
	const struct grant grant = {
		.grant_id = 7,
		.epoch = 3,
		.public_text = PUBLIC,
	};
	char *text, *members;

	assert_int_equal(grant_format(&grant, &text), 0);
	assert_true(asprintf(&members,
			     "\"result\":0,\"grant_id\":7,\"grant\":\"%s\"",
			     text) > 0);
	free(text);
	return members;
}

static const struct fairlead_request a_request = {
	.key = "slurm/17",
	.uid = 1000,
	.gid = 100,
	.nodes = "n[0-3]",
	.cores = "4(x3),2",
	.options = "vnis=2",
};

static void a_call_returns_the_answer(void **state)
{
	static const char *const answers[] = { "\"result\":0,\"x\":1",
					       "\"result\":0" };
	struct daemon daemon;
	char *json;

	start_daemon(&daemon, answers, 2);
	assert_int_equal(fairlead_call(daemon.peer.handle, "status", NULL,
				       &json, NULL),
			 0);
	assert_non_null(strstr(json, "\"x\":1"));
	free(json);
	assert_int_equal(fairlead_call(daemon.peer.handle, "pools", "{}", NULL,
				       NULL),
			 0);
	stop_daemon(&daemon, 0);
	fini_daemon(&daemon);
}

static void a_call_that_fails_has_text_and_answer(void **state)
{
	static const char *const answers[] = {
		"\"result\":-11,\"error\":\"none\",\"hint\":\"wait\"",
	};
	struct fairlead_error error;
	struct daemon daemon;
	char *json;

	start_daemon(&daemon, answers, 1);
	assert_int_equal(fairlead_call(daemon.peer.handle, "status", NULL,
				       &json, &error),
			 -EAGAIN);
	assert_int_equal(error.code, -EAGAIN);
	assert_string_equal(error.text, "none");
	assert_non_null(strstr(json, "wait"));
	free(json);
	stop_daemon(&daemon, 0);
	fini_daemon(&daemon);
}

static void a_call_with_bad_members_has_no_answer(void **state)
{
	char *json = (char *)"untouched";
	struct peer peer;

	peer_init(&peer);
	assert_int_equal(fairlead_call(peer.handle, "status", "[]", &json,
				       NULL),
			 -EINVAL);
	assert_null(json);
	peer_fini(&peer);
}

static void a_call_without_an_answer_times_out(void **state)
{
	static const char *const answers[] = { "" };
	struct fairlead_error error;
	struct daemon daemon;
	char *json;

	start_daemon(&daemon, answers, 1);
	fairlead_set_timeout(daemon.peer.handle, 1);
	assert_int_equal(fairlead_call(daemon.peer.handle, "status", NULL,
				       &json, &error),
			 -ETIMEDOUT);
	assert_null(json);
	assert_non_null(strstr(error.text, "not known"));
	stop_daemon(&daemon, 0);
	/* The answer that comes late is nobody's, the next one is. */
	peer_answer(daemon.peer.fd, "{\"v\":1,\"id\":1,\"result\":-1,"
				    "\"error\":\"late\"}");
	peer_answer(daemon.peer.fd, "{\"v\":1,\"id\":2,\"result\":0}");
	fairlead_set_timeout(daemon.peer.handle, 0);
	assert_int_equal(fairlead_call(daemon.peer.handle, "status", NULL, NULL,
				       NULL),
			 0);
	fini_daemon(&daemon);
}

static void a_call_on_a_lost_connection_fails(void **state)
{
	struct fairlead_error error;
	struct peer peer;

	peer_init(&peer);
	peer_close(&peer);
	assert_int_equal(fairlead_call(peer.handle, "status", NULL, NULL,
				       &error),
			 -ECONNRESET);
	assert_int_equal(error.code, -ECONNRESET);
	assert_int_equal(fairlead_release(peer.handle, 1, NULL, &error),
			 -ECONNRESET);
	peer_fini(&peer);
}

struct disturber {
	struct peer *peer;
	pthread_t thread; /* that is to be disturbed */
};

static void ignore_signal(int number)
{
}

static void *disturb(void *arg)
{
	struct disturber *disturber = arg;
	json_int_t id = peer_expect(disturber->peer->fd, "status");

	for (int i = 0; i < 100; i++)
		pthread_kill(disturber->thread, SIGUSR1);
	peer_answer(disturber->peer->fd, "{\"v\":1,\"id\":%lld,\"result\":0}",
		    id);
	return NULL;
}

static void a_signal_does_not_end_a_call(void **state)
{
	const struct sigaction action = { .sa_handler = ignore_signal };
	struct peer peer;
	struct disturber disturber = { .peer = &peer,
				       .thread = pthread_self() };
	pthread_t thread;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	peer_init(&peer);
	assert_int_equal(pthread_create(&thread, NULL, disturb, &disturber), 0);
	assert_int_equal(fairlead_call(peer.handle, "status", NULL, NULL, NULL),
			 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	peer_fini(&peer);
}

static void close_handle(void *arg, const struct fairlead_answer *answer)
{
	fairlead_close(arg);
}

static void another_call_s_callback_may_close_while_one_waits(void **state)
{
	struct peer peer;

	peer_init(&peer);
	assert_int_equal(fairlead_call_start(peer.handle, "status", NULL,
					     close_handle, peer.handle, NULL),
			 0);
	peer_answer(peer.fd, "{\"v\":1,\"id\":1,\"result\":0}");
	assert_int_equal(fairlead_call(peer.handle, "pools", NULL, NULL, NULL),
			 -ECANCELED);
	peer_close(&peer);
}

static void reserve_gives_the_grant(void **state)
{
	char *members = granted();
	const char *const answers[] = { members };
	struct fairlead_grant *grant;
	struct daemon daemon;
	const json_t *request;

	start_daemon(&daemon, answers, 1);
	assert_int_equal(fairlead_reserve(daemon.peer.handle, &a_request,
					  &grant, NULL),
			 0);
	assert_int_equal(fairlead_grant_id(grant), 7);
	fairlead_grant_destroy(grant);
	request = json_object_get(stop_daemon(&daemon, 0), "request");
	assert_int_equal(json_object_size(request), 6);
	assert_string_equal(json_string_value(json_object_get(request, "key")),
			    "slurm/17");
	assert_string_equal(
		json_string_value(json_object_get(request, "cores")),
		"4(x3),2");
	assert_int_equal(json_integer_value(json_object_get(request, "uid")),
			 1000);
	fini_daemon(&daemon);
	free(members);
}

static void reserve_sends_every_member(void **state)
{
	char *members = granted();
	const char *const answers[] = { members };
	struct fairlead_request request = a_request;
	struct fairlead_grant *grant;
	struct daemon daemon;
	const json_t *sent;

	request.tasks = "2";
	request.cpus_per_task = 8;
	request.interconnect = "slingshot";
	start_daemon(&daemon, answers, 1);
	assert_int_equal(fairlead_reserve(daemon.peer.handle, &request, &grant,
					  NULL),
			 0);
	fairlead_grant_destroy(grant);
	sent = json_object_get(stop_daemon(&daemon, 0), "request");
	assert_int_equal(json_object_size(sent), 9);
	assert_int_equal(
		json_integer_value(json_object_get(sent, "cpus_per_task")), 8);
	fini_daemon(&daemon);
	free(members);
}

static void reserve_says_why_not_and_what_to_do(void **state)
{
	static const char *const answers[] = {
		"\"result\":-11,\"error\":\"none\",\"hint\":\"wait\"",
	};
	struct fairlead_error error;
	struct fairlead_grant *grant;
	struct daemon daemon;

	start_daemon(&daemon, answers, 1);
	assert_int_equal(fairlead_reserve(daemon.peer.handle, &a_request,
					  &grant, &error),
			 -EAGAIN);
	assert_string_equal(error.text, "none (wait)");
	stop_daemon(&daemon, 0);
	fini_daemon(&daemon);
}

static void reserve_refuses_an_answer_without_a_whole_grant(void **state)
{
	static const char *const answers[] = {
		"\"result\":0,\"grant_id\":7",
		"\"result\":0,\"grant\":\"fairlead-grant:1:AAAA\"",
	};
	struct fairlead_grant *grant;
	struct daemon daemon;

	start_daemon(&daemon, answers, 2);
	assert_int_equal(fairlead_reserve(daemon.peer.handle, &a_request,
					  &grant, NULL),
			 -EPROTO);
	assert_int_equal(fairlead_reserve(daemon.peer.handle, &a_request,
					  &grant, NULL),
			 -EBADMSG);
	stop_daemon(&daemon, 0);
	fini_daemon(&daemon);
}

static void a_request_without_key_or_nodes_is_refused(void **state)
{
	struct fairlead_request request = a_request;
	struct fairlead_grant *grant;
	struct peer peer;

	peer_init(&peer);
	request.key = NULL;
	assert_int_equal(fairlead_reserve(peer.handle, &request, &grant, NULL),
			 -EINVAL);
	request = a_request;
	request.nodes = NULL;
	assert_int_equal(fairlead_reserve(peer.handle, &request, &grant, NULL),
			 -EINVAL);
	request = a_request;
	request.options = "\xff";
	assert_int_equal(fairlead_reserve(peer.handle, &request, &grant, NULL),
			 -EINVAL);
	assert_int_equal(fairlead_events(peer.handle), POLLIN);
	peer_fini(&peer);
}

struct reserved {
	int count;
	int result;
	uint64_t grant_id; /* 0: there was none */
	char text[FAIRLEAD_ERROR_TEXT_MAX];
};

static void see_grant(void *arg, int result, const struct fairlead_grant *grant,
		      const struct fairlead_error *error)
{
	struct reserved *reserved = arg;

	reserved->count++;
	reserved->result = result;
	reserved->grant_id = grant ? fairlead_grant_id(grant) : 0;
	snprintf(reserved->text, sizeof(reserved->text), "%s", error->text);
}

static void reserve_start_calls_back(void **state)
{
	char *members = granted();
	struct reserved reserved = { 0 };
	struct peer peer;

	peer_init(&peer);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fairlead_reserve_start(peer.handle, &a_request,
							see_grant, &reserved,
							NULL),
				 0);
	peer_answer(peer.fd, "{\"v\":1,\"id\":1,%s}", members);
	assert_int_equal(fairlead_process(peer.handle), 1);
	assert_int_equal(reserved.result, 0);
	assert_int_equal(reserved.grant_id, 7);
	peer_answer(peer.fd, "{\"v\":1,\"id\":2,\"result\":-17,"
			     "\"error\":\"used\",\"hint\":\"another key\"}");
	assert_int_equal(fairlead_process(peer.handle), 1);
	assert_int_equal(reserved.result, -EEXIST);
	assert_int_equal(reserved.grant_id, 0);
	assert_string_equal(reserved.text, "used (another key)");
	peer_fini(&peer);
	assert_int_equal(reserved.result, -ECANCELED);
	assert_int_equal(reserved.count, 3);
	free(members);
}

static void reserve_start_that_fails_does_not_call_back(void **state)
{
	struct fairlead_request request = a_request;
	struct reserved reserved = { 0 };
	struct peer peer;

	peer_init(&peer);
	request.key = NULL;
	assert_int_equal(fairlead_reserve_start(peer.handle, &request,
						see_grant, &reserved, NULL),
			 -EINVAL);
	peer_fini(&peer);
	assert_int_equal(reserved.count, 0);
}

static void apply_gives_warnings_or_what_failed(void **state)
{
	static const char *const answers[] = {
		"\"result\":0",
		"\"result\":0,\"warnings\":[{\"nodes\":\"n3\",\"text\":"
		"\"a\\nA\"},"
		"{\"nodes\":\"n[0-1]\",\"text\":\"b\"}]",
		"\"result\":-5,\"error\":\"2 of 4 nodes failed\",\"failures\":["
		"{\"nodes\":\"n1\",\"errno\":-28,\"text\":\"no TLEs\"},"
		"{\"nodes\":\"n2\",\"errno\":-5,\"text\":\"no NIC\"}]",
		"\"result\":-5,\"error\":\"failed: n1: no NIC\",\"failures\":["
		"{\"nodes\":\"n1\",\"errno\":-5,\"text\":\"no NIC\"}]",
		"\"result\":-5,\"error\":\"failed\",\"failures\":["
		"{\"nodes\":\"n1\",\"errno\":-5,\"text\":\"no NIC\"}]",
	};
	struct fairlead_error error;
	struct daemon daemon;
	char *warnings;

	start_daemon(&daemon, answers, 5);
	assert_int_equal(fairlead_apply(daemon.peer.handle, 7, &warnings, NULL),
			 0);
	assert_null(warnings);
	assert_int_equal(fairlead_apply(daemon.peer.handle, 7, &warnings, NULL),
			 0);
	assert_string_equal(warnings, "n3: a\nn3: A\nn[0-1]: b\n");
	free(warnings);
	assert_int_equal(fairlead_apply(daemon.peer.handle, 7, NULL, &error),
			 -EIO);
	assert_string_equal(error.text, "2 of 4 nodes failed\nn1: no TLEs\n"
					"n2: no NIC");
	assert_int_equal(fairlead_apply(daemon.peer.handle, 7, NULL, &error),
			 -EIO);
	assert_string_equal(error.text, "failed: n1: no NIC");
	assert_int_equal(fairlead_apply(daemon.peer.handle, 7, NULL, NULL),
			 -EIO);
	assert_int_equal(json_integer_value(json_object_get(
				 stop_daemon(&daemon, 0), "grant_id")),
			 7);
	fini_daemon(&daemon);
}

static void release_is_by_grant_or_by_job(void **state)
{
	static const char *const answers[] = {
		"\"result\":0,\"grants\":[]",
		"\"result\":0,\"grants\":[]",
	};
	struct daemon daemon;
	const json_t *second;

	start_daemon(&daemon, answers, 2);
	assert_int_equal(fairlead_release(daemon.peer.handle, 7, NULL, NULL),
			 0);
	assert_int_equal(fairlead_release_job(daemon.peer.handle, "slurm/17",
					      NULL, NULL),
			 0);
	second = stop_daemon(&daemon, 1);
	assert_string_equal(json_string_value(json_object_get(second, "job")),
			    "slurm/17");
	assert_null(json_object_get(second, "grant_id"));
	fini_daemon(&daemon);
}

static void release_warns_of_what_nodes_may_still_hold(void **state)
{
	static const char *const answers[] = {
		"\"result\":0,\"grants\":[{\"grant_id\":7}]",
		"\"result\":0,\"grants\":["
		"{\"grant_id\":7,\"quarantined\":{\"vni\":\"1024\"},"
		"\"nodes\":\"n1\",\"why\":\"n1: cxi0: service 5 in use\"},"
		"{\"grant_id\":8},"
		"{\"grant_id\":9,\"quarantined\":{\"vni\":\"1026\"},"
		"\"nodes\":\"n2\",\"why\":\"not reachable: n2\"}]",
	};
	struct daemon daemon;
	char *warnings;

	start_daemon(&daemon, answers, 2);
	assert_int_equal(
		fairlead_release(daemon.peer.handle, 7, &warnings, NULL), 0);
	assert_null(warnings);
	assert_int_equal(fairlead_release_job(daemon.peer.handle, "slurm/17",
					      &warnings, NULL),
			 0);
	assert_string_equal(warnings, "n1: cxi0: service 5 in use\n"
				      "not reachable: n2\n");
	free(warnings);
	stop_daemon(&daemon, 1);
	fini_daemon(&daemon);
}

static void the_other_start_forms_call_back(void **state)
{
	struct seen seen = { 0 };
	struct peer peer;

	peer_init(&peer);
	assert_int_equal(fairlead_apply_start(peer.handle, 7, seen_answer,
					      &seen, NULL),
			 0);
	assert_int_equal(fairlead_release_start(peer.handle, 7, seen_answer,
						&seen, NULL),
			 0);
	assert_int_equal(fairlead_release_job_start(peer.handle, "slurm/17",
						    seen_answer, &seen, NULL),
			 0);
	assert_int_equal(fairlead_process(peer.handle), 0);
	assert_int_equal(peer_expect(peer.fd, "apply"), 1);
	assert_int_equal(peer_expect(peer.fd, "release"), 2);
	assert_int_equal(peer_expect(peer.fd, "release"), 3);
	peer_answer(peer.fd, "{\"v\":1,\"id\":1,\"result\":0}");
	peer_answer(peer.fd, "{\"v\":1,\"id\":2,\"result\":0}");
	peer_answer(peer.fd, "{\"v\":1,\"id\":3,\"result\":0}");
	assert_int_equal(fairlead_process(peer.handle), 3);
	assert_int_equal(seen.count, 3);
	peer_fini(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_returns_the_answer),
		cmocka_unit_test(a_call_that_fails_has_text_and_answer),
		cmocka_unit_test(a_call_with_bad_members_has_no_answer),
		cmocka_unit_test(a_call_without_an_answer_times_out),
		cmocka_unit_test(a_call_on_a_lost_connection_fails),
		cmocka_unit_test(a_signal_does_not_end_a_call),
		cmocka_unit_test(
			another_call_s_callback_may_close_while_one_waits),
		cmocka_unit_test(reserve_gives_the_grant),
		cmocka_unit_test(reserve_sends_every_member),
		cmocka_unit_test(reserve_says_why_not_and_what_to_do),
		cmocka_unit_test(
			reserve_refuses_an_answer_without_a_whole_grant),
		cmocka_unit_test(a_request_without_key_or_nodes_is_refused),
		cmocka_unit_test(reserve_start_calls_back),
		cmocka_unit_test(reserve_start_that_fails_does_not_call_back),
		cmocka_unit_test(apply_gives_warnings_or_what_failed),
		cmocka_unit_test(release_is_by_grant_or_by_job),
		cmocka_unit_test(release_warns_of_what_nodes_may_still_hold),
		cmocka_unit_test(the_other_start_forms_call_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
