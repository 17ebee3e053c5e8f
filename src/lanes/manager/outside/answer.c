/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/outside/answer.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/manager/outside/fabric_manager.h"

#define BLANKS " \t\r\n"

int fabric_answer_result(unsigned int status)
{
	switch (status) {
	case 401:
	case 403:
		return -EACCES;
	case 404:
		return -ENOENT;
	case 409:
		return -EEXIST;
	case 507:
		return -ENOSPC;
	default:
		/* 408 and 429 ask for another try as 5xx do. */
		return status >= 500 || status == 408 || status == 429
			       ? -EAGAIN
			       : -EINVAL;
	}
}

json_t *fabric_answer_read(const struct http_reply *reply)
{
	return json_loadb(reply->body, reply->size, 0, NULL);
}

/* --- tokens --- */

/* Printable, without what would end a header or a variable. */
static bool is_session_token(const char *token)
{
	size_t size = 0;

	for (; token[size] != '\0'; size++)
		if (!isgraph((unsigned char)token[size]) ||
		    token[size] == '\'' || token[size] == '"')
			return false;
	return size > 0 && size <= FABRIC_MANAGER_TOKEN_MAX;
}

const char *fabric_answer_session_token(const json_t *answer)
{
	const char *token =
		json_string_value(json_object_get(answer, "sessionToken"));

	return token != NULL && is_session_token(token) ? token : NULL;
}

/* They are larger than those of sessions. */
const char *fabric_answer_access_token(const json_t *answer)
{
	const char *token =
		json_string_value(json_object_get(answer, "access_token"));

	for (const char *c = token; c != NULL && *c != '\0'; c++)
		if (!isgraph((unsigned char)*c))
			return NULL;
	return token;
}

/* --- lists --- */

static bool is_name(const char *name)
{
	size_t size = 0;

	for (; name[size] != '\0'; size++)
		if (!isalnum((unsigned char)name[size]) &&
		    strchr("._-", name[size]) == NULL)
			return false;
	return size > 0 && size <= FABRIC_MANAGER_NAME_MAX;
}

const char **fabric_answer_names(const json_t *answer, size_t *ret_count)
{
	const json_t *links = json_object_get(answer, "documentLinks");
	const size_t size = json_array_size(links);
	const char **names;
	size_t count = 0;

	if (!json_is_array(links))
		return NULL;
	names = memory_array(size, sizeof(*names));
	for (size_t i = 0; i < size; i++) {
		const char *link = json_string_value(json_array_get(links, i));
		const char *slash = link != NULL ? strrchr(link, '/') : NULL;

		if (slash != NULL && is_name(slash + 1))
			names[count++] = slash + 1;
	}
	*ret_count = count;
	return names;
}

/* --- errors --- */

static bool has_secret(const char *text, const char *const *secrets,
		       size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (secrets[i] != NULL && secrets[i][0] != '\0' &&
		    strstr(text, secrets[i]) != NULL)
			return true;
	return false;
}

static void words_shorten(char *text)
{
	char *to = text;

	while (*text != '\0') {
		size_t size = strcspn(text, BLANKS);

		if (size > FABRIC_ANSWER_WORD_MAX)
			memcpy(to, "...", 3);
		else
			memmove(to, text, size);
		to += size > FABRIC_ANSWER_WORD_MAX ? 3 : size;
		text += size;
		if (*text != '\0') {
			*to++ = ' ';
			text++;
		}
	}
	*to = '\0';
}

void fabric_answer_quote(const struct http_reply *reply,
			 const char *const *secrets, size_t secret_count,
			 char quote[FABRIC_ANSWER_QUOTE_MAX + 8])
{
	json_t *object = fabric_answer_read(reply);
	const char *text = json_string_value(json_object_get(object, "detail"));
	_auto_(freep) char *words = NULL;

	if (text == NULL)
		text = json_string_value(json_object_get(object, "message"));
	*quote = '\0';
	if (text != NULL && !has_secret(text, secrets, secret_count)) {
		words = memory_text(text);
		words_shorten(words);
		snprintf(quote, FABRIC_ANSWER_QUOTE_MAX + 8, ": %.*s",
			 FABRIC_ANSWER_QUOTE_MAX, words);
	}
	json_decref(object);
}
