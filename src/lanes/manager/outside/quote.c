/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/outside/quote.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

#define BLANKS " \t\r\n"

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

		if (size > OUTSIDE_WORD_MAX)
			memcpy(to, "...", 3);
		else
			memmove(to, text, size);
		to += size > OUTSIDE_WORD_MAX ? 3 : size;
		text += size;
		if (*text != '\0') {
			*to++ = ' ';
			text++;
		}
	}
	*to = '\0';
}

void outside_quote(const struct http_reply *reply, const char *const *secrets,
		   size_t secret_count, char quote[OUTSIDE_QUOTE_MAX + 8])
{
	json_t *object = json_loadb(reply->body, reply->size, 0, NULL);
	const char *text = json_string_value(json_object_get(object, "detail"));
	_auto_(freep) char *words = NULL;

	if (text == NULL)
		text = json_string_value(json_object_get(object, "message"));
	*quote = '\0';
	if (text != NULL && !has_secret(text, secrets, secret_count)) {
		words = memory_text(text);
		words_shorten(words);
		snprintf(quote, OUTSIDE_QUOTE_MAX + 8, ": %.*s",
			 OUTSIDE_QUOTE_MAX, words);
	}
	json_decref(object);
}
