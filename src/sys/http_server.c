/* SPDX-License-Identifier: BSD-3-Clause */
#include "sys/http_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "sys/net.h"

#define IDLE_MS 1000 /* between looks when it names no timeout */

struct http_server {
	struct MHD_Daemon *daemon;
	uv_poll_t poll;
	uv_timer_t timer;
	unsigned int open_count; /* handles that the loop holds */
	void (*on_ready)(void *ctx);
	void *ctx;
};

static void wake(struct http_server *server)
{
	uv_timer_stop(&server->timer);
	uv_poll_stop(&server->poll);
	if (server->on_ready != NULL)
		server->on_ready(server->ctx);
	else
		http_server_run(server);
}

static void on_timer(uv_timer_t *timer)
{
	wake(timer->data);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	wake(poll->data);
}

void http_server_run(struct http_server *server)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms = IDLE_MS;

	MHD_run(server->daemon);
	if (MHD_get_timeout(server->daemon, &timeout_ms) == MHD_YES)
		uv_timer_start(&server->timer, on_timer, timeout_ms, 0);
	uv_poll_start(&server->poll, UV_READABLE, on_readable);
}

static int start_daemon(struct http_server *server,
			const struct http_server_config *config,
			struct fairlead_error *ret_error)
{
	struct sockaddr_storage storage = { 0 };
	unsigned int flags = MHD_USE_EPOLL | config->flags;
	int result = net_parse_numeric(config->address, &storage, ret_error);

	if (result < 0)
		return result;
	if (storage.ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	server->daemon =
		MHD_start_daemon(flags, 0, NULL, NULL, config->on_request,
				 config->ctx, MHD_OPTION_SOCK_ADDR,
				 (struct sockaddr *)&storage, MHD_OPTION_ARRAY,
				 config->options, MHD_OPTION_END);
	if (server->daemon != NULL)
		return 0;
	result = errno == 0 ? -EADDRINUSE : -errno;
	return error_set(ret_error, result, "cannot listen on %s for %s: %s%s",
			 config->address, config->purpose, strerror(-result),
			 result == -EADDRINUSE ? "; is another daemon running?"
					       : "");
}

static void on_closed(uv_handle_t *handle)
{
	struct http_server *server = handle->data;

	if (--server->open_count == 0)
		free(server);
}

int http_server_start(uv_loop_t *loop, const struct http_server_config *config,
		      struct http_server **ret_server, uint16_t *ret_port,
		      struct fairlead_error *ret_error)
{
	struct http_server *server = memory_alloc(sizeof(*server));
	const union MHD_DaemonInfo *info;
	int result = start_daemon(server, config, ret_error);

	if (result < 0) {
		free(server);
		return result;
	}
	server->on_ready = config->on_ready;
	server->ctx = config->ctx;
	info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	uv_timer_init(loop, &server->timer);
	server->timer.data = server;
	server->open_count = 1;
	result = uv_poll_init(loop, &server->poll, info->epoll_fd);
	if (result == 0) {
		server->poll.data = server;
		server->open_count++;
		result = uv_poll_start(&server->poll, UV_READABLE, on_readable);
	}
	if (result < 0) {
		http_server_stop(server);
		return error_set(ret_error, result,
				 "cannot listen on %s for %s: %s",
				 config->address, config->purpose,
				 uv_strerror(result));
	}
	info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
	if (ret_port != NULL)
		*ret_port = info->port;
	*ret_server = server;
	return 0;
}

void http_server_stop(struct http_server *server)
{
	if (server == NULL)
		return;
	uv_close((uv_handle_t *)&server->timer, on_closed);
	if (server->open_count == 2)
		uv_close((uv_handle_t *)&server->poll, on_closed);
	MHD_stop_daemon(server->daemon);
}
