/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A prepared text has no comments, no control characters but newlines, and
 * only closed strings, so that the helpers below can step over it token by
 * token: a string, a bare word, or one of the special characters.
 */
#include "lanes/config/scan.h"

#include <string.h>

#include "base/bytes.h"

#define SPACES    " \t\n"
#define SPECIALS  "{}()=,+"
#define DEPTH_MAX 8 /* deeper braces are counted, not remembered */

struct scanner {
	const char *at;
	const char *end;
	unsigned int line;
	unsigned int depth; /* of braces */
	unsigned int open_lines[DEPTH_MAX];
	struct writer out;
	struct report *report;
};

static void put(struct scanner *scanner, char c)
{
	write_u8(&scanner->out, (uint8_t)c);
}

/* One byte outside of strings, or a blank for one that is in a comment. */
static void copy(struct scanner *scanner, bool is_comment)
{
	char c = *scanner->at++;

	if (c == '\n') {
		scanner->line++;
		put(scanner, c);
	} else if (is_comment || c == ' ' || c == '\t' || c == '\r') {
		put(scanner, ' ');
	} else if ((unsigned char)c < ' ' || c == 0x7f) {
		report_add(scanner->report, scanner->line,
			   "control character 0x%02x", (unsigned char)c);
		put(scanner, ' ');
	} else {
		put(scanner, c);
	}
}

static bool begins(const struct scanner *scanner, const char *text)
{
	size_t size = strlen(text);

	return (size_t)(scanner->end - scanner->at) >= size &&
	       memcmp(scanner->at, text, size) == 0;
}

static void skip_line_comment(struct scanner *scanner)
{
	while (scanner->at < scanner->end && *scanner->at != '\n')
		copy(scanner, true);
}

static void skip_block_comment(struct scanner *scanner)
{
	unsigned int line = scanner->line;

	copy(scanner, true);
	copy(scanner, true);
	while (scanner->at < scanner->end && !begins(scanner, "*/"))
		copy(scanner, true);
	if (scanner->at == scanner->end) {
		report_add(scanner->report, line, "comment is not closed");
		return;
	}
	copy(scanner, true);
	copy(scanner, true);
}

/* A backslash and what it is before: only itself and quotes. */
static void copy_escape(struct scanner *scanner, char quote)
{
	char c = scanner->end - scanner->at > 1 ? scanner->at[1] : '\n';

	if (c == '\\' || c == quote) {
		put(scanner, *scanner->at++);
		put(scanner, *scanner->at++);
		return;
	}
	report_add(scanner->report, scanner->line,
		   "a backslash stands before a backslash or %c only", quote);
	scanner->at++;
}

static void copy_string(struct scanner *scanner)
{
	unsigned int line = scanner->line;
	char quote = *scanner->at;

	put(scanner, *scanner->at++);
	while (scanner->at < scanner->end && *scanner->at != '\n' &&
	       *scanner->at != quote) {
		if (*scanner->at == '\\')
			copy_escape(scanner, quote);
		else
			copy(scanner, false);
	}
	if (scanner->at < scanner->end && *scanner->at == quote) {
		scanner->at++;
	} else {
		report_add(scanner->report, line,
			   "text is not closed on its line: %c is missing",
			   quote);
	}
	put(scanner, quote);
}

static void copy_brace(struct scanner *scanner)
{
	if (*scanner->at == '{') {
		if (scanner->depth < DEPTH_MAX)
			scanner->open_lines[scanner->depth] = scanner->line;
		scanner->depth++;
	} else if (scanner->depth > 0) {
		scanner->depth--;
	}
	copy(scanner, false);
}

/* libconfuse takes the end of the file for closing braces. */
static void check_closed(const struct scanner *scanner)
{
	unsigned int depth = scanner->depth;

	if (depth > 0)
		report_add(scanner->report,
			   scanner->open_lines[(depth < DEPTH_MAX ? depth
								  : DEPTH_MAX) -
					       1],
			   "section is not closed: } is missing");
}

static void scan(struct scanner *scanner)
{
	while (scanner->at < scanner->end) {
		if (*scanner->at == '#' || begins(scanner, "//"))
			skip_line_comment(scanner);
		else if (begins(scanner, "/*"))
			skip_block_comment(scanner);
		else if (*scanner->at == '"' || *scanner->at == '\'')
			copy_string(scanner);
		else if (*scanner->at == '{' || *scanner->at == '}')
			copy_brace(scanner);
		else
			copy(scanner, false);
	}
	check_closed(scanner);
}

/* libconfuse would put the environment's value there. */
static void refuse_variables(const char *text, struct report *report)
{
	unsigned int line = 1;

	for (char *at = (char *)text; *at != 0; at++) {
		if (*at == '\n')
			line++;
		if (at[0] == '$' && at[1] == '{') {
			report_add(report, line,
				   "variables (${...}) are not known here");
			*at = '_';
		}
	}
}

char *scan_prepare(const char *text, size_t size, struct report *report)
{
	struct scanner scanner = {
		.at = text,
		.end = text + size,
		.line = 1,
		.report = report,
	};
	char *prepared;

	scan(&scanner);
	put(&scanner, 0);
	prepared = (char *)writer_take(&scanner.out, NULL);
	writer_fini(&scanner.out);
	if (prepared != NULL)
		refuse_variables(prepared, report);
	return prepared;
}

/* The end of the token at `at`, which is no space. */
static char *token_end(char *at)
{
	char quote = *at;

	if (strchr(SPECIALS, *at) != NULL)
		return at + 1;
	if (quote != '"' && quote != '\'')
		return at + strcspn(at, SPACES SPECIALS "\"'");
	for (at++; *at != quote; at++) {
		if (*at == '\\')
			at++;
	}
	return at + 1;
}

static char *skip_spaces(char *at)
{
	return at + strspn(at, SPACES);
}

static bool token_is(const char *at, const char *end, const char *text)
{
	return (size_t)(end - at) == strlen(text) &&
	       memcmp(at, text, (size_t)(end - at)) == 0;
}

/* Behind the brace that closes the one at `at`, or the end of the text. */
static char *block_end(char *at)
{
	unsigned int depth = 0;

	while (*(at = skip_spaces(at)) != 0) {
		if (*at == '{')
			depth++;
		else if (*at == '}')
			depth--;
		at = token_end(at);
		if (depth == 0)
			break;
	}
	return at;
}

static char *statement_end(char *name)
{
	char *end = token_end(name);
	char *at = skip_spaces(end);

	if (*at == '+')
		at = skip_spaces(at + 1);
	if (*at == '=') {
		at = skip_spaces(at + 1);
		if (*at == '{')
			return block_end(at);
		return *at == 0 ? at : token_end(at);
	}
	if (*at != 0 && strchr(SPECIALS, *at) == NULL)
		at = skip_spaces(token_end(at));
	return *at == '{' ? block_end(at) : end;
}

bool scan_blank_statement(char *text, unsigned int line, const char *name)
{
	unsigned int current = 1;
	char *at = text;

	while (*at != 0 && current <= line) {
		if (*at == '\n')
			current++;
		if (strchr(SPACES, *at) != NULL) {
			at++;
			continue;
		}
		if (current == line && token_is(at, token_end(at), name)) {
			for (char *end = statement_end(at); at < end; at++) {
				if (*at != '\n')
					*at = ' ';
			}
			return true;
		}
		at = token_end(at);
	}
	return false;
}

/* True for the title as a bare word or in quotes. */
static bool title_is(char *at, const char *title)
{
	char *end = *at == 0 ? at : token_end(at);

	if (*at == '"' || *at == '\'') {
		at++;
		end--;
	}
	return token_is(at, end, title);
}

unsigned int scan_section_line(const char *text, const char *name,
			       const char *title)
{
	unsigned int line = 1;
	char *at = (char *)text;

	while (*at != 0) {
		char *end;

		if (strchr(SPACES, *at) != NULL) {
			line += *at++ == '\n';
			continue;
		}
		end = token_end(at);
		if (token_is(at, end, name) &&
		    title_is(skip_spaces(end), title))
			return line;
		at = end;
	}
	return 0;
}
