/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A parser with one token of lookahead, on a copy of the text: tokens are
 * ended by a zero in it. After an error the rest of its line is skipped, but
 * for braces.
 */
#include "base/conf.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define SPACES  " \t\r\n"
#define SPECIAL "{}=\"'#"

enum token_kind {
	TOKEN_END,
	TOKEN_TEXT, /* a word, or in quotes */
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_EQUALS,
};

struct token {
	enum token_kind kind;
	unsigned int line;
	char *text;
	char *end; /* of text: where its zero is put */
};

struct parser {
	char *at;
	unsigned int line; /* of at */
	struct token token, next;
	struct conf *conf;
	size_t section;          /* where we are */
	unsigned int error_line; /* the last one with an error */
	struct settings_errors *errors;
};

/* --- tokens --- */

static void skip_blanks(struct parser *parser)
{
	for (;;) {
		if (*parser->at == '#')
			parser->at += strcspn(parser->at, "\n");
		if (*parser->at == 0 || strchr(SPACES, *parser->at) == NULL)
			return;
		parser->line += *parser->at++ == '\n';
	}
}

static void take_quoted(struct parser *parser, struct token *token)
{
	const char stops[] = { *parser->at, '\n', 0 };

	token->text = parser->at + 1;
	token->end = token->text + strcspn(token->text, stops);
	parser->at = token->end;
	if (*parser->at == stops[0])
		parser->at++;
	else
		settings_errors_add(parser->errors, parser->line,
				    "text is not closed on its line: %c is "
				    "missing",
				    stops[0]);
}

static struct token take_token(struct parser *parser)
{
	static const char marks[] = "{}=";
	static const enum token_kind kinds[] = { TOKEN_OPEN, TOKEN_CLOSE,
						 TOKEN_EQUALS };
	struct token token = { .kind = TOKEN_TEXT };
	const char *mark;

	skip_blanks(parser);
	token.line = parser->line;
	mark = strchr(marks, *parser->at);
	if (*parser->at == 0) {
		token.kind = TOKEN_END;
	} else if (mark != NULL) {
		token.kind = kinds[mark - marks];
		parser->at++;
	} else if (*parser->at == '"' || *parser->at == '\'') {
		take_quoted(parser, &token);
	} else {
		token.text = parser->at;
		parser->at += strcspn(parser->at, SPACES SPECIAL);
		token.end = parser->at;
	}
	return token;
}

/* What stands behind a word was read with the next token: a zero may go there. */
static void advance(struct parser *parser)
{
	parser->token = parser->next;
	parser->next = take_token(parser);
	if (parser->token.kind == TOKEN_TEXT)
		*parser->token.end = 0;
}

/* --- statements --- */

/* One error a line; what else stands on the line is skipped. */
static void fail(struct parser *parser, unsigned int line, const char *format,
		 const char *name)
{
	if (line == parser->error_line)
		return;
	parser->error_line = line;
	settings_errors_add(parser->errors, line, format, name);
	while (parser->next.line == line && (parser->next.kind == TOKEN_TEXT ||
					     parser->next.kind == TOKEN_EQUALS))
		advance(parser);
}

static void section_add(struct parser *parser, const char *name,
			const char *title, unsigned int line)
{
	struct conf *conf = parser->conf;

	conf->sections = memory_resize(conf->sections, conf->count + 1,
				       sizeof(*conf->sections));
	conf->sections[conf->count] = (struct conf_section){
		.name = name,
		.title = title,
		.parent = parser->section,
		.line = line,
	};
	parser->section = conf->count++;
}

static void setting_add(struct parser *parser, const char *name,
			const char *value, unsigned int line)
{
	struct conf_section *section = &parser->conf->sections[parser->section];

	section->settings = memory_resize(section->settings, section->count + 1,
					  sizeof(*section->settings));
	section->settings[section->count++] = (struct fairlead_setting){
		.name = name,
		.value = value,
		.line = line,
	};
}

static void section_close(struct parser *parser)
{
	if (parser->section == 0)
		fail(parser, parser->token.line, "%s closes no section", "}");
	else
		parser->section =
			parser->conf->sections[parser->section].parent;
}

/* The token is a name. */
static void statement(struct parser *parser)
{
	const char *name = parser->token.text;
	unsigned int line = parser->token.line;
	const char *title = "";

	if (parser->next.kind == TOKEN_EQUALS) {
		advance(parser);
		if (parser->next.kind != TOKEN_TEXT ||
		    parser->next.line != line) {
			fail(parser, line,
			     "'%s': a value is missing behind =", name);
			return;
		}
		advance(parser);
		setting_add(parser, name, parser->token.text, line);
		return;
	}
	if (parser->next.kind == TOKEN_TEXT && parser->next.line == line) {
		advance(parser);
		title = parser->token.text;
	}
	if (parser->next.kind == TOKEN_OPEN) {
		advance(parser);
		section_add(parser, name, title, line);
		return;
	}
	fail(parser, line, "'%s': = and a value, or { is missing", name);
}

static void statements(struct parser *parser)
{
	for (;;) {
		advance(parser);
		switch (parser->token.kind) {
		case TOKEN_TEXT:
			statement(parser);
			break;
		case TOKEN_CLOSE:
			section_close(parser);
			break;
		case TOKEN_OPEN:
			fail(parser, parser->token.line,
			     "a name is missing before %s", "{");
			section_add(parser, NULL, "", parser->token.line);
			break;
		case TOKEN_EQUALS:
			fail(parser, parser->token.line,
			     "a name is missing before %s", "=");
			break;
		case TOKEN_END:
			return;
		}
	}
}

static void control_characters_refuse(char *text, size_t size,
				      struct settings_errors *errors)
{
	unsigned int line = 1;

	for (char *at = text; at < text + size; at++) {
		line += *at == '\n';
		if (((unsigned char)*at >= ' ' && *at != 0x7f) ||
		    (*at != 0 && strchr(SPACES, *at) != NULL))
			continue;
		settings_errors_add(errors, line, "control character 0x%02x",
				    (unsigned char)*at);
		*at = ' ';
	}
}

void conf_parse(const char *text, size_t size, struct conf *ret_conf,
		struct settings_errors *errors)
{
	struct conf conf = { .text = memory_alloc(size + 1) };
	struct parser parser = {
		.at = conf.text,
		.line = 1,
		.conf = &conf,
		.errors = errors,
	};

	memcpy(conf.text, text, size);
	control_characters_refuse(conf.text, size, errors);
	section_add(&parser, "", "", 0);
	parser.next = take_token(&parser);
	statements(&parser);
	for (; parser.section > 0;
	     parser.section = conf.sections[parser.section].parent)
		settings_errors_add(errors, conf.sections[parser.section].line,
				    "section is not closed: } is missing");
	*ret_conf = conf;
}

void conf_fini(struct conf *conf)
{
	for (size_t i = 0; i < conf->count; i++) {
		struct conf_section *section = &conf->sections[i];

		for (size_t j = 0; j < section->count; j++)
			free((char *)section->settings[j].content);
		free(section->settings);
	}
	free(conf->sections);
	free(conf->text);
	*conf = (struct conf){ 0 };
}

const struct conf_section *conf_find(const struct conf *conf, size_t parent,
				     const char *name, const char *title)
{
	for (size_t i = 0; i < conf->count; i++) {
		const struct conf_section *section = &conf->sections[i];

		if (section->parent == parent && section->name != NULL &&
		    strcmp(section->name, name) == 0 &&
		    strcmp(section->title, title) == 0)
			return section;
	}
	return NULL;
}

struct settings conf_settings(const struct conf_section *section,
			      struct settings_errors *errors)
{
	return (struct settings){
		.list = section == NULL ? NULL : section->settings,
		.count = section == NULL ? 0 : section->count,
		.errors = errors,
	};
}
