/* SPDX-License-Identifier: BSD-3-Clause */
/* Who a caller is, what it may do, and access tokens for administrators. */
#include "emu/fm/core/model.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

/* In place. Text without codes stays as it is: Slurm encodes nothing. */
static void form_decode(char *value)
{
	char *to = value;

	for (const char *from = value; *from != '\0'; from++) {
		unsigned int byte;

		if (*from == '%' && isxdigit((unsigned char)from[1]) &&
		    isxdigit((unsigned char)from[2]) &&
		    sscanf(from + 1, "%2x", &byte) == 1 && byte != 0) {
			*to++ = (char)byte;
			from += 2;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

/* The value of a field of a form, or an empty text. */
static void form_field(const char *form, size_t size, const char *name,
		       char *value, size_t capacity)
{
	size_t name_size = strlen(name);
	const char *end = form + size;

	*value = '\0';
	while (form < end) {
		const char *stop = memchr(form, '&', (size_t)(end - form));
		size_t length = (size_t)((stop != NULL ? stop : end) - form);

		if (length > name_size && form[name_size] == '=' &&
		    memcmp(form, name, name_size) == 0) {
			snprintf(value, capacity, "%.*s",
				 (int)(length - name_size - 1),
				 form + name_size + 1);
			form_decode(value);
			return;
		}
		form += length + 1;
	}
}

static bool is_same(const char *a, const char *b)
{
	size_t size = strlen(b);

	return strlen(a) == size && sodium_memcmp(a, b, size) == 0;
}

void softfm_token_create(struct softfm_exchange *exchange)
{
	const struct softfm_request *request = exchange->request;
	const struct softfm_config *config = exchange->softfm->config;
	const uint64_t life_ms = config->token_life_s * UINT64_C(1000);
	char grant[64], id[256], secret[256];
	char token[SOFTFM_SECRET_SIZE];
	json_t *other;
	const char *key;
	void *next;

	if (!exchange_has_type(exchange, "application/x-www-form-urlencoded")) {
		exchange_refuse(exchange, 415, 0, "the body is no form");
		return;
	}
	form_field(request->body, request->size, "grant_type", grant,
		   sizeof(grant));
	form_field(request->body, request->size, "client_id", id, sizeof(id));
	form_field(request->body, request->size, "client_secret", secret,
		   sizeof(secret));
	if (strcmp(grant, "client_credentials") != 0) {
		exchange_refuse(exchange, 400, 0, "unknown grant_type");
		return;
	}
	if (!is_same(id, config->client_id) ||
	    !is_same(secret, config->client_secret)) {
		exchange_refuse(exchange, 401, 0, "unknown client or secret");
		return;
	}
	json_object_foreach_safe (exchange->softfm->access, next, key, other)
		if ((uint64_t)json_integer_value(other) <= exchange->now_ms)
			json_object_del(exchange->softfm->access, key);
	softfm_secret_make(exchange->softfm, token);
	memory_check(json_object_set_new(
		exchange->softfm->access, token,
		json_integer((json_int_t)(exchange->now_ms + life_ms))));
	exchange_answer(exchange, 200,
			json_pack("{s:s, s:s, s:I}", "access_token", token,
				  "token_type", "Bearer", "expires_in",
				  (json_int_t)config->token_life_s));
}

bool exchange_authenticate(struct softfm_exchange *exchange)
{
	const struct softfm *softfm = exchange->softfm;
	const char *header = exchange->request->authorization;
	const json_t *end;
	const char *token;

	if (exchange->request->is_certified)
		return true;
	if (header == NULL)
		return false;
	if (is_same(header, softfm->basic))
		return true;
	if (strncasecmp(header, "Bearer ", strlen("Bearer ")) != 0)
		return false;
	token = header + strlen("Bearer ");
	end = json_object_get(softfm->access, token);
	if (end != NULL)
		return (uint64_t)json_integer_value(end) > exchange->now_ms;
	exchange->session =
		json_string_value(json_object_get(softfm->sessions, token));
	return exchange->session != NULL;
}

bool exchange_is_permitted(const struct softfm_exchange *exchange,
			   enum softfm_op op)
{
	const struct softfm_config *config = exchange->softfm->config;

	switch (op) {
	case SOFTFM_OP_TREE:
	case SOFTFM_OP_UNTREE:
		return true; /* of its own job: these check that */
	case SOFTFM_OP_GET:
		return config->token_may_get &&
		       strcmp(exchange->session, exchange->id) == 0;
	case SOFTFM_OP_PATCH:
		return config->token_may_patch &&
		       strcmp(exchange->session, exchange->id) == 0;
	default:
		return false;
	}
}
