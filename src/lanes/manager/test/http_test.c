/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define FLOOD 40 /* requests in the pipe of each connection */

struct bench {
	uv_loop_t loop;
	struct turns *turns;
	struct http *http;
	uint16_t port;
	unsigned int rendered;
};

static char *render(void *ctx)
{
	struct bench *bench = ctx;

	bench->rendered++;
	return strdup("fairlead_epoch 7\n");
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct fairlead_error error;

	uv_loop_init(&bench->loop);
	bench->turns = turns_create(&bench->loop);
	assert_int_equal(http_start(&bench->loop, bench->turns, "127.0.0.1:0",
				    render, bench, &bench->http, &bench->port,
				    &error),
			 0);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	http_stop(bench->http);
	turns_destroy(bench->turns);
	assert_int_equal(uv_run(&bench->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&bench->loop), 0);
	free(bench);
	return 0;
}

static int connect_to(const struct bench *bench)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(bench->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(
		connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Until the other side closes. */
static void read_all(struct bench *bench, int fd, char answer[4096])
{
	size_t size = 0;
	ssize_t count;

	do {
		uv_run(&bench->loop, UV_RUN_NOWAIT);
		count = recv(fd, answer + size, 4095 - size, MSG_DONTWAIT);
		if (count > 0)
			size += (size_t)count;
	} while (count > 0 || (count < 0 && errno == EAGAIN));
	answer[size] = 0;
}

/* Send the text, and read until the other side closes. */
static void ask(struct bench *bench, const char *text, char answer[4096])
{
	_auto_(closep) int fd = connect_to(bench);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	read_all(bench, fd, answer);
}

static void metrics_are_served(void **state)
{
	struct bench *bench = *state;
	char answer[4096];

	ask(bench, "GET /metrics HTTP/1.0\r\n\r\n", answer);
	assert_non_null(strstr(answer, " 200 OK"));
	assert_non_null(strstr(answer, "text/plain; version=0.0.4"));
	assert_non_null(strstr(answer, "\r\n\r\nfairlead_epoch 7\n"));
	assert_int_equal(bench->rendered, 1);
}

static void nothing_else_is_served(void **state)
{
	struct bench *bench = *state;
	char answer[4096];

	ask(bench, "GET /etc/passwd HTTP/1.0\r\n\r\n", answer);
	assert_non_null(strstr(answer, " 404 "));
	ask(bench, "POST /metrics HTTP/1.0\r\nContent-Length: 1\r\n\r\nx",
	    answer);
	assert_non_null(strstr(answer, " 405 "));
	ask(bench, "nonsense\r\n\r\n", answer);
	assert_int_equal(bench->rendered, 0);
}

static void a_silent_connection_does_not_hold_up_others(void **state)
{
	struct bench *bench = *state;
	_auto_(closep) int silent = connect_to(bench);
	char answer[4096];

	assert_int_equal(write(silent, "GET /met", 8), 8);
	uv_run(&bench->loop, UV_RUN_NOWAIT);
	ask(bench, "GET /metrics HTTP/1.0\r\n\r\n", answer);
	assert_non_null(strstr(answer, " 200 OK"));
}

struct watcher {
	struct bench *bench;
	struct turns_asker asker;
	unsigned int rendered; /* before its last turn */
	unsigned int longest;  /* most that were rendered between two turns */
};

static void on_turn(void *ctx)
{
	struct watcher *watcher = ctx;
	unsigned int count = watcher->bench->rendered - watcher->rendered;

	if (count > watcher->longest)
		watcher->longest = count;
	watcher->rendered = watcher->bench->rendered;
	turns_wait(&watcher->asker);
}

static void flood_of_requests_leaves_turns_to_others(void **state)
{
	struct bench *bench = *state;
	static const char request[] =
		"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
	struct watcher watcher = {
		.bench = bench,
		.asker = { .run = on_turn, .ctx = &watcher },
	};
	int crowd[HTTP_OF_ADDRESS_MAX];
	char answer[4096];

	turns_join(bench->turns, &watcher.asker, 1000);
	turns_wait(&watcher.asker);
	for (size_t i = 0; i < HTTP_OF_ADDRESS_MAX; i++) {
		crowd[i] = connect_to(bench);
		for (size_t j = 0; j < FLOOD; j++)
			assert_int_equal(write(crowd[i], request,
					       sizeof(request) - 1),
					 sizeof(request) - 1);
	}
	while (bench->rendered < HTTP_OF_ADDRESS_MAX)
		uv_run(&bench->loop, UV_RUN_ONCE);
	/* A connection has one answer. */
	for (size_t i = 0; i < HTTP_OF_ADDRESS_MAX; i++) {
		read_all(bench, crowd[i], answer);
		close(crowd[i]);
	}
	assert_int_equal(bench->rendered, HTTP_OF_ADDRESS_MAX);
	assert_in_range(watcher.longest, 1, HTTP_OF_ADDRESS_MAX);
	turns_leave(&watcher.asker);
}

static void one_address_does_not_have_all_connections(void **state)
{
	struct bench *bench = *state;
	int crowd[HTTP_OF_ADDRESS_MAX];
	_auto_(closep) int more = -1;
	char byte;

	for (size_t i = 0; i < HTTP_OF_ADDRESS_MAX; i++)
		crowd[i] = connect_to(bench);
	more = connect_to(bench);
	while (recv(more, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
		uv_run(&bench->loop, UV_RUN_NOWAIT);
	for (size_t i = 0; i < HTTP_OF_ADDRESS_MAX; i++) {
		assert_int_equal(recv(crowd[i], &byte, 1, MSG_DONTWAIT), -1);
		assert_int_equal(errno, EAGAIN);
		close(crowd[i]);
	}
}

static void a_port_that_is_taken_is_an_error(void **state)
{
	struct bench *bench = *state;
	struct fairlead_error error = { 0 };
	struct http *http;
	char address[32];

	snprintf(address, sizeof(address), "127.0.0.1:%u", bench->port);
	assert_int_equal(http_start(&bench->loop, bench->turns, address, render,
				    bench, &http, NULL, &error),
			 -EADDRINUSE);
	assert_non_null(strstr(error.text, address));
	assert_int_equal(http_start(&bench->loop, bench->turns, "localhost:1",
				    render, bench, &http, NULL, &error),
			 -EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(metrics_are_served),
		TEST(nothing_else_is_served),
		TEST(a_silent_connection_does_not_hold_up_others),
		TEST(flood_of_requests_leaves_turns_to_others),
		TEST(one_address_does_not_have_all_connections),
		TEST(a_port_that_is_taken_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
