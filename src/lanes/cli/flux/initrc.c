/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lua's words, as far as these files have them: names, texts in quotes of three
 * kinds, comments of two, and bytes. What is not closed ends with the file.
 */
#include "lanes/cli/flux/initrc.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES                                              \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_" \
	"0123456789"

enum word_kind {
	WORD_END,
	WORD_NAME, /* or a number */
	WORD_TEXT,
	WORD_BYTE,
};

struct word {
	enum word_kind kind;
	const char
		*at; /* of a text: what is between its quotes, as it stands */
	size_t size;
};

/* --- words --- */

/* [[..]], [=[..]=] and so on: how many bytes its opening has; 0: it is none. */
static size_t long_opening(const char *at)
{
	size_t equals = *at == '[' ? strspn(at + 1, "=") : 0;

	return *at == '[' && at[1 + equals] == '[' ? equals + 2 : 0;
}

/* Take what is in such brackets off. */
static struct word take_long(const char **rest, size_t opening)
{
	const char *begin = *rest + opening;
	const char *end = begin;
	size_t equals = opening - 2;

	while (*end && !(*end == ']' && strspn(end + 1, "=") == equals &&
			 end[1 + equals] == ']'))
		end++;
	*rest = *end ? end + opening : end;
	return (struct word){ WORD_TEXT, begin, (size_t)(end - begin) };
}

static struct word take_quoted(const char **rest)
{
	const char *begin = *rest + 1;
	const char *end = begin;

	while (*end && *end != **rest && *end != '\n')
		end += *end == '\\' && end[1] ? 2 : 1;
	*rest = *end ? end + 1 : end;
	return (struct word){ WORD_TEXT, begin, (size_t)(end - begin) };
}

static void skip(const char **rest)
{
	for (;;) {
		size_t opening;

		*rest += strspn(*rest, " \t\r\n");
		if (strncmp(*rest, "--", 2) != 0)
			return;
		*rest += 2;
		opening = long_opening(*rest);
		if (opening)
			take_long(rest, opening);
		else
			*rest += strcspn(*rest, "\n");
	}
}

static struct word take_word(const char **rest)
{
	struct word word = { .kind = WORD_END };
	size_t opening;

	skip(rest);
	opening = long_opening(*rest);
	if (!**rest)
		return word;
	if (opening)
		return take_long(rest, opening);
	if (**rest == '"' || **rest == '\'')
		return take_quoted(rest);
	word.at = *rest;
	word.size = strspn(*rest, NAME_BYTES);
	word.kind = word.size > 0 ? WORD_NAME : WORD_BYTE;
	if (word.size == 0)
		word.size = 1;
	*rest += word.size;
	return word;
}

static bool is_byte(const struct word *word, char byte)
{
	return word->kind == WORD_BYTE && *word->at == byte;
}

/* A name, or a text in brackets that stands for one. */
static bool is_name(const struct word *word, const char *name)
{
	return (word->kind == WORD_NAME || word->kind == WORD_TEXT) &&
	       strlen(name) == word->size &&
	       strncmp(word->at, name, word->size) == 0;
}

static bool is_next(const char *rest, char byte)
{
	struct word word = take_word(&rest);

	return is_byte(&word, byte);
}

/* Take the byte off, where it is next. */
static bool take_byte(const char **rest, char byte)
{
	if (!is_next(*rest, byte))
		return false;
	take_word(rest);
	return true;
}

/*
 * The text that stands there, alone: it is not put together with others. The
 * caller frees it; NULL: it is something else.
 */
static char *read_text(const char *rest)
{
	struct word word = take_word(&rest);

	return word.kind == WORD_TEXT && !take_byte(&rest, '.')
		       ? strndup(word.at, word.size)
		       : NULL;
}

/* --- the argument of plugin.load --- */

static void set_conf(struct initrc_call *call, const struct word *name,
		     const char *text)
{
	char *copy = strndup(name->at, name->size);

	if (copy)
		json_object_set_new(call->conf, copy,
				    text ? json_string(text) : json_null());
	free(copy);
}

/* NAME = .. of a table: its own, or of what is in it. */
static void take_member(struct initrc_call *call, bool is_conf,
			const struct word *name, const char *rest)
{
	char *text = read_text(rest);

	if (is_conf) {
		set_conf(call, name, text);
	} else if (is_name(name, "file") && text) {
		free(call->file);
		call->file = text;
		return;
	}
	free(text);
}

/* Of the last words before `=`: NAME, or ["NAME"]; NULL: it is neither. */
static const struct word *key_of(const struct word last[3])
{
	if (last[0].kind == WORD_NAME)
		return &last[0];
	return is_byte(&last[0], ']') && last[1].kind == WORD_TEXT &&
			       is_byte(&last[2], '[')
		       ? &last[1]
		       : NULL;
}

/* What is in the table whose brace was taken, up to its end. */
static void take_table(const char **rest, struct initrc_call *call)
{
	struct word last[3] = { 0 };
	unsigned int depth = 1;
	bool is_conf = false;

	while (depth > 0) {
		struct word word = take_word(rest);
		const struct word *key =
			is_byte(&word, '=') ? key_of(last) : NULL;

		if (word.kind == WORD_END)
			return;
		if (key && depth == 1 && is_name(key, "conf"))
			is_conf = is_next(*rest, '{');
		else if (key && (depth == 1 || (depth == 2 && is_conf)))
			take_member(call, depth == 2, key, *rest);
		if (is_byte(&word, '{'))
			depth++;
		else if (is_byte(&word, '}'))
			depth--;
		if (depth == 1 && is_byte(&word, '}'))
			is_conf = false;
		last[2] = last[1];
		last[1] = last[0];
		last[0] = word;
	}
}

/* --- calls --- */

/* plugin.load { .. }, plugin.load ({ .. }), plugin.load "FILE" */
static void take_load(const char **rest, struct initrc_call *call)
{
	take_byte(rest, '(');
	if (take_byte(rest, '{'))
		take_table(rest, call);
	else
		call->file = read_text(*rest);
}

static void take_source(const char **rest, struct initrc_call *call)
{
	take_byte(rest, '(');
	call->file = read_text(*rest);
}

/* OWNER.NAME, of which OWNER was taken. */
static bool take_field(const char **rest, const char *name)
{
	const char *at = *rest;
	struct word word;

	if (!take_byte(&at, '.'))
		return false;
	word = take_word(&at);
	if (!is_name(&word, name))
		return false;
	*rest = at;
	return true;
}

static bool take_call(const char **rest, const struct word *word,
		      struct initrc_call *call)
{
	if (word->kind != WORD_NAME) {
		return false;
	} else if (is_name(word, "plugin") && take_field(rest, "load")) {
		call->kind = INITRC_LOAD;
		take_load(rest, call);
	} else if (is_name(word, "shell") &&
		   take_field(rest, "source_rcpath")) {
		call->kind = INITRC_RCPATH;
		take_source(rest, call);
	} else if (is_name(word, "source") ||
		   is_name(word, "source_if_exists")) {
		call->kind = INITRC_SOURCE;
		take_source(rest, call);
	} else {
		return false;
	}
	if (!call->file)
		call->file = strdup("");
	return true;
}

bool initrc_next(const char **rest, struct initrc_call *ret_call)
{
	struct initrc_call call = { .conf = json_object() };
	struct word word;

	do {
		word = take_word(rest);
		if (word.kind == WORD_END || !call.conf)
			break;
		if (take_call(rest, &word, &call) && call.file) {
			*ret_call = call;
			return true;
		}
	} while (!call.file);
	initrc_call_fini(&call);
	return false;
}

void initrc_call_fini(struct initrc_call *call)
{
	free(call->file);
	json_decref(call->conf);
	*call = (struct initrc_call){ 0 };
}
