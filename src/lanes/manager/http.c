/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/http.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "sys/http_server.h"

#define TURN_USER (UINT64_MAX - 1)

struct http {
	struct http_server *server;
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

static void on_ready(void *ctx)
{
	struct http *http = ctx;

	turns_wait(&http->asker);
}

static void on_turn(void *ctx)
{
	struct http *http = ctx;

	http_server_run(http->server);
}

int http_start(uv_loop_t *loop, struct turns *turns, const char *address,
	       char *(*render)(void *ctx), void *ctx, struct http **ret_http,
	       uint16_t *ret_port, struct fairlead_error *ret_error)
{
	const struct MHD_OptionItem options[] = {
		{ MHD_OPTION_CONNECTION_LIMIT, HTTP_CONNECTIONS_MAX, NULL },
		{ MHD_OPTION_PER_IP_CONNECTION_LIMIT, HTTP_OF_ADDRESS_MAX,
		  NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, HTTP_TIMEOUT_S, NULL },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct http *http = memory_alloc(sizeof(*http));
	const struct http_server_config config = {
		.address = address,
		.purpose = "metrics",
		.options = options,
		.on_request = on_request,
		.on_ready = on_ready,
		.ctx = http,
	};
	int result;

	*http = (struct http){
		.asker = { .run = on_turn, .ctx = http },
		.render = render,
		.ctx = ctx,
	};
	result = http_server_start(loop, &config, &http->server, ret_port,
				   ret_error);
	if (result < 0) {
		free(http);
		return result;
	}
	turns_join(turns, &http->asker, TURN_USER);
	*ret_http = http;
	return 0;
}

void http_stop(struct http *http)
{
	if (http == NULL)
		return;
	turns_leave(&http->asker);
	http_server_stop(http->server);
	free(http);
}
