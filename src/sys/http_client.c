/* SPDX-License-Identifier: BSD-3-Clause */
#include "sys/http_client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/bytes.h"
#include "base/memory.h"

#define HEADERS_BYTES_MAX 65536 /* of one reply */

/* A socket of libcurl's. */
struct watch {
	uv_poll_t poll;
	struct http_client *client;
	curl_socket_t socket;
};

struct http_transfer {
	struct http_client *client;
	uint64_t id;
	CURL *easy;
	struct curl_slist *headers;
	char *body; /* of the request */
	struct writer reply;
	size_t reply_max;
	size_t header_bytes;
	bool is_too_large;
	struct http_transfer *prev, *next;
};

struct http_client {
	const struct http_client_config *config;
	void (*done)(void *ctx, uint64_t id, const struct http_reply *reply);
	void *ctx;
	CURLM *multi;
	uv_loop_t *loop;
	uv_timer_t *timer; /* the loop frees it */
	struct http_transfer *transfers;
};

static void transfer_destroy(struct http_transfer *transfer)
{
	DL_DELETE(transfer->client->transfers, transfer);
	curl_multi_remove_handle(transfer->client->multi, transfer->easy);
	curl_easy_cleanup(transfer->easy);
	curl_slist_free_all(transfer->headers);
	free(transfer->body);
	writer_fini(&transfer->reply);
	free(transfer);
}

/* --- the end of a request --- */

/* libcurl limits a header line, and all headers: older ones as "no memory". */
static bool is_curl_limit(CURLcode code)
{
#if LIBCURL_VERSION_NUM >= 0x080600
	if (code == CURLE_TOO_LARGE)
		return true;
#endif
	return code == CURLE_OUT_OF_MEMORY;
}

static int result_of(const struct http_transfer *transfer, CURLcode code)
{
	if (transfer->is_too_large || is_curl_limit(code))
		return -EMSGSIZE;
	switch (code) {
	case CURLE_OK:
		return 0;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_COULDNT_CONNECT:
		return -ECONNREFUSED;
	case CURLE_COULDNT_RESOLVE_HOST:
		return -EHOSTUNREACH;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_ISSUER_ERROR:
		return -EKEYREJECTED;
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_PARTIAL_FILE:
		return -ECONNRESET;
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING:
		return -EPROTO;
	default:
		return -EIO;
	}
}

static void transfer_end(struct http_transfer *transfer, CURLcode code)
{
	struct http_client *client = transfer->client;
	struct http_reply reply = {
		.result = result_of(transfer, code),
		.body = (const char *)transfer->reply.data,
		.size = transfer->reply.size,
	};
	long status = 0;

	memory_check(transfer->reply.result);
	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	reply.status = (unsigned int)status;
	if (reply.result == -EMSGSIZE)
		reply.text = "the reply is too large";
	else if (reply.result < 0)
		reply.text = curl_easy_strerror(code);
	client->done(client->ctx, transfer->id, &reply);
	transfer_destroy(transfer);
}

static void messages_take(struct http_client *client)
{
	const CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
		CURLcode code = message->data.result;
		struct http_transfer *transfer;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
				  &transfer);
		transfer_end(transfer, code);
	}
}

/* --- the loop --- */

static void act(struct http_client *client, curl_socket_t socket, int events)
{
	int running;

	curl_multi_socket_action(client->multi, socket, events, &running);
	messages_take(client);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct watch *watch = poll->data;
	int mask = status < 0 ? CURL_CSELECT_ERR : 0;

	mask |= events & UV_READABLE ? CURL_CSELECT_IN : 0;
	mask |= events & UV_WRITABLE ? CURL_CSELECT_OUT : 0;
	act(watch->client, watch->socket, mask);
}

static void on_timer(uv_timer_t *timer)
{
	act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static void free_handle(uv_handle_t *handle)
{
	free(handle);
}

static void on_watch_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *ctx,
		     void *socket_ctx)
{
	struct http_client *client = ctx;
	struct watch *watch = socket_ctx;
	int events = 0;

	if (what == CURL_POLL_REMOVE) {
		if (watch != NULL) {
			curl_multi_assign(client->multi, socket, NULL);
			uv_close((uv_handle_t *)&watch->poll, on_watch_closed);
		}
		return 0;
	}
	if (watch == NULL) {
		watch = memory_alloc(sizeof(*watch));
		watch->client = client;
		watch->socket = socket;
		if (uv_poll_init_socket(client->loop, &watch->poll, socket) <
		    0) {
			free(watch);
			return -1;
		}
		watch->poll.data = watch;
		curl_multi_assign(client->multi, socket, watch);
	}
	events |= what & CURL_POLL_IN ? UV_READABLE : 0;
	events |= what & CURL_POLL_OUT ? UV_WRITABLE : 0;
	return uv_poll_start(&watch->poll, events, on_poll);
}

static int on_timeout(CURLM *multi, long timeout_ms, void *ctx)
{
	struct http_client *client = ctx;

	if (timeout_ms < 0)
		uv_timer_stop(client->timer);
	else
		uv_timer_start(client->timer, on_timer, (uint64_t)timeout_ms,
			       0);
	return 0;
}

/* --- requests --- */

static size_t on_body(char *bytes, size_t size, size_t count, void *ctx)
{
	struct http_transfer *transfer = ctx;

	size *= count;
	if (size > transfer->reply_max - transfer->reply.size) {
		transfer->is_too_large = true;
		return 0;
	}
	write_bytes(&transfer->reply, bytes, size);
	return size;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *ctx)
{
	struct http_transfer *transfer = ctx;

	size *= count;
	transfer->header_bytes += size;
	transfer->is_too_large |= transfer->header_bytes > HEADERS_BYTES_MAX;
	return transfer->is_too_large ? 0 : size;
}

static void header_add(struct http_transfer *transfer, const char *header)
{
	transfer->headers =
		memory_have(curl_slist_append(transfer->headers, header));
}

static void options_set(struct http_transfer *transfer,
			const struct http_request *request)
{
	const struct http_client_config *config = transfer->client->config;
	CURL *easy = transfer->easy;

	header_add(transfer, "Expect:");
	for (size_t i = 0; request->headers[i] != NULL; i++)
		header_add(transfer, request->headers[i]);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	curl_easy_setopt(easy, CURLOPT_URL, request->url);
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)config->connect_timeout_ms);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Otherwise the end waits for a name server, and the loop with it. */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
#else
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)CURLPROTO_HTTPS);
#endif
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
			 (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	if (config->ca != NULL) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, config->ca);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	curl_easy_setopt(easy, CURLOPT_SSLCERT, config->certificate);
	curl_easy_setopt(easy, CURLOPT_SSLKEY, config->key);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	if (request->body != NULL) {
		transfer->body = memory_copy(request->body, request->size);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, transfer->body);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE,
				 (long)request->size);
	}
}

static void on_send(void *ctx, uint64_t id, const struct http_request *request)
{
	struct http_client *client = ctx;
	struct http_transfer *transfer = memory_alloc(sizeof(*transfer));

	transfer->client = client;
	transfer->id = id;
	transfer->reply_max = request->reply_max;
	transfer->easy = memory_have(curl_easy_init());
	DL_APPEND(client->transfers, transfer);
	options_set(transfer, request);
	/* libcurl starts it from the timer, so it cannot end in this call. */
	curl_multi_add_handle(client->multi, transfer->easy);
}

/* --- the client --- */

static struct http_client *create(uv_loop_t *loop,
				  const struct http_client_config *config,
				  void (*done)(void *ctx, uint64_t id,
					       const struct http_reply *reply),
				  void *ctx)
{
	struct http_client *client = memory_alloc(sizeof(*client));

	curl_global_init(CURL_GLOBAL_DEFAULT);
	client->config = config;
	client->done = done;
	client->ctx = ctx;
	client->loop = loop;
	client->timer = memory_alloc(sizeof(*client->timer));
	uv_timer_init(loop, client->timer);
	client->timer->data = client;
	client->multi = memory_have(curl_multi_init());
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
	curl_multi_setopt(client->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
			  (long)HTTP_CLIENT_CONNECTIONS_MAX);
	/* Otherwise it closes connections whenever few requests are open. */
	curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS,
			  (long)HTTP_CLIENT_CONNECTIONS_MAX);
	return client;
}

static void destroy(struct http_client *client)
{
	struct http_transfer *transfer, *next;

	if (client == NULL)
		return;
	DL_FOREACH_SAFE (client->transfers, transfer, next)
		transfer_destroy(transfer);
	curl_multi_cleanup(client->multi);
	uv_close((uv_handle_t *)client->timer, free_handle);
	free(client);
	curl_global_cleanup();
}

static const struct http_ops client_ops = { .send = on_send };

static struct http_seam seam(struct http_client *client)
{
	return (struct http_seam){ .ops = &client_ops, .ctx = client };
}

__attribute__((visibility("default")))
const struct http_client_library fairlead_http_client = {
	.create = create,
	.destroy = destroy,
	.seam = seam,
};
