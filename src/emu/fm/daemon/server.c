/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HTTP is libmicrohttpd's, the meaning of requests is the core's. An answer
 * that has to come late waits while its connection is suspended.
 */
#include "emu/fm/daemon/server.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "emu/fm/daemon/ctl.h"
#include "emu/fm/daemon/certificate.h"
#include "emu/fm/daemon/control.h"
#include "emu/fm/daemon/folder.h"
#include "sys/daemon_loop.h"
#include "sys/http_server.h"
#include "sys/packet_server.h"
#include "sys/rundir.h"

#define TIMEOUT_S       30 /* of a silent connection */
#define CONTROL_CLIENTS 16
#define JSON_TYPE       "application/json"
#define HTML_TYPE       "text/html; charset=utf-8"

/* One request, from its first line until it is answered. */
struct softfm_call {
	struct softfm_server *server;
	struct MHD_Connection *connection;
	struct writer body; /* up to SOFTFM_BODY_MAX bytes */
	size_t size;        /* of the body that came */
	bool is_handled;
	struct softfm_answer answer;
	/* Suspended: when it goes on, and the others. */
	uint64_t due_ms;
	struct softfm_call *next;
};

struct softfm_server {
	struct softfm_options *options;
	const struct clock_seam *clock;
	const struct log *log;
	struct daemon_loop loop;
	struct rundir rundir;
	struct softfm_credentials credentials;
	struct certificates certificates;
	struct softfm *softfm;
	struct http_server *http;
	struct packet_server *control;
	uv_timer_t timer; /* of suspended calls */
	struct softfm_call *suspended;
};

/* --- answers that come late --- */

static void on_due(uv_timer_t *timer);

static void timer_set(struct softfm_server *server)
{
	uint64_t now_ms = clock_monotonic_ms(server->clock);
	uint64_t due_ms = SOFTFM_FOREVER;

	for (struct softfm_call *call = server->suspended; call != NULL;
	     call = call->next)
		if (call->due_ms < due_ms)
			due_ms = call->due_ms;
	if (due_ms != SOFTFM_FOREVER)
		uv_timer_start(&server->timer, on_due,
			       due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

static void calls_resume(struct softfm_server *server, uint64_t now_ms)
{
	for (struct softfm_call **at = &server->suspended; *at != NULL;) {
		struct softfm_call *call = *at;

		if (call->due_ms > now_ms) {
			at = &call->next;
			continue;
		}
		*at = call->next;
		MHD_resume_connection(call->connection);
	}
}

static void on_due(uv_timer_t *timer)
{
	struct softfm_server *server = timer->data;

	calls_resume(server, clock_monotonic_ms(server->clock));
	http_server_run(server->http);
	timer_set(server);
}

static void call_suspend(struct softfm_call *call)
{
	struct softfm_server *server = call->server;
	uint64_t delay_ms = call->answer.delay_ms;

	call->due_ms = delay_ms == SOFTFM_FOREVER
			       ? SOFTFM_FOREVER
			       : clock_monotonic_ms(server->clock) + delay_ms;
	call->answer.delay_ms = 0;
	call->next = server->suspended;
	server->suspended = call;
	MHD_suspend_connection(call->connection);
	timer_set(server);
}

/* --- HTTP --- */

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static bool has_certificate(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	unsigned int flaws = 0;

	return info != NULL && info->tls_session != NULL &&
	       gnutls_certificate_verify_peers2(
		       (gnutls_session_t)info->tls_session, &flaws) == 0 &&
	       flaws == 0;
}

static enum MHD_Result send_text(struct MHD_Connection *connection,
				 unsigned int status, const char *type,
				 char *text, size_t size)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		size, text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (response == NULL)
		memory_end();
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == 401)
		MHD_add_response_header(
			response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_page(struct softfm_server *server,
				 struct MHD_Connection *connection)
{
	struct writer page = { 0 };

	softfm_page(server->softfm, &page);
	log_info(server->log, "request op=page status=200 job=");
	return send_text(connection, 200, HTML_TYPE, (char *)page.data,
			 page.size);
}

static void handle(struct softfm_call *call, const char *method,
		   const char *path)
{
	struct softfm_server *server = call->server;
	const struct softfm_request request = {
		.method = method,
		.path = path,
		.authorization =
			header(call->connection, MHD_HTTP_HEADER_AUTHORIZATION),
		.content_type =
			header(call->connection, MHD_HTTP_HEADER_CONTENT_TYPE),
		.body = call->body.data,
		.size = call->size,
		.is_certified = has_certificate(call->connection),
	};
	const struct softfm_answer *answer = &call->answer;

	softfm_handle(server->softfm, &request,
		      clock_monotonic_ms(server->clock), &call->answer);
	call->is_handled = true;
	if (answer->has_changed && server->options->state != NULL &&
	    softfm_state_save(server->softfm, server->options->state) < 0)
		log_error(server->log, "cannot save the state path=%s",
			  server->options->state);
	log_info(server->log, "request op=%s status=%u job=%s%s",
		 softfm_op_format(answer->op), answer->status, answer->job,
		 answer->is_lost || answer->delay_ms > 0 ? " fault=yes" : "");
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection,
				  const char *url, const char *method,
				  const char *version, const char *upload_data,
				  size_t *upload_data_size, void **request_ctx)
{
	struct softfm_server *server = ctx;
	struct softfm_call *call = *request_ctx;
	char *text;

	if (call == NULL) {
		call = memory_alloc(sizeof(*call));
		call->server = server;
		call->connection = connection;
		*request_ctx = call;
		return MHD_YES;
	}
	if (*upload_data_size > 0) {
		call->size += *upload_data_size;
		if (call->size <= SOFTFM_BODY_MAX)
			write_bytes(&call->body, upload_data,
				    *upload_data_size);
		memory_check(call->body.result);
		*upload_data_size = 0;
		return MHD_YES;
	}
	if (strcmp(url, "/") == 0 && strcmp(method, "GET") == 0)
		return send_page(server, connection);
	if (!call->is_handled)
		handle(call, method, url);
	if (call->answer.delay_ms > 0) {
		call_suspend(call);
		return MHD_YES;
	}
	if (call->answer.is_lost)
		return MHD_NO; /* the connection ends */
	text = memory_have(json_dumps(call->answer.body, JSON_COMPACT));
	return send_text(connection, call->answer.status, JSON_TYPE, text,
			 strlen(text));
}

static void on_completed(void *ctx, struct MHD_Connection *connection,
			 void **request_ctx,
			 enum MHD_RequestTerminationCode code)
{
	struct softfm_call *call = *request_ctx;

	if (call == NULL)
		return;
	json_decref(call->answer.body);
	writer_fini(&call->body);
	free(call);
	*request_ctx = NULL;
}

static int http_open(struct softfm_server *server, uint16_t *ret_port,
		     struct fairlead_error *ret_error)
{
	const struct certificates *certificates = &server->certificates;
	const bool is_plain = server->options->is_plain;
	const struct MHD_OptionItem options[] = {
		{ MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, NULL },
		{ MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, server },
		{ is_plain ? MHD_OPTION_END : MHD_OPTION_HTTPS_MEM_KEY, 0,
		  certificates->server_key },
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, certificates->server },
		{ MHD_OPTION_HTTPS_MEM_TRUST, 0, certificates->ca },
		{ MHD_OPTION_END, 0, NULL },
	};
	const struct http_server_config config = {
		.address = server->options->listen,
		.purpose = "clients",
		.flags =
			MHD_ALLOW_SUSPEND_RESUME | (is_plain ? 0 : MHD_USE_TLS),
		.options = options,
		.on_request = on_request,
		.ctx = server,
	};

	return http_server_start(&server->loop.uv, &config, &server->http,
				 ret_port, ret_error);
}

/* --- control --- */

static int control_open(void *ctx, int fd, const struct ucred *peer,
			void **ret_client)
{
	*ret_client = NULL;
	return peer->uid == 0 || peer->uid == geteuid() ? 0 : -EPERM;
}

static void control_close(void *ctx, void *client)
{
}

static bool control_send(int fd, int result, const char *text,
			 const struct packet_fds *fds)
{
	char answer[SOFTFM_RESULT_SIZE + FAIRLEAD_ERROR_TEXT_MAX];
	const int32_t code = result;
	size_t size = strlen(text);

	memcpy(answer, &code, sizeof(code));
	memcpy(answer + sizeof(code), text, size);
	return packet_send(fd, answer, sizeof(code) + size, fds) == 0;
}

/* End connections that a cleared fault left without an answer. */
static void hung_end(struct softfm_server *server)
{
	for (struct softfm_call *call = server->suspended; call != NULL;
	     call = call->next) {
		call->answer.is_lost |= call->due_ms == SOFTFM_FOREVER;
		if (call->answer.is_lost)
			call->due_ms = 0;
	}
	calls_resume(server, 0);
	http_server_run(server->http);
}

static bool control_serve(void *ctx, void *client, int fd, const void *bytes,
			  size_t size)
{
	struct softfm_server *server = ctx;
	struct fairlead_error error = { 0 };
	struct packet_fds fds = { .count = 0 };
	struct writer output = { 0 };
	_auto_(freep) char *command =
		memory_format("%.*s", (int)size, (const char *)bytes);
	int result =
		softfm_control_run(server->softfm, command, &output, &error);
	bool was_sent;

	memory_check(output.result);
	if (strcmp(command, "clear") == 0)
		hung_end(server);
	if (output.size > 0) {
		fds.fds[0] = packet_file_make(output.data, output.size);
		fds.count = fds.fds[0] >= 0;
	}
	was_sent = control_send(fd, result, result < 0 ? error.text : "", &fds);
	packet_fds_close(&fds);
	writer_fini(&output);
	return was_sent;
}

static void control_refuse(int fd, int error)
{
	control_send(fd, error, strerror(-error), NULL);
}

static const struct packet_server_ops control_ops = {
	.open = control_open,
	.serve = control_serve,
	.close = control_close,
	.refuse = control_refuse,
};

static int control_listen(struct softfm_server *server,
			  struct fairlead_error *ret_error)
{
	int fd = packet_listen(server->rundir.path);
	int result = fd < 0 ? fd
			    : packet_server_create(
				      &server->loop.uv, fd, CONTROL_CLIENTS,
				      SOFTFM_COMMAND_MAX, &control_ops, server,
				      server->log, &server->control);

	return result < 0 ? error_set(ret_error, result,
				      "cannot listen in '%s': %s",
				      server->rundir.path, strerror(-result))
			  : 0;
}

/* --- the daemon --- */

static int state_open(struct softfm_server *server, const struct rng_seam *rng,
		      struct fairlead_error *ret_error)
{
	struct softfm_config *config = &server->options->config;
	int result;

	config->client_id = server->credentials.client_id;
	config->client_secret = server->credentials.client_secret;
	config->password = server->credentials.password;
	server->softfm = softfm_create(config, rng);
	if (server->options->state == NULL)
		return 0;
	result = softfm_state_load(server->softfm, server->options->state,
				   ret_error);
	return result == -ENOENT ? 0 : result;
}

static int url_publish(struct softfm_server *server, uint16_t port,
		       struct fairlead_error *ret_error)
{
	const struct softfm_options *options = server->options;
	const char *colon = strrchr(options->listen, ':');
	_auto_(freep) char *url =
		memory_format("%s://%.*s:%u%s",
			      options->is_plain ? "http" : "https",
			      (int)(colon - options->listen), options->listen,
			      port, options->config.prefix);

	log_info(server->log, "serving url=%s", url);
	return softfm_url_write(options->dir, url, ret_error);
}

static int start(struct softfm_server *server, const struct rng_seam *rng,
		 struct fairlead_error *ret_error)
{
	const struct softfm_options *options = server->options;
	uint16_t port = 0;
	int result = rundir_open(&server->rundir, "fairlead-softfm",
				 options->dir, ret_error);

	if (result == 0)
		result = softfm_credentials_get(
			options->dir, &server->credentials, ret_error);
	if (result == 0)
		result = state_open(server, rng, ret_error);
	if (result == 0 && !options->is_plain)
		result = certificates_make(options->dir, options->listen,
					   options->name,
					   options->has_foreign_ca,
					   &server->certificates, ret_error);
	if (result == 0)
		result = http_open(server, &port, ret_error);
	if (result == 0)
		result = control_listen(server, ret_error);
	return result == 0 ? url_publish(server, port, ret_error) : result;
}

int softfm_server_create(struct softfm_options *options,
			 const struct clock_seam *clock,
			 const struct rng_seam *rng, const struct log *log,
			 struct softfm_server **ret_server)
{
	struct softfm_server *server = memory_alloc(sizeof(*server));
	struct fairlead_error error;
	int result;

	*server = (struct softfm_server){
		.options = options,
		.clock = clock,
		.log = log,
		.rundir = { .lock = -1 },
	};
	result = daemon_loop_init(&server->loop, log);
	if (result < 0) {
		free(server);
		return result;
	}
	uv_timer_init(&server->loop.uv, &server->timer);
	server->timer.data = server;
	result = start(server, rng, &error);
	if (result < 0) {
		log_error(log, "%s", error.text);
		softfm_server_destroy(server);
		return result;
	}
	*ret_server = server;
	return 0;
}

int softfm_server_run(struct softfm_server *server)
{
	return daemon_loop_run(&server->loop, server->options->ready_fd);
}

void softfm_server_destroy(struct softfm_server *server)
{
	if (server == NULL)
		return;
	/* libmicrohttpd: no connection may be suspended when it stops. */
	calls_resume(server, SOFTFM_FOREVER);
	http_server_stop(server->http);
	packet_server_destroy(server->control);
	daemon_loop_fini(&server->loop);
	rundir_close(&server->rundir);
	softfm_destroy(server->softfm);
	softfm_credentials_fini(&server->credentials);
	certificates_fini(&server->certificates);
	free(server);
}
