/* SPDX-License-Identifier: BSD-3-Clause */
/* The asynchronous core, with both ends of the socket in one thread. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lanes/client/handle.h"
#include "lanes/client/test/peer.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void start(struct peer *peer, const char *op, struct seen *seen)
{
	assert_int_equal(fairlead_call_start(peer->handle, op, NULL,
					     seen_answer, seen, NULL),
			 0);
}

/* Let the peer have what was queued. */
static void push(struct peer *peer)
{
	assert_int_equal(fairlead_process(peer->handle), 0);
}

static void an_answer_reaches_its_call(void **state)
{
	struct seen first = { 0 }, second = { 0 };
	struct peer peer;
	json_int_t ids[2];

	peer_init(&peer);
	start(&peer, "status", &first);
	start(&peer, "pools", &second);
	assert_int_equal(fairlead_events(peer.handle), POLLIN | POLLOUT);
	push(&peer);
	assert_int_equal(fairlead_events(peer.handle), POLLIN);
	ids[0] = peer_expect(peer.fd, "status");
	ids[1] = peer_expect(peer.fd, "pools");
	peer_answer(peer.fd, "{\"v\":1,\"id\":%lld,\"result\":0,\"a\":1}",
		    ids[1]);
	peer_answer(peer.fd,
		    "{\"v\":1,\"id\":%lld,\"result\":-11,"
		    "\"error\":\"none left\",\"hint\":\"wait\"}",
		    ids[0]);
	assert_int_equal(fairlead_process(peer.handle), 2);
	assert_int_equal(second.count, 1);
	assert_int_equal(second.result, 0);
	assert_string_equal(second.error, "");
	assert_non_null(strstr(second.json, "\"a\":1"));
	assert_int_equal(first.count, 1);
	assert_int_equal(first.result, -EAGAIN);
	assert_string_equal(first.error, "none left");
	assert_string_equal(first.hint, "wait");
	peer_fini(&peer);
	assert_int_equal(first.count, 1);
}

static void members_are_sent(void **state)
{
	struct peer peer;
	json_t *request;

	peer_init(&peer);
	assert_int_equal(fairlead_call_start(peer.handle, "apply",
					     "{\"grant_id\":7}", NULL, NULL,
					     NULL),
			 0);
	push(&peer);
	request = peer_request(peer.fd);
	assert_int_equal(json_object_size(request), 4);
	assert_int_equal(
		json_integer_value(json_object_get(request, "grant_id")), 7);
	json_decref(request);
	peer_fini(&peer);
}

static void bad_members_are_refused(void **state)
{
	static const char *const bad[] = { "[]",        "{",
					   "",          "{\"id\":1}",
					   "{\"v\":1}", "{\"op\":\"x\"}" };
	struct seen seen = { 0 };
	struct fairlead_error error;
	struct peer peer;

	peer_init(&peer);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(fairlead_call_start(peer.handle, "apply",
						     bad[i], seen_answer, &seen,
						     &error),
				 -EINVAL);
	assert_int_equal(fairlead_call_start(peer.handle, "\xff", NULL,
					     seen_answer, &seen, NULL),
			 -EINVAL);
	assert_int_equal(fairlead_events(peer.handle), POLLIN);
	peer_fini(&peer);
	assert_int_equal(seen.count, 0);
}

/* {"a":"xxx..."} of size bytes; the caller frees it. */
static char *long_members(size_t size)
{
	char *members = malloc(size + 1);

	assert_non_null(members);
	memset(members, 'x', size);
	memcpy(members, "{\"a\":\"", 6);
	memcpy(members + size - 2, "\"}", 3);
	return members;
}

static void a_request_that_is_too_long_is_refused(void **state)
{
	char *members = long_members(FAIRLEAD_FRAME_MAX);
	struct fairlead_error error;
	struct seen seen = { 0 };
	struct peer peer;

	peer_init(&peer);
	assert_int_equal(fairlead_call_start(peer.handle, "reserve", members,
					     seen_answer, &seen, &error),
			 -EMSGSIZE);
	assert_non_null(strstr(error.text, "1048576"));
	assert_int_equal(fairlead_events(peer.handle), POLLIN);
	peer_fini(&peer);
	assert_int_equal(seen.count, 0);
	free(members);
}

static void the_65th_open_call_is_refused(void **state)
{
	struct fairlead_error error;
	struct seen seen = { 0 };
	struct peer peer;
	json_int_t id = 0;

	peer_init(&peer);
	for (int i = 0; i < 64; i++)
		start(&peer, "status", &seen);
	assert_int_equal(fairlead_call_start(peer.handle, "status", NULL,
					     seen_answer, &seen, &error),
			 -EAGAIN);
	assert_non_null(strstr(error.text, "64"));
	push(&peer);
	for (int i = 0; i < 64; i++)
		id = peer_expect(peer.fd, "status");
	peer_answer(peer.fd, "{\"v\":1,\"id\":%lld,\"result\":0}", id);
	assert_int_equal(fairlead_process(peer.handle), 1);
	start(&peer, "status", &seen);
	peer_fini(&peer);
	assert_int_equal(seen.count, 65);
	assert_int_equal(seen.result, -ECANCELED);
}

static void half_an_answer_waits_for_the_rest(void **state)
{
	static const char answer[] = "{\"v\":1,\"id\":1,\"result\":0}";
	uint8_t frame[4 + sizeof(answer) - 1] = { sizeof(answer) - 1 };
	struct seen seen = { 0 };
	struct peer peer;

	memcpy(frame + 4, answer, sizeof(answer) - 1);
	peer_init(&peer);
	start(&peer, "status", &seen);
	for (size_t i = 0; i < sizeof(frame); i++) {
		assert_int_equal(fairlead_process(peer.handle), 0);
		assert_int_equal(seen.count, 0);
		peer_send(peer.fd, frame + i, 1);
	}
	assert_int_equal(fairlead_process(peer.handle), 1);
	assert_int_equal(seen.count, 1);
	peer_fini(&peer);
}

static void long_requests_are_sent_in_parts(void **state)
{
	size_t size = FAIRLEAD_FRAME_MAX / 2;
	char *members = long_members(size);
	struct seen seen = { 0 };
	struct peer peer;
	uint8_t bytes[65536];
	size_t count = 0;
	ssize_t got;

	peer_init(&peer);
	assert_int_equal(fcntl(peer.fd, F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(fairlead_call_start(peer.handle, "reserve",
						     members, seen_answer,
						     &seen, NULL),
				 0);
	while (fairlead_events(peer.handle) & POLLOUT) {
		assert_int_equal(fairlead_process(peer.handle), 0);
		while ((got = read(peer.fd, bytes, sizeof(bytes))) > 0)
			count += got;
	}
	assert_in_range(count, 8 * size, 8 * (size + 64));
	peer_fini(&peer);
	free(members);
}

static void a_lost_connection_answers_every_open_call(void **state)
{
	struct seen first = { 0 }, second = { 0 };
	struct fairlead_error error;
	struct peer peer;

	peer_init(&peer);
	start(&peer, "status", &first);
	start(&peer, "status", &second);
	push(&peer);
	peer_close(&peer);
	assert_int_equal(fairlead_process(peer.handle), -ECONNRESET);
	assert_int_equal(first.count + second.count, 2);
	assert_int_equal(first.result, -ECONNRESET);
	assert_string_equal(first.json, "");
	assert_non_null(strstr(first.error, "closed"));
	assert_int_equal(fairlead_process(peer.handle), -ECONNRESET);
	assert_int_equal(fairlead_call_start(peer.handle, "status", NULL,
					     seen_answer, &first, &error),
			 -ECONNRESET);
	assert_int_equal(error.code, -ECONNRESET);
	peer_fini(&peer);
	assert_int_equal(first.count + second.count, 2);
}

static void what_was_said_before_the_end_is_delivered(void **state)
{
	struct seen first = { 0 }, second = { 0 };
	struct peer peer;
	json_int_t id;

	peer_init(&peer);
	start(&peer, "status", &first);
	push(&peer);
	id = peer_expect(peer.fd, "status");
	peer_answer(peer.fd, "{\"v\":1,\"id\":%lld,\"result\":0}", id);
	peer_close(&peer);
	start(&peer, "pools", &second);
	assert_int_equal(fairlead_process(peer.handle), -ECONNRESET);
	assert_int_equal(first.result, 0);
	assert_int_equal(first.count, 1);
	assert_int_equal(second.result, -ECONNRESET);
	peer_fini(&peer);
}

static void an_answer_with_id_0_is_the_reason_of_the_end(void **state)
{
	struct seen seen = { 0 };
	struct peer peer;

	peer_init(&peer);
	start(&peer, "status", &seen);
	push(&peer);
	peer_answer(peer.fd,
		    "{\"v\":1,\"id\":0,\"result\":-11,"
		    "\"error\":\"1024 connections\",\"hint\":\"wait\"}");
	assert_int_equal(fairlead_process(peer.handle), -EAGAIN);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.result, -EAGAIN);
	assert_string_equal(seen.error, "1024 connections");
	assert_string_equal(seen.hint, "wait");
	peer_fini(&peer);
}

static void what_is_no_answer_ends_the_connection(void **state)
{
	static const char *const bad[] = {
		"nonsense",
		"[]",
		"{\"v\":2,\"id\":1,\"result\":0}",
		"{\"id\":1,\"result\":0}",
		"{\"v\":1,\"result\":0}",
		"{\"v\":1,\"id\":\"1\",\"result\":0}",
		"{\"v\":1,\"id\":-1,\"result\":0}",
		"{\"v\":1,\"id\":2,\"result\":0}",
		"{\"v\":1,\"id\":0,\"result\":0}",
		"{\"v\":1,\"id\":1}",
		"{\"v\":1,\"id\":1,\"result\":1}",
		"{\"v\":1,\"id\":1,\"result\":-1}",
		"{\"v\":1,\"id\":1,\"result\":-4096}",
		"{\"v\":1,\"id\":1,\"result\":0,\"result\":0}",
		"{\"v\":1,\"id\":1,\"result\":0,\"x\":\"\xff\"}",
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		struct seen seen = { 0 };
		struct peer peer;

		peer_init(&peer);
		start(&peer, "status", &seen);
		push(&peer);
		peer_answer(peer.fd, "%s", bad[i]);
		assert_int_equal(fairlead_process(peer.handle), -EPROTO);
		assert_int_equal(seen.count, 1);
		assert_int_equal(seen.result, -EPROTO);
		peer_fini(&peer);
	}
}

static void a_frame_of_a_bad_length_ends_the_connection(void **state)
{
	static const uint8_t lengths[][4] = { { 0, 0, 0, 0 },
					      { 1, 0, 16, 0 },
					      { 255, 255, 255, 255 } };

	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct seen seen = { 0 };
		struct peer peer;

		peer_init(&peer);
		start(&peer, "status", &seen);
		push(&peer);
		peer_send(peer.fd, lengths[i], sizeof(lengths[i]));
		assert_int_equal(fairlead_process(peer.handle), -EPROTO);
		assert_int_equal(seen.result, -EPROTO);
		peer_fini(&peer);
	}
}

struct chain {
	struct peer *peer;
	int count;
	int process_result;
	int call_result;
};

static void start_next(void *arg, const struct fairlead_answer *answer)
{
	struct chain *chain = arg;

	chain->count++;
	if (chain->count == 1)
		assert_int_equal(fairlead_call_start(chain->peer->handle,
						     "pools", NULL, start_next,
						     chain, NULL),
				 0);
	chain->process_result = fairlead_process(chain->peer->handle);
	chain->call_result =
		fairlead_call(chain->peer->handle, "status", NULL, NULL, NULL);
}

static void a_callback_starts_calls_but_does_not_wait(void **state)
{
	struct peer peer;
	struct chain chain = { .peer = &peer };

	peer_init(&peer);
	assert_int_equal(fairlead_call_start(peer.handle, "status", NULL,
					     start_next, &chain, NULL),
			 0);
	peer_answer(peer.fd, "{\"v\":1,\"id\":1,\"result\":0}");
	assert_int_equal(fairlead_process(peer.handle), 1);
	assert_int_equal(chain.process_result, -EDEADLK);
	assert_int_equal(chain.call_result, -EDEADLK);
	push(&peer);
	peer_expect(peer.fd, "status");
	assert_int_equal(peer_expect(peer.fd, "pools"), 2);
	peer_answer(peer.fd, "{\"v\":1,\"id\":2,\"result\":0}");
	assert_int_equal(fairlead_process(peer.handle), 1);
	assert_int_equal(chain.count, 2);
	peer_fini(&peer);
}

static void close_in_callback(void *arg, const struct fairlead_answer *answer)
{
	struct chain *chain = arg;

	chain->count++;
	fairlead_close(chain->peer->handle);
}

static void a_callback_may_close_the_connection(void **state)
{
	struct seen seen = { 0 };
	struct peer peer;
	struct chain chain = { .peer = &peer };

	peer_init(&peer);
	assert_int_equal(fairlead_call_start(peer.handle, "status", NULL,
					     close_in_callback, &chain, NULL),
			 0);
	start(&peer, "pools", &seen);
	peer_answer(peer.fd, "{\"v\":1,\"id\":1,\"result\":0}");
	peer_answer(peer.fd, "{\"v\":1,\"id\":2,\"result\":0}");
	assert_int_equal(fairlead_process(peer.handle), 0);
	assert_int_equal(chain.count, 1);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.result, -ECANCELED);
	peer_close(&peer);
}

static void a_callback_may_close_a_lost_connection(void **state)
{
	struct peer peer;
	struct chain chain = { .peer = &peer };

	peer_init(&peer);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fairlead_call_start(peer.handle, "status",
						     NULL, close_in_callback,
						     &chain, NULL),
				 0);
	peer_close(&peer);
	assert_int_equal(fairlead_process(peer.handle), 0);
	assert_int_equal(chain.count, 3);
}

static void close_cancels_open_calls(void **state)
{
	struct seen seen = { 0 };
	struct peer peer;

	peer_init(&peer);
	start(&peer, "status", &seen);
	peer_fini(&peer);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.result, -ECANCELED);
	fairlead_close(NULL);
}

/* A socket that listens below a new folder. */
static int listen_at(char folder[32], char path[64])
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(folder, "/tmp/fairlead-client-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, 64, "%s/sock", folder);
	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)),
			 0);
	assert_int_equal(listen(fd, 0), 0);
	return fd;
}

static void open_reaches_the_daemon_that_the_environment_names(void **state)
{
	char folder[32], path[64];
	int listener = listen_at(folder, path);
	struct fairlead *handle;
	int fd;

	setenv("FAIRLEAD_SOCKET", path, 1);
	assert_int_equal(fairlead_open(NULL, &handle, NULL), 0);
	unsetenv("FAIRLEAD_SOCKET");
	assert_int_equal(fcntl(fairlead_fd(handle), F_GETFD), FD_CLOEXEC);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(fairlead_process(handle), -ECONNRESET);
	fairlead_close(handle);
	close(listener);
	unlink(path);
	rmdir(folder);
}

static void open_says_why_it_cannot(void **state)
{
	struct fairlead *handles[8] = { NULL };
	struct fairlead_error error;
	char folder[32], path[64];
	char longest[200];
	int listener = listen_at(folder, path);
	int result = 0;

	for (int i = 0; i < 8 && result == 0; i++)
		result = fairlead_open(path, &handles[i], &error);
	assert_int_equal(result, -EAGAIN);
	assert_non_null(strstr(error.text, "busy"));
	for (int i = 0; i < 8; i++)
		fairlead_close(handles[i]);
	close(listener);
	assert_int_equal(fairlead_open(path, &handles[0], &error),
			 -ECONNREFUSED);
	assert_non_null(strstr(error.text, path));
	unlink(path);
	assert_int_equal(fairlead_open(path, &handles[0], &error), -ENOENT);
	assert_int_equal(error.code, -ENOENT);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	assert_int_equal(fairlead_open(longest, &handles[0], &error),
			 -ENAMETOOLONG);
	assert_int_equal(fairlead_open("/etc/passwd/x", &handles[0], &error),
			 -ENOTDIR);
	rmdir(folder);
}

static void the_version_is_the_build_s(void **state)
{
	assert_string_equal(fairlead_version(), FAIRLEAD_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_reaches_its_call),
		cmocka_unit_test(members_are_sent),
		cmocka_unit_test(bad_members_are_refused),
		cmocka_unit_test(a_request_that_is_too_long_is_refused),
		cmocka_unit_test(the_65th_open_call_is_refused),
		cmocka_unit_test(half_an_answer_waits_for_the_rest),
		cmocka_unit_test(long_requests_are_sent_in_parts),
		cmocka_unit_test(a_lost_connection_answers_every_open_call),
		cmocka_unit_test(what_was_said_before_the_end_is_delivered),
		cmocka_unit_test(an_answer_with_id_0_is_the_reason_of_the_end),
		cmocka_unit_test(what_is_no_answer_ends_the_connection),
		cmocka_unit_test(a_frame_of_a_bad_length_ends_the_connection),
		cmocka_unit_test(a_callback_starts_calls_but_does_not_wait),
		cmocka_unit_test(a_callback_may_close_the_connection),
		cmocka_unit_test(a_callback_may_close_a_lost_connection),
		cmocka_unit_test(close_cancels_open_calls),
		cmocka_unit_test(
			open_reaches_the_daemon_that_the_environment_names),
		cmocka_unit_test(open_says_why_it_cannot),
		cmocka_unit_test(the_version_is_the_build_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
