/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/outside/backend.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "lanes/manager/outside/fabric_manager.h"
#include "lanes/manager/outside/name.h"
#include "sys/http_client.h"
#include "sys/secret.h"

#define CREDENTIAL_MAX 4096  /* bytes of a file */
#define KEY_MAX        16384 /* bytes of a PEM file */

struct backend {
	const struct http_client_library *library;
	void (*done)(void *ctx, uint64_t id, const struct outside_end *end);
	void *ctx;
	char *prefix;
	char *url;
	char *ca;
	char *endpoint, *client_id, *client_secret, *password;
	char *certificate, *key; /* paths */
	struct fabric_manager_config config;
	struct http_client_config http_config;
	struct http_client *http;
	struct fabric_manager *manager;
};

/* --- ends --- */

static void on_done(void *ctx, uint64_t id,
		    const struct fabric_manager_outcome *outcome)
{
	struct backend *backend = ctx;
	_auto_(freep) uint64_t *ids =
		memory_array(outcome->name_count, sizeof(*ids));
	_auto_(freep) char *secret =
		outcome->token == NULL ? NULL
				       : memory_format("%s\n%s", outcome->name,
						       outcome->token);
	struct outside_end end = {
		.result = outcome->result,
		.is_reached = outcome->is_reached,
		.text = outcome->result < 0 ? outcome->error.text : "",
		.secret = (const uint8_t *)secret,
		.secret_size = secret != NULL ? strlen(secret) : 0,
		.grant_ids = ids,
	};

	for (size_t i = 0; i < outcome->name_count; i++) {
		uint64_t grant_id =
			outside_name_grant(backend->prefix, outcome->names[i]);

		if (grant_id != 0)
			ids[end.count++] = grant_id;
	}
	backend->done(backend->ctx, id, &end);
	if (secret != NULL)
		sodium_memzero(secret, strlen(secret));
}

static void on_reply(void *ctx, uint64_t id, const struct http_reply *reply)
{
	struct backend *backend = ctx;

	fabric_manager_reply(backend->manager, id, reply);
}

void backend_send(struct backend *backend,
		  const struct outside_request *request)
{
	char name[FABRIC_MANAGER_NAME_MAX + 1];

	outside_name_format(request->prefix, request->grant_id, name);
	switch (request->verb) {
	case OUTSIDE_MAKE:
		fabric_manager_make(backend->manager, request->id, name,
				    (uint32_t)strtoul(request->text, NULL, 10));
		break;
	case OUTSIDE_DROP:
		fabric_manager_drop(backend->manager, request->id, name);
		break;
	case OUTSIDE_FIND:
		fabric_manager_find(backend->manager, request->id, name);
		break;
	default:
		fabric_manager_list(backend->manager, request->id);
		break;
	}
}

void backend_cancel(struct backend *backend)
{
	if (backend != NULL)
		fabric_manager_cancel(backend->manager,
				      "the configuration has changed");
}

/* --- credentials --- */

static int credential_read(const char *folder, const char *name,
			   char **ret_text, struct fairlead_error *ret_error)
{
	_auto_(freep) char *path = memory_format("%s/%s", folder, name);
	char bytes[CREDENTIAL_MAX + 1];
	ssize_t size = secret_read(path, bytes, CREDENTIAL_MAX, ret_error);

	if (size < 0)
		return (int)size;
	bytes[size] = '\0';
	bytes[strcspn(bytes, "\r\n")] = '\0';
	if (bytes[0] == '\0')
		return error_set(ret_error, -EINVAL, "'%s' is empty", path);
	*ret_text = memory_text(bytes);
	sodium_memzero(bytes, sizeof(bytes));
	return 0;
}

/* Errors that users read quote it: it must not be another file's secret. */
static int endpoint_check(const char *endpoint, const char *folder,
			  struct fairlead_error *ret_error)
{
	if (strncmp(endpoint, "https://", strlen("https://")) != 0 ||
	    strpbrk(endpoint, " @") != NULL)
		return error_set(ret_error, -EINVAL,
				 "'%s/endpoint' is no URL of the form "
				 "https://HOST[:PORT]/PATH without a user",
				 folder);
	return 0;
}

static int oauth_read(struct backend *backend, const char *folder,
		      struct fairlead_error *ret_error)
{
	int result = credential_read(folder, "endpoint", &backend->endpoint,
				     ret_error);

	if (result == 0)
		result = endpoint_check(backend->endpoint, folder, ret_error);
	if (result == 0)
		result = credential_read(folder, "client-id",
					 &backend->client_id, ret_error);
	if (result == 0)
		result = credential_read(folder, "client-secret",
					 &backend->client_secret, ret_error);
	backend->config.endpoint = backend->endpoint;
	backend->config.client_id = backend->client_id;
	backend->config.client_secret = backend->client_secret;
	return result;
}

/* libcurl reads it by its path, at each connection, and does not name it. */
static int file_check(const char *path, struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return error_set(ret_error, -errno, "cannot read '%s': %s",
				 path, strerror(errno));
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return error_set(ret_error, -EINVAL, "'%s' is no file", path);
	return 0;
}

/* A key that others can read is no secret. */
static int certificate_check(struct backend *backend, const char *folder,
			     struct fairlead_error *ret_error)
{
	char bytes[KEY_MAX];
	ssize_t size;
	int result;

	backend->certificate = memory_format("%s/client.pem", folder);
	backend->key = memory_format("%s/client-key.pem", folder);
	backend->http_config.certificate = backend->certificate;
	backend->http_config.key = backend->key;
	result = file_check(backend->certificate, ret_error);
	if (result < 0)
		return result;
	size = secret_read(backend->key, bytes, sizeof(bytes), ret_error);
	sodium_memzero(bytes, sizeof(bytes));
	return size < 0 ? (int)size : 0;
}

static int credentials_read(struct backend *backend,
			    const struct fairlead_outside *terms,
			    struct fairlead_error *ret_error)
{
	const char *folder = terms->credentials;
	int result = 0;

	if (strcmp(terms->auth, "oauth") == 0) {
		backend->config.auth = FABRIC_MANAGER_OAUTH;
		result = oauth_read(backend, folder, ret_error);
	} else if (strcmp(terms->auth, "basic") == 0) {
		backend->config.auth = FABRIC_MANAGER_BASIC;
		result = credential_read(folder, "passwd", &backend->password,
					 ret_error);
		backend->config.password = backend->password;
	} else {
		backend->config.auth = FABRIC_MANAGER_CERTIFICATE;
		result = certificate_check(backend, folder, ret_error);
	}
	return result < 0 ? error_prefix(ret_error, "fabric manager '%s'",
					 terms->url)
			  : 0;
}

/* --- life --- */

/* It stays loaded. */
static int library_load(const struct http_client_library **ret_library,
			struct fairlead_error *ret_error)
{
	void *handle = dlopen(HTTP_CLIENT_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (handle != NULL)
		*ret_library = dlsym(handle, HTTP_CLIENT_SYMBOL);
	if (handle == NULL || *ret_library == NULL)
		return error_set(ret_error, -ENOENT,
				 "cannot load the client of fabric managers: "
				 "%s; is libcurl installed?",
				 dlerror());
	return 0;
}

int backend_create(uv_loop_t *loop, const struct fairlead_outside *terms,
		   const char *cluster,
		   void (*done)(void *ctx, uint64_t id,
				const struct outside_end *end),
		   void *ctx, struct backend **ret_backend,
		   struct fairlead_error *ret_error)
{
	_auto_(backend_destroyp) struct backend *backend =
		memory_alloc(sizeof(*backend));
	struct http_seam seam;
	int result = terms->ca != NULL ? file_check(terms->ca, ret_error) : 0;

	if (result < 0)
		return error_prefix(ret_error, "fabric manager '%s'",
				    terms->url);
	backend->done = done;
	backend->ctx = ctx;
	backend->prefix =
		memory_text(terms->prefix != NULL ? terms->prefix : cluster);
	backend->url = memory_text(terms->url);
	backend->config.url = backend->url;
	backend->config.timeout_ms = terms->timeout_ms;
	backend->http_config.connect_timeout_ms = terms->timeout_ms;
	if (terms->ca != NULL)
		backend->ca = memory_text(terms->ca);
	backend->http_config.ca = backend->ca;
	result = credentials_read(backend, terms, ret_error);
	if (result < 0)
		return result;
	result = library_load(&backend->library, ret_error);
	if (result < 0)
		return result;
	backend->http = backend->library->create(loop, &backend->http_config,
						 on_reply, backend);
	seam = backend->library->seam(backend->http);
	backend->manager = fabric_manager_create(&backend->config, &seam,
						 on_done, backend);
	*ret_backend = take_ptr(backend);
	return 0;
}

static void secret_free(char *secret)
{
	if (secret != NULL)
		sodium_memzero(secret, strlen(secret));
	free(secret);
}

void backend_destroy(struct backend *backend)
{
	if (backend == NULL)
		return;
	if (backend->library != NULL)
		backend->library->destroy(backend->http);
	fabric_manager_destroy(backend->manager);
	secret_free(backend->client_secret);
	secret_free(backend->password);
	free(backend->endpoint);
	free(backend->client_id);
	free(backend->certificate);
	free(backend->key);
	free(backend->prefix);
	free(backend->url);
	free(backend->ca);
	free(backend);
}
