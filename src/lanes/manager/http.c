/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libmicrohttpd without a thread: its epoll descriptor is watched by the loop,
 * and a timer stands for the timeouts of its connections.
 */
#include "base/memory.h"
#include "lanes/manager/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "sys/net.h"

#define IDLE_MS   1000 /* between looks when it names no timeout */
#define TURN_USER (UINT64_MAX - 1)

struct http {
	struct MHD_Daemon *daemon;
	uv_poll_t poll;
	uv_timer_t timer;
	unsigned int open_count; /* handles that the loop holds */
	struct turns_asker asker;
	char *(*render)(void *ctx);
	void *ctx;
};

static enum MHD_Result reply(struct MHD_Connection *connection,
			     unsigned int status, char *text,
			     enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *response;
	enum MHD_Result result;

	response = MHD_create_response_from_buffer(strlen(text), text, mode);
	if (response == NULL) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				"text/plain; version=0.0.4; charset=utf-8");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection,
				  const char *url, const char *method,
				  const char *version, const char *upload_data,
				  size_t *upload_data_size, void **request_ctx)
{
	struct http *http = ctx;
	char *text;

	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
			     (char *)"only GET\n", MHD_RESPMEM_PERSISTENT);
	if (strcmp(url, "/metrics") != 0)
		return reply(connection, MHD_HTTP_NOT_FOUND,
			     (char *)"see /metrics\n", MHD_RESPMEM_PERSISTENT);
	text = http->render(http->ctx);
	if (text == NULL)
		return MHD_NO;
	return reply(connection, MHD_HTTP_OK, text, MHD_RESPMEM_MUST_FREE);
}

static void wait_turn(struct http *http)
{
	uv_timer_stop(&http->timer);
	uv_poll_stop(&http->poll);
	turns_wait(&http->asker);
}

static void on_timer(uv_timer_t *timer)
{
	wait_turn(timer->data);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	wait_turn(poll->data);
}

static void on_turn(void *ctx)
{
	struct http *http = ctx;
	MHD_UNSIGNED_LONG_LONG timeout_ms = IDLE_MS;

	MHD_run(http->daemon);
	if (MHD_get_timeout(http->daemon, &timeout_ms) == MHD_YES)
		uv_timer_start(&http->timer, on_timer, timeout_ms, 0);
	uv_poll_start(&http->poll, UV_READABLE, on_ready);
}

static int start_daemon(struct http *http, const char *address,
			struct fairlead_error *ret_error)
{
	struct sockaddr_storage storage = { 0 };
	unsigned int flags = MHD_USE_EPOLL;
	int result = net_parse_numeric(address, &storage, ret_error);

	if (result < 0)
		return result;
	if (storage.ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	http->daemon = MHD_start_daemon(
		flags, 0, NULL, NULL, on_request, http, MHD_OPTION_SOCK_ADDR,
		(struct sockaddr *)&storage, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)HTTP_CONNECTIONS_MAX,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned int)HTTP_OF_ADDRESS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)HTTP_TIMEOUT_S,
		MHD_OPTION_END);
	if (http->daemon == NULL) {
		result = errno == 0 ? -EADDRINUSE : -errno;
		return error_set(ret_error, result,
				 "cannot listen on %s for metrics: %s%s",
				 address, strerror(-result),
				 result == -EADDRINUSE
					 ? "; is another fairleadd running?"
					 : "");
	}
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct http *http = handle->data;

	if (--http->open_count == 0)
		free(http);
}

int http_start(uv_loop_t *loop, struct turns *turns, const char *address,
	       char *(*render)(void *ctx), void *ctx, struct http **ret_http,
	       uint16_t *ret_port, struct fairlead_error *ret_error)
{
	struct http *http = memory_alloc(sizeof(*http));
	const union MHD_DaemonInfo *info;
	int result;

	http->render = render;
	http->ctx = ctx;
	http->asker.run = on_turn;
	http->asker.ctx = http;
	result = start_daemon(http, address, ret_error);
	if (result < 0) {
		free(http);
		return result;
	}
	turns_join(turns, &http->asker, TURN_USER);
	info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	uv_timer_init(loop, &http->timer);
	http->timer.data = http;
	http->open_count = 1;
	result = uv_poll_init(loop, &http->poll, info->epoll_fd);
	if (result == 0) {
		http->poll.data = http;
		http->open_count++;
		result = uv_poll_start(&http->poll, UV_READABLE, on_ready);
	}
	if (result < 0) {
		http_stop(http);
		return error_set(ret_error, result,
				 "cannot listen on %s for metrics: %s", address,
				 uv_strerror(result));
	}
	info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT);
	if (ret_port != NULL)
		*ret_port = info->port;
	*ret_http = http;
	return 0;
}

void http_stop(struct http *http)
{
	if (http == NULL)
		return;
	turns_leave(&http->asker);
	uv_close((uv_handle_t *)&http->timer, on_closed);
	if (http->open_count == 2)
		uv_close((uv_handle_t *)&http->poll, on_closed);
	MHD_stop_daemon(http->daemon);
}
